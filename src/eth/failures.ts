import type { ErrorKind } from '../errors.ts'
import type { Classify, Failure } from '../rpc/failure.ts'

/** One way in which a node or provider words a failure. Every condition that is given must hold. */
export interface FailureRow {
  readonly kind: ErrorKind
  readonly message?: RegExp
  readonly code?: number
  /** HTTP status, or the first and last of several. */
  readonly status?: number | readonly [number, number]
  readonly method?: RegExp
  /** Only when the reply had a `Retry-After`. */
  readonly asksToWait?: true
  /** Who says so. */
  readonly source: string
}

/**
 * What nodes and providers say, and what it means. The first row that matches decides, so messages come before statuses
 * and codes: -32005 means a rate limit on some nodes and a range limit on others, and a contract may revert with any words.
 */
export const failureRows: readonly FailureRow[] = [
  // What the EVM said.
  { kind: 'execution', code: 3, source: 'geth: revert with data' },
  {
    kind: 'execution',
    message: /^(?:Error: )?(?:VM Exception|VM execution error|execution reverted|Reverted|revert\b|EVM error)/i,
    source: 'geth, Erigon, Nethermind, OpenEthereum, anvil, Hardhat',
  },
  {
    kind: 'execution',
    message: /insufficient funds|nonce too (?:low|high)|underpriced|intrinsic gas|exceeds block gas limit|gas required exceeds/i,
    source: 'geth txpool and state transition; Erigon, Nethermind, anvil word them alike',
  },
  { kind: 'execution', message: /already known|\bknown transaction|already imported|ALREADY_EXISTS|AlreadyKnown/i, source: 'geth, Besu, anvil, Nethermind' },

  // The key will not get an answer.
  {
    kind: 'quota',
    message:
      /(?:daily|monthly) (?:request |capacity |relay )?(?:count|limit|quota|capacity)|capacity limit exceeded|quota (?:exceeded|exhausted|reached)|out of (?:credits|cu\b)|usage limit/i,
    source: 'Infura, Alchemy, QuickNode',
  },
  {
    kind: 'auth',
    message:
      /must be authenticated|invalid (?:project id|api[- ]?key|access token|token)|api[- ]?key (?:is )?(?:invalid|missing|disabled|not (?:found|allowed|valid))|unauthori[sz]ed|(?:missing|no) api[- ]?key/i,
    source: 'Alchemy, Infura, Ankr, dRPC',
  },

  // A log query that no splitting cures.
  { kind: 'lagging', method: /^eth_getLogs$/, message: /beyond current head/i, source: 'execution-apis, reth' },
  {
    kind: 'invalid',
    method: /^eth_getLogs$/,
    message: /^invalid block range params|exceed max (?:addresses|topics)/i,
    source: 'geth',
  },

  // A log query that is too wide, in the words of `eth_getLogs` limits; these often have the code of a rate limit.
  {
    kind: 'range-too-large',
    method: /^eth_(?:getLogs|getFilterLogs|newFilter)$/,
    message:
      /block range|blocks? distance|range (?:is )?too (?:large|wide|big)|max(?:imum)? (?:block )?range|more than [\d,]+ (?:results|logs|blocks?)|too many (?:results|logs)|this block range should work|limited to (?:a )?[\d,]+|at most [\d,]+ blocks?|maximum (?:allowed )?is (?:set to )?[\d,]+|number of requested blocks|retry with the range|up to a [\d,]+|exceeds? (?:the )?(?:max|limit)|response size (?:exceeded|should not)|is too big/i,
    source: 'Alchemy, Infura, QuickNode, Ankr, Cloudflare, BlockPI, Chainstack, publicnode',
  },
  { kind: 'range-too-large', method: /^eth_getLogs$/, code: -32005, message: /^limit exceeded$/i, source: 'BSC nodes' },

  // The POST was too much.
  {
    kind: 'batch-too-large',
    message:
      /batch (?:is |size )?(?:is )?too (?:large|big|long|many)|batch (?:size )?limit|batch of more than|too many (?:requests|calls|items) in (?:a |the |one )?batch|batch size (?:exceed|limit)|(?:exceed\w*|max\w*) (?:the )?(?:max\w* )?batch|batch(?:ing|es)? (?:requests? )?(?:is |are )?not (?:supported|allowed|enabled)/i,
    source: 'geth (-32600), Erigon (--rpc.batch.limit), Nethermind, dRPC, Ankr, Alchemy',
  },
  {
    kind: 'response-too-large',
    message: /response (?:size )?(?:is )?too (?:large|big)|response size (?:limit|exceed)|max(?:imum)? response size|exceed\w* max(?:imum)? response/i,
    source: 'geth (-32003), Erigon, Infura',
  },
  {
    kind: 'request-too-large',
    message: /request (?:entity |body |content )?(?:is )?too (?:large|big)|content length too large|payload too large|body too large/i,
    source: 'geth (HTTP 413), nginx',
  },

  // Not now.
  {
    kind: 'rate-limit',
    message:
      /too many (?:requests|connections)|rate[- ]?limit|request rate exceeded|(?:request|call)s? (?:limit|rate) (?:reached|exceeded|exhausted)|exceeded (?:its|the|your) (?:compute units|rps|throughput|requests)|(?:per|\/) ?second (?:request )?(?:limit|capacity)|throttl/i,
    source: 'Infura (-32005), QuickNode (-32007), Alchemy (429), Chainstack, Ankr',
  },
  {
    kind: 'overloaded',
    message:
      /\boverloaded\b|too busy|server is busy|temporarily at capacity|(?:capacity|concurrency) (?:exceeded|limit)|no available (?:nodes?|upstreams?)|can't route your request/i,
    source: 'Nethermind, dRPC, gateways',
  },
  { kind: 'overloaded', status: 503, asksToWait: true, source: 'RFC 9110, 15.6.4' },
  { kind: 'overloaded', status: 529, source: 'gateways: site is overloaded' },

  // This node does not have it, or not yet.
  {
    kind: 'lagging',
    message:
      /header (?:for hash )?not found|header not found|missing trie node|block (?:\w+ )?not found|unknown block|could not find block|block(?: \w+)? is not available|state (?:\S+ )?(?:is )?not (?:available|found)|no state available|missing state|historical state (?:\S+ )?(?:is )?(?:un|not )available|BlockOutOfRange|block number (?:is )?out of range|after last accepted block|beyond current head|required historical state unavailable/i,
    source: 'geth, Erigon, Nethermind, Besu, anvil, Avalanche',
  },
  { kind: 'not-found', code: 4444, source: 'EIP-4444: pruned history unavailable' },
  { kind: 'not-found', message: /pruned history|history has been pruned|archive (?:node|requests?|data)/i, source: 'geth, Erigon, publicnode' },

  {
    kind: 'timeout',
    message: /(?:request|execution|query|context|gateway) (?:deadline exceeded|timed? ?out|timeout)|deadline exceeded|execution aborted \(timeout/i,
    source: 'geth (-32002), Erigon, dRPC',
  },
  {
    kind: 'unsupported',
    message:
      /method (?:\S+ )?(?:does not exist|not found|is not (?:available|supported|enabled|allowed|whitelisted))|unsupported method|does not exist\/is not available/i,
    source: 'geth, Erigon, Nethermind, gateways',
  },

  // HTTP, where the words said nothing.
  { kind: 'auth', status: 401, source: 'RFC 9110' },
  { kind: 'quota', status: 402, source: 'RFC 9110' },
  { kind: 'auth', status: 403, source: 'RFC 9110' },
  { kind: 'request-too-large', status: 413, source: 'RFC 9110' },
  { kind: 'rate-limit', status: 429, source: 'RFC 6585' },

  // JSON-RPC 2.0, EIP-1474 and the usual extensions, where words and status said nothing.
  { kind: 'invalid', code: -32700, source: 'JSON-RPC 2.0' },
  { kind: 'invalid', code: -32600, source: 'JSON-RPC 2.0' },
  { kind: 'unsupported', code: -32601, source: 'JSON-RPC 2.0' },
  { kind: 'invalid', code: -32602, source: 'JSON-RPC 2.0' },
  { kind: 'server', code: -32603, source: 'JSON-RPC 2.0' },
  { kind: 'lagging', code: -32001, source: 'EIP-1474: resource not found; Nethermind' },
  { kind: 'server', code: -32002, source: 'EIP-1474: resource unavailable' },
  { kind: 'execution', code: -32003, source: 'EIP-1474: transaction rejected' },
  { kind: 'unsupported', code: -32004, source: 'EIP-1474: method not supported' },
  { kind: 'rate-limit', code: -32005, source: 'EIP-1474: limit exceeded; Infura' },
  { kind: 'rate-limit', code: -32007, source: 'QuickNode' },
  { kind: 'rate-limit', code: 429, source: 'Alchemy' },
  { kind: 'execution', code: -32010, source: 'OpenEthereum: transaction errors' },
  { kind: 'execution', code: -32015, source: 'OpenEthereum: VM execution error' },

  // HTTP again, for bodies without an error object and errors without a telling code.
  { kind: 'timeout', status: 408, source: 'RFC 9110' },
  { kind: 'timeout', status: 504, source: 'RFC 9110' },
  { kind: 'timeout', status: 524, source: 'Cloudflare: origin took too long' },
  { kind: 'server', status: [500, 599], source: 'RFC 9110' },
  { kind: 'not-found', status: 404, source: 'RFC 9110' },
  { kind: 'invalid', status: [300, 499], source: 'RFC 9110' },
]

/** Tells what a failure is, by the first row that matches it. */
export const classify: Classify = (failure) => failureRows.find((row) => matches(row, failure))?.kind

function matches({ message, code, status, method, asksToWait }: FailureRow, failure: Failure): boolean {
  if (code !== undefined && failure.code !== code) return false
  if (status !== undefined && !within(status, failure.status)) return false
  if (method !== undefined && !method.test(failure.method)) return false
  if (asksToWait && failure.retryAfterMs === undefined) return false
  return message === undefined || message.test(failure.message)
}

function within(range: number | readonly [number, number], status: number): boolean {
  return typeof range === 'number' ? status === range : status >= range[0] && status <= range[1]
}
