import type { Classify } from '../../rpc/post/reply-errors.ts'
import { LONGEST_MESSAGE } from '../../text.ts'
import { messageRows } from './messages.ts'
import { type FailureRow, matches } from './rule.ts'

/**
 * What the failures of nodes and providers mean. The first row that matches decides. Messages come
 * before codes, whose meanings differ between nodes; the statuses that say little come last.
 */
export const failureRows: readonly FailureRow[] = [
  ...messageRows,

  // HTTP, where no message matched.
  { kind: 'overloaded', status: 503, asksToWait: true, source: 'RFC 9110, 15.6.4' },
  { kind: 'overloaded', status: 503, isOneOfMany: true, source: 'nginx and ASP.NET: the default of their rate limits' },
  { kind: 'overloaded', status: 529, source: 'gateways: site is overloaded' },
  { kind: 'auth', status: 401, source: 'RFC 9110' },
  { kind: 'quota', status: 402, source: 'RFC 9110; Infura: the credits of the day are used up' },
  { kind: 'auth', status: 403, source: 'RFC 9110' },
  { kind: 'request-too-large', status: 413, source: 'RFC 9110' },
  { kind: 'rate-limit', status: 429, source: 'RFC 6585' },

  // JSON-RPC 2.0, EIP-1474 and common extensions.
  { kind: 'invalid', code: -32700, source: 'JSON-RPC 2.0' },
  { kind: 'invalid', code: -32600, source: 'JSON-RPC 2.0' },
  { kind: 'unsupported', code: -32601, source: 'JSON-RPC 2.0' },
  { kind: 'invalid', code: -32602, source: 'JSON-RPC 2.0' },
  { kind: 'server', code: -1, source: 'viem: unknown error, which it repeats' },
  { kind: 'server', code: -32603, source: 'JSON-RPC 2.0' },
  { kind: 'lagging', code: -32001, source: 'EIP-1474: resource not found; Nethermind' },
  { kind: 'server', code: -32002, source: 'EIP-1474: resource unavailable' },
  { kind: 'execution', code: -32003, source: 'EIP-1474: transaction rejected' },
  { kind: 'unsupported', code: -32004, source: 'EIP-1474: method not supported' },
  { kind: 'rate-limit', code: -32005, source: 'EIP-1474: limit exceeded; Infura' },
  { kind: 'rate-limit', code: -32007, source: 'QuickNode: calls per second' },
  { kind: 'rate-limit', code: -32029, source: 'OnFinality, TheRPC' },
  { kind: 'rate-limit', code: -32009, source: 'QuickNode: trace calls per second' },
  { kind: 'execution', code: -32010, source: 'OpenEthereum and Nethermind: transaction errors' },
  { kind: 'execution', code: -32015, source: 'OpenEthereum and Nethermind: VM execution error' },
  { kind: 'server', code: -32046, source: 'Cloudflare: cannot fulfill request' },
  { kind: 'rate-limit', code: -32097, source: 'Jito: globally rate limited' },
  { kind: 'rate-limit', code: -32605, source: 'Hedera and BlockVision: rate limit' },
  { kind: 'quota', code: -32607, source: 'BlockVision: call limit' },
  { kind: 'quota', code: 402, source: 'Infura: daily credits' },
  { kind: 'rate-limit', code: 429, source: 'Alchemy, Infura' },
  // The pool has the transaction: the call waits for its receipt, or fails with its hash.
  { kind: 'timeout', code: 4, method: /^eth_sendRawTransactionSync$/, source: 'EIP-7966: no receipt in time' },
  { kind: 'lagging', code: -39001, source: 'execution-apis: unknown block' },
  { kind: 'pruned', code: 4444, source: 'EIP-4444: pruned history unavailable' },

  // What the EVM, and checks of transactions and arguments, say of a call. Without this row, the
  // kind would be a guess, and the call would go on to other endpoints. Before the statuses: some
  // gateways send such a refusal with HTTP 500, and a repetition would end in the same way.
  {
    kind: 'execution',
    message:
      /\b(?:out of gas|out of funds|invalid (?:opcode|jump)|stack (?:under|over)flow|stack limit reached|write protection|bad (?:instruction|jump)|max (?:priority )?fee per (?:blob )?gas|fee cap less than|gas (?:uint64 overflow|too low|limit (?:reached|too high))|sender not an eoa|genesis is not traceable|max (?:code|initcode) size|return data out of bounds|already overridden)|\brlp: |\b(?:OutOfGas|OutOfFunds|Stack(?:Under|Over)flow|InvalidJump|OpcodeNotFound|InvalidFEOpcode|InvalidOpcode|StateChangeDuringStaticCall)\b/i,
    source: 'geth core/vm/errors.go, core/error.go and eth/tracers; revm; Besu; OpenEthereum',
  },

  // HTTP again, for bodies without an error object and errors whose code says nothing.
  { kind: 'timeout', status: 408, source: 'RFC 9110' },
  { kind: 'timeout', status: 504, source: 'RFC 9110' },
  { kind: 'timeout', status: 524, source: 'Cloudflare: origin took too long' },
  { kind: 'server', status: [500, 599], source: 'RFC 9110' },
  { kind: 'not-found', status: 404, source: 'RFC 9110' },
  { kind: 'invalid', status: [300, 499], source: 'RFC 9110' },

  // Whatever it was, a later attempt may pass.
  { kind: 'server', message: /\b(?:try again later|please retry)\b|^internal (?:server )?error\b/i, source: 'MegaETH, Tatum (-16504), gateways' },
]

/**
 * The kind of a failure, from the first row that matches. It examines the first 4,096 characters of
 * a message or `data`.
 *
 * @example
 * classify({ method: 'eth_call', status: 429, code: undefined, message: '', retryAfterMs: undefined
 * }) // 'rate-limit'
 */
export const classify: Classify = (failure) => {
  const message = failure.message.slice(0, LONGEST_MESSAGE)
  const bounded = message === failure.message ? failure : { ...failure, message }
  return failureRows.find((row) => matches(row, bounded))?.kind
}
