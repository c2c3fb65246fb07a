/** A page of the site, with the name by which the sidebar lists it. */
export interface Entry {
  readonly text: string
  /** Path in `docs`. */
  readonly page: string
}

/** The pages in the order in which they are read. */
export const sidebar: readonly { readonly text: string; readonly pages: readonly Entry[] }[] = [
  {
    text: 'Start',
    pages: [
      { text: 'What hexline is', page: 'index.md' },
      { text: 'Getting started', page: 'getting-started.md' },
      { text: "From viem's http()", page: 'from-http.md' },
      { text: "From ethers' JsonRpcProvider", page: 'from-json-rpc-provider.md' },
      { text: 'Where it runs', page: 'install.md' },
    ],
  },
  {
    text: 'Guides',
    pages: [
      { text: 'The client', page: 'client.md' },
      { text: 'Ranges of blocks', page: 'blocks.md' },
      { text: 'Logs, proven complete', page: 'logs.md' },
      { text: 'Following the head', page: 'follow.md' },
      { text: 'Datasets and DuckDB', page: 'datasets.md' },
      { text: 'Several machines', page: 'scale.md' },
      { text: 'Verification', page: 'verification.md' },
      { text: 'Plans', page: 'plan.md' },
      { text: 'Several endpoints', page: 'failover.md' },
      { text: 'Limits', page: 'limits.md' },
      { text: 'WebSockets', page: 'websocket.md' },
      { text: 'viem', page: 'viem.md' },
      { text: 'ethers', page: 'ethers.md' },
      { text: 'The REST API', page: 'rest.md' },
      { text: 'The sandbox', page: 'sandbox.md' },
      { text: 'The command', page: 'terminal.md' },
    ],
  },
  {
    text: 'In production',
    pages: [
      { text: 'What goes wrong', page: 'faults.md' },
      { text: 'Errors', page: 'errors.md' },
      { text: 'Stalled replies', page: 'stalls.md' },
      { text: 'Probing a node', page: 'probe.md' },
      { text: 'Observability', page: 'observability.md' },
      { text: 'Security', page: 'security.md' },
      { text: 'Performance', page: 'performance.md' },
    ],
  },
  {
    text: 'Reference',
    pages: [
      { text: 'hexline', page: 'reference/hexline.md' },
      { text: 'hexline/bulk', page: 'reference/bulk.md' },
      { text: 'hexline/rest', page: 'reference/rest.md' },
      { text: 'hexline/sandbox', page: 'reference/sandbox.md' },
      { text: 'hexline/viem', page: 'reference/viem.md' },
      { text: 'hexline/ethers', page: 'reference/ethers.md' },
      { text: 'hexline/otel', page: 'reference/otel.md' },
      { text: 'hexline/bullmq', page: 'reference/bullmq.md' },
      { text: 'Methods', page: 'methods.md' },
      { text: 'The service', page: 'service.md' },
    ],
  },
  {
    text: 'Inside',
    pages: [
      { text: 'Architecture', page: 'architecture.md' },
      { text: 'The benchmark', page: 'reference/files/bench/README.md' },
      { text: 'Changelog', page: 'reference/files/CHANGELOG.md' },
    ],
  },
]
