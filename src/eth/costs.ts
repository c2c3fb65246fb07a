/**
 * What a call costs, in the units of a provider: `billed` is what the provider charges for it,
 * `throttled` what its limit per second counts. A number stands for both.
 */
export type Cost = number | { readonly billed: number; readonly throttled: number }

/** What calls cost at one provider. */
export interface CostTable {
  readonly provider: string
  /** Origins of the provider's endpoints. */
  readonly origins: RegExp
  /** Pages that the costs are from, and the day when they were read. */
  readonly sources: readonly string[]
  readonly date: string
  /** Cost of all other methods. */
  readonly usual: Cost
  /** Cost by method. */
  readonly methods: Readonly<Record<string, Cost>>
  /** Cost of groups of methods. */
  readonly groups: readonly { readonly method: RegExp; readonly cost: Cost }[]
}

/** In compute units, and in throughput compute units where those differ. */
const alchemy: CostTable = {
  provider: 'Alchemy',
  origins: /[/.](?:alchemy\.com|alchemyapi\.io)(?::\d+)?$/,
  sources: [
    'https://www.alchemy.com/docs/reference/compute-unit-costs',
    'https://www.alchemy.com/docs/chains/debug-api/debug-api-endpoints/debug-trace-transaction',
    'https://www.alchemy.com/docs/chains/trace-api/trace-api-endpoints/trace-replay-transaction',
  ],
  date: '2026-11-22',
  usual: 20,
  methods: {
    eth_accounts: 10,
    eth_blobBaseFee: 10,
    eth_blockNumber: 10,
    eth_call: 26,
    eth_chainId: 0,
    eth_createAccessList: 10,
    eth_feeHistory: 10,
    eth_getBlockReceipts: { billed: 20, throttled: 500 },
    eth_getFilterLogs: 60,
    eth_getLogs: 60,
    eth_maxPriorityFeePerGas: 10,
    eth_protocolVersion: 0,
    eth_sendRawTransaction: { billed: 40, throttled: 250 },
    eth_sendRawTransactionSync: { billed: 40, throttled: 250 },
    eth_simulateV1: 40,
    eth_syncing: 0,
    eth_uninstallFilter: 10,
    net_listening: 0,
    net_version: 0,
    trace_replayTransaction: { billed: 80, throttled: 3000 },
  },
  groups: [{ method: /^debug_trace/, cost: { billed: 40, throttled: 1000 } }],
}

/** In credits, which its limit per second counts, too. */
const infura: CostTable = {
  provider: 'Infura',
  origins: /[/.]infura\.io(?::\d+)?$/,
  sources: ['https://docs.metamask.io/services/get-started/pricing/credit-cost', 'https://docs.metamask.io/services/get-started/pricing'],
  date: '2026-11-22',
  usual: 80,
  methods: {
    eth_blobBaseFee: 300,
    eth_chainId: 5,
    eth_estimateGas: 300,
    eth_getBlockReceipts: 1000,
    eth_getBlockTransactionCountByHash: 150,
    eth_getBlockTransactionCountByNumber: 150,
    eth_getFilterChanges: 140,
    eth_getFilterLogs: 255,
    eth_getLogs: 255,
    eth_getProof: 150,
    eth_getTransactionByBlockHashAndIndex: 150,
    eth_getTransactionByBlockNumberAndIndex: 150,
    eth_getUncleByBlockHashAndIndex: 150,
    eth_getUncleByBlockNumberAndIndex: 150,
    eth_getUncleCountByBlockHash: 150,
    eth_getUncleCountByBlockNumber: 150,
    eth_hashrate: 5,
    eth_mining: 5,
    eth_protocolVersion: 5,
    eth_syncing: 5,
    net_listening: 5,
    net_version: 5,
  },
  groups: [
    { method: /^debug_/, cost: 1000 },
    { method: /^trace_/, cost: 300 },
  ],
}

/**
 * In API credits, which the limit `credits limited to N/sec` counts, too. Costs of traces are left
 * out: they were not found.
 */
const quickNode: CostTable = {
  provider: 'QuickNode',
  origins: /[/.]quiknode\.pro(?::\d+)?$/,
  sources: [
    'https://marketplace.quicknode.com/add-on/single-flight-rpc',
    'https://support.quicknode.com/hc/en-us/articles/20633265909521-Error-credits-limited-to-X-sec',
  ],
  date: '2026-11-22',
  usual: 20,
  methods: {},
  groups: [],
}

/**
 * Billed in request units, throttled in requests. Calls for a block at least 127 blocks old are
 * billed as 2 units, which is left out, since it depends on the block.
 */
const chainstack: CostTable = {
  provider: 'Chainstack',
  origins: /[/.](?:chainstack\.com|p2pify\.com)(?::\d+)?$/,
  sources: ['https://docs.chainstack.com/docs/request-units', 'https://docs.chainstack.com/docs/rps-plan-limits'],
  date: '2026-11-22',
  usual: 1,
  methods: { eth_callMany: { billed: 2, throttled: 1 } },
  groups: [{ method: /^(?:debug|trace|arbtrace)_/, cost: { billed: 2, throttled: 1 } }],
}

export const costTables: readonly CostTable[] = [alchemy, infura, quickNode, chainstack]

/** The costs at an endpoint with this origin; undefined if its provider is not in the tables. */
export function costsAt(origin: string): CostTable | undefined {
  return costTables.find(({ origins }) => origins.test(origin))
}

/** What a provider charges for a call, for estimates of a price. */
export function billed(table: CostTable, method: string): number {
  const cost = costOf(table, method)
  return typeof cost === 'number' ? cost : cost.billed
}

/**
 * What the limit per second of an endpoint with this origin counts for a call. Alchemy's units are
 * the default for providers that are not in the tables.
 */
export function throttledAt(origin: string): (method: string) => number {
  const table = costsAt(origin) ?? alchemy
  return (method) => throttled(table, method)
}

/** What the limit per second of a provider counts for a call. */
export function throttled(table: CostTable, method: string): number {
  const cost = costOf(table, method)
  return typeof cost === 'number' ? cost : cost.throttled
}

function costOf({ methods, groups, usual }: CostTable, method: string): Cost {
  if (Object.hasOwn(methods, method)) return methods[method] as Cost
  return groups.find((group) => group.method.test(method))?.cost ?? usual
}
