import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { classify, failureRows } from '../../src/eth/failures.ts'
import { createClient, type ErrorKind, type Failure, HttpError, RpcError } from '../../src/index.ts'

/** A failure as a node or provider words it. */
interface Example {
  readonly from: string
  readonly message: string
  readonly kind: ErrorKind
  readonly code?: number
  /** Default 200. */
  readonly status?: number
  /** Default `eth_call`. */
  readonly method?: string
  readonly retryAfterMs?: number
}

const examples: Example[] = [
  // What the EVM and the pool said.
  { from: 'geth', code: 3, message: 'execution reverted: Ownable: caller is not the owner', kind: 'execution' },
  { from: 'anvil', code: 3, message: 'execution reverted: custom error 0xdeadbeef', kind: 'execution' },
  { from: 'geth, without data', code: -32000, message: 'execution reverted', kind: 'execution' },
  { from: 'Nethermind', code: -32015, message: 'VM execution error.', kind: 'execution' },
  { from: 'OpenEthereum', code: -32015, message: 'Reverted 0x08c379a0', kind: 'execution' },
  { from: 'Ganache', code: -32000, message: 'VM Exception while processing transaction: revert SafeMath: subtraction overflow', kind: 'execution' },
  { from: 'geth, call', code: -32000, message: 'insufficient funds for gas * price + value: address 0xEF04 have 0 want 252000002265890', kind: 'execution' },
  { from: 'geth, pool', code: -32000, message: 'nonce too low: next nonce 5, tx nonce 4', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'geth, pool', code: -32000, message: 'replacement transaction underpriced', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'geth, pool', code: -32000, message: 'intrinsic gas too low: gas 20000, minimum needed 21000', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'geth, estimate', code: -32000, message: 'gas required exceeds allowance (30000000)', method: 'eth_estimateGas', kind: 'execution' },
  { from: 'Arbitrum', code: -32000, message: 'gasRemaining underflow in TransitionDb (intrinsic gas): gasRemaining=20999, gas=21000', kind: 'execution' },
  { from: 'geth, pool', code: -32000, message: 'already known', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'Nethermind, pool', code: -32010, message: 'AlreadyKnown', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'Besu, pool', code: -32000, message: 'Known transaction', method: 'eth_sendRawTransaction', kind: 'execution' },
  { from: 'anvil, pool', code: -32003, message: 'transaction already imported', method: 'eth_sendRawTransaction', kind: 'execution' },

  // The key.
  { from: 'Infura', code: -32005, status: 429, message: 'daily request count exceeded, request rate limited', kind: 'quota' },
  { from: 'Alchemy', code: 429, status: 429, message: 'Monthly capacity limit exceeded. Visit the dashboard to upgrade your scaling policy.', kind: 'quota' },
  { from: 'Alchemy', code: -32600, status: 401, message: 'Must be authenticated!', kind: 'auth' },
  { from: 'Infura', code: -32600, status: 401, message: 'invalid project id', kind: 'auth' },
  { from: 'Ankr', code: -32000, status: 403, message: 'Unauthorized: You must authenticate your request with an API key.', kind: 'auth' },

  // A log query that is too wide.
  {
    from: 'Alchemy',
    code: -32602,
    status: 400,
    message:
      'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size. Based on your parameters, this block range should work: [0x0, 0x1f]',
    method: 'eth_getLogs',
    kind: 'range-too-large',
  },
  { from: 'Infura', code: -32005, message: 'query returned more than 10000 results', method: 'eth_getLogs', kind: 'range-too-large' },
  { from: 'QuickNode', code: -32614, message: 'eth_getLogs is limited to a 10,000 range', method: 'eth_getLogs', kind: 'range-too-large' },
  {
    from: 'Cloudflare',
    code: -32047,
    message: "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    method: 'eth_getLogs',
    kind: 'range-too-large',
  },
  {
    from: 'Avalanche',
    code: -32000,
    message: 'requested too many blocks from 0 to 5000, maximum is set to 2048',
    method: 'eth_getLogs',
    kind: 'range-too-large',
  },
  { from: 'publicnode', code: -32701, message: 'exceed maximum block range: 50000', method: 'eth_getLogs', kind: 'range-too-large' },
  { from: 'Moonbeam', code: -32603, message: 'block range is too wide (maximum 1024)', method: 'eth_getLogs', kind: 'range-too-large' },
  { from: 'BSC', code: -32005, message: 'limit exceeded', method: 'eth_getLogs', kind: 'range-too-large' },

  // A log query that no splitting cures, though it is about ranges and maxima, too.
  { from: 'execution-apis, to before from', code: -32602, message: 'invalid block range params', method: 'eth_getLogs', kind: 'invalid' },
  { from: 'geth', code: -32000, message: 'exceed max topics', method: 'eth_getLogs', kind: 'invalid' },
  { from: 'geth', code: -32000, message: 'exceed max addresses or topics per search position', method: 'eth_getLogs', kind: 'invalid' },
  {
    from: 'execution-apis, to beyond the head',
    code: -32602,
    message: 'block range extends beyond current head block',
    method: 'eth_getLogs',
    kind: 'lagging',
  },

  // The POST was too much.
  { from: 'geth', code: -32600, message: 'batch too large', kind: 'batch-too-large' },
  {
    from: 'Erigon',
    code: -32000,
    message: 'batch limit 100 exceeded (can increase by --rpc.batch.limit). Requested batch of size: 200',
    kind: 'batch-too-large',
  },
  { from: 'Nethermind', code: -32600, message: 'Batch size limit exceeded', kind: 'batch-too-large' },
  { from: 'dRPC', code: 31, status: 500, message: 'Batch of more than 3 requests are not allowed on free plan', kind: 'batch-too-large' },
  { from: 'geth', code: -32003, message: 'response too large', kind: 'response-too-large' },
  { from: 'geth, in the body of HTTP 413', status: 413, message: 'content length too large (6000000>5242880)\n', kind: 'request-too-large' },
  { from: 'nginx', status: 413, message: '<html><head><title>413 Request Entity Too Large</title></head></html>', kind: 'request-too-large' },

  // Not now.
  { from: 'Infura', code: -32005, status: 429, message: 'project ID request rate exceeded', kind: 'rate-limit' },
  {
    from: 'Alchemy',
    code: 429,
    status: 429,
    message: 'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
    kind: 'rate-limit',
  },
  {
    from: 'QuickNode',
    code: -32007,
    status: 429,
    message: '50/second request limit reached - reduce calls per second or upgrade your account',
    kind: 'rate-limit',
  },
  { from: 'Chainstack', code: -32005, message: "You've exceeded the RPS limit available on the current plan.", kind: 'rate-limit' },
  { from: 'Ankr', code: -32090, status: 200, message: 'Too many requests, reason: call rate limit exhausted, retry in 10s', kind: 'rate-limit' },
  {
    from: 'Cloudflare, in HTML',
    status: 200,
    message: '<title>Access denied | example.com used Cloudflare to restrict access</title> You are being rate limited',
    kind: 'rate-limit',
  },
  { from: 'a gateway', code: -32000, message: 'the server is overloaded, try again later', kind: 'overloaded' },
  { from: 'dRPC', code: 5, message: "Can't route your request to suitable provider", kind: 'overloaded' },
  { from: 'a gateway with Retry-After', status: 503, message: 'Service Unavailable', retryAfterMs: 2000, kind: 'overloaded' },
  { from: 'a gateway', status: 529, message: '', kind: 'overloaded' },

  // Not here, or not yet.
  { from: 'geth', code: -32000, message: 'header not found', kind: 'lagging' },
  { from: 'geth', code: -32000, message: 'missing trie node 5a8c (path ) state 0x5a8c is not available, not found', kind: 'lagging' },
  { from: 'Erigon', code: -32000, message: 'block not found: 4294967295', kind: 'lagging' },
  { from: 'anvil', code: -32602, message: 'BlockOutOfRangeError: block height is 3 but requested was 10000', kind: 'lagging' },
  { from: 'geth', code: -32000, message: 'historical state 0x5a8c is not available', kind: 'lagging' },
  { from: 'Avalanche', code: -32000, message: 'cannot query unfinalized data: requested block 5 after last accepted block 4', kind: 'lagging' },
  { from: 'EIP-4444', code: 4444, message: 'gone', kind: 'not-found' },
  { from: 'geth, pruned', code: -32000, message: 'pruned history unavailable', kind: 'not-found' },
  { from: 'publicnode', code: -32000, message: 'This request requires an archive node', kind: 'not-found' },

  { from: 'geth, call', code: -32000, message: 'execution aborted (timeout = 5s)', kind: 'timeout' },
  { from: 'geth', code: -32002, message: 'request timed out', kind: 'timeout' },
  {
    from: 'geth',
    code: -32601,
    message: 'the method eth_createAccessList does not exist/is not available',
    method: 'eth_createAccessList',
    kind: 'unsupported',
  },
  { from: 'Alchemy', code: -32600, message: 'Unsupported method: eth_getBlockReceipts on ETH_MAINNET', method: 'eth_getBlockReceipts', kind: 'unsupported' },

  // HTTP, where the words say nothing.
  { from: 'a gateway', status: 401, message: '', kind: 'auth' },
  { from: 'a gateway', status: 402, message: 'Payment Required', kind: 'quota' },
  { from: 'a gateway', status: 403, message: 'Forbidden', kind: 'auth' },
  { from: 'a gateway', status: 413, message: '', kind: 'request-too-large' },
  { from: 'a gateway', status: 429, message: '', kind: 'rate-limit' },

  // Codes, where the words say nothing.
  { from: 'geth', code: -32700, message: 'parse error', kind: 'invalid' },
  { from: 'geth', code: -32600, message: 'invalid request', kind: 'invalid' },
  { from: 'anvil', code: -32601, message: 'Method not implemented', kind: 'unsupported' },
  { from: 'geth', code: -32602, message: 'missing value for required argument 0', kind: 'invalid' },
  { from: 'geth', code: -32603, message: 'Internal error', kind: 'server' },
  { from: 'Nethermind', code: -32001, message: 'Resource not found', kind: 'lagging' },
  { from: 'EIP-1474', code: -32002, message: 'Resource unavailable', kind: 'server' },
  { from: 'EIP-1474', code: -32003, message: 'Transaction rejected', kind: 'execution' },
  { from: 'EIP-1474', code: -32004, message: 'Not supported', kind: 'unsupported' },
  { from: 'EIP-1474', code: -32005, message: 'Limit exceeded', kind: 'rate-limit' },
  { from: 'QuickNode', code: -32007, message: 'please wait', kind: 'rate-limit' },
  { from: 'Alchemy, over a proxy that makes it 200', code: 429, message: 'slow down', kind: 'rate-limit' },
  { from: 'OpenEthereum', code: -32010, message: 'Transaction cost exceeds current gas limit.', kind: 'execution' },
  { from: 'OpenEthereum', code: -32015, message: 'Bad instruction', kind: 'execution' },

  // HTTP again.
  { from: 'a proxy', status: 408, message: '', kind: 'timeout' },
  { from: 'nginx', status: 504, message: '<html></html>', kind: 'timeout' },
  { from: 'Cloudflare', status: 524, message: '', kind: 'timeout' },
  { from: 'nginx', status: 502, message: '<html><center><h1>502 Bad Gateway</h1></center></html>', kind: 'server' },
  { from: 'a gateway', status: 503, message: '', kind: 'server' },
  { from: 'a wrong path', status: 404, message: '', kind: 'not-found' },
  { from: 'a redirect', status: 301, message: '', kind: 'invalid' },
  { from: 'a gateway', status: 400, message: 'Bad Request', kind: 'invalid' },
]

function failureOf({ message, code, status = 200, method = 'eth_call', retryAfterMs }: Omit<Example, 'from' | 'kind'>): Failure {
  return { message, status, method, retryAfterMs, ...(code !== undefined && { code }) }
}

/** The row that decides about an example: the one whose kind, when it is marked, comes out. */
function decidingRow(failure: Failure): number {
  return failureRows.findIndex((row) => {
    const marked = row as { kind: ErrorKind }
    const { kind } = marked
    try {
      marked.kind = 'marked' as ErrorKind
      return classify(failure) === marked.kind
    } finally {
      marked.kind = kind
    }
  })
}

describe('what nodes and providers say', () => {
  test.each(examples)('$from: $code $status $message', (example) => {
    expect(classify(failureOf(example))).toBe(example.kind)
  })

  test('decides by every row of the table at least once', () => {
    const decided = new Set(examples.map((example) => decidingRow(failureOf(example))))
    const idle = failureRows
      .filter((_, i) => !decided.has(i))
      .map(({ kind, message, code, status, source }) => ({ kind, message: `${message}`, code, status, source }))
    expect(idle).toEqual([])
  })

  test('every row has its source', () => {
    for (const { source } of failureRows) expect(source).toMatch(/\S/)
  })
})

describe('a contract may revert with any words', () => {
  const words = [
    'rate limit exceeded',
    'too many requests',
    'daily limit reached: daily request count exceeded',
    'unauthorized',
    'invalid token',
    'header not found',
    'block not found',
    'batch too large',
    'request timed out',
    'response too large',
    'method not found',
    'query returned more than 10000 results',
    'quota exceeded',
    'overloaded',
    'archive node',
  ]
  // The texts around the words, of nodes that are in use.
  const reverts: [string, (words: string) => Pick<Example, 'code' | 'message' | 'status'>][] = [
    ['geth', (reason) => ({ code: 3, message: `execution reverted: ${reason}` })],
    ['geth, without data', (reason) => ({ code: -32000, message: `execution reverted: ${reason}` })],
    ['Besu', (reason) => ({ code: -32000, message: `Execution reverted: ${reason}` })],
    ['Ganache', (reason) => ({ code: -32000, message: `VM Exception while processing transaction: revert ${reason}` })],
    ['Hardhat', (reason) => ({ code: -32603, message: `Error: VM Exception while processing transaction: reverted with reason string '${reason}'` })],
    ['OpenEthereum', (reason) => ({ code: -32015, message: `Reverted: ${reason}` })],
    ['Nethermind', (reason) => ({ code: -32015, message: `revert: ${reason}` })],
    ['a gateway that makes it HTTP 429', (reason) => ({ code: 3, status: 429, message: `execution reverted: ${reason}` })],
  ]

  for (const [node, said] of reverts) {
    test.each(words)(`${node}: %s`, (reason) => {
      for (const method of ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']) {
        expect(classify(failureOf({ ...said(reason), method })), method).toBe('execution')
      }
    })
  }
})

describe('one code, two meanings: -32005', () => {
  test.each<[string, string, ErrorKind]>([
    ['eth_getLogs', 'query returned more than 10000 results', 'range-too-large'],
    ['eth_getLogs', 'limit exceeded', 'range-too-large'],
    ['eth_getLogs', 'project ID request rate exceeded', 'rate-limit'],
    ['eth_getLogs', 'rate limit exceeded', 'rate-limit'],
    ['eth_call', 'limit exceeded', 'rate-limit'],
    ['eth_call', 'query returned more than 10000 results', 'rate-limit'],
    ['eth_call', 'daily request count exceeded, request rate limited', 'quota'],
    ['eth_getBlockByNumber', 'batch size limit exceeded', 'batch-too-large'],
  ])('%s: %s is %s', (method, message, kind) => {
    expect(classify(failureOf({ method, code: -32005, message }))).toBe(kind)
  })
})

describe('words that belong to another method', () => {
  test('a block range is a matter of logs only', () => {
    expect(classify(failureOf({ method: 'eth_feeHistory', code: -32602, message: 'block range is too large' }))).toBe('invalid')
    expect(classify(failureOf({ method: 'eth_getLogs', code: -32602, message: 'block range is too large' }))).toBe('range-too-large')
  })

  test('nothing is known about an error that nobody has described', () => {
    expect(classify(failureOf({ code: -32000, message: 'fee cap less than block base fee' }))).toBeUndefined()
    expect(classify(failureOf({ message: '' }))).toBeUndefined()
  })
})

describe('through a client', () => {
  test.each<[number, string, unknown]>([
    [
      200,
      '{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: rate limit exceeded","data":"0x08c379a0"}}',
      { name: 'RpcError', kind: 'execution', code: 3, status: 200 },
    ],
    [
      429,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"project ID request rate exceeded"}}',
      { name: 'RpcError', kind: 'rate-limit', code: -32005, status: 429 },
    ],
    [401, '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Must be authenticated!"}}', { name: 'RpcError', kind: 'auth', status: 401 }],
    [401, 'Unauthorized', { name: 'HttpError', kind: 'auth', status: 401 }],
    [502, '<html>502 Bad Gateway</html>', { name: 'HttpError', kind: 'server', status: 502 }],
    [413, '', { name: 'HttpError', kind: 'request-too-large', status: 413 }],
  ])('HTTP %i %s', async (status, body, expected) => {
    const server = createServer((request, reply) => {
      request.resume().on('end', () => reply.writeHead(status, { 'content-type': 'application/json' }).end(body))
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const client = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { retry: false })
    const thrown = await client.request({ method: 'eth_call', params: [{}, 'latest'] }).catch((caught: unknown) => caught)
    await client.close()
    server.close()
    expect(thrown instanceof RpcError || thrown instanceof HttpError).toBe(true)
    expect(thrown).toMatchObject({ ...(expected as object), method: 'eth_call', attempts: 1 })
  })
})
