import { CodecError, HexlineError, RpcError } from '../errors.ts'
import type { Call, Reply, Send } from '../rpc/call.ts'
import { isAmbiguous } from '../rpc/failure-kinds.ts'
import { Pin } from '../rpc/pin.ts'
import type { Recovery } from '../rpc/recovery.ts'
import { replyOf } from '../rpc/reply.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { excerpt } from '../text.ts'
import type { Hash } from './codec/hex.ts'
import { keccak256 } from './codec/keccak.ts'

/**
 * Messages for a transaction that the node already has: geth, Besu and zkSync, anvil and
 * OpenEthereum, Nethermind, Moonbeam, Erigon, Conflux, Cosmos chains.
 */
export const ALREADY_KNOWN =
  /already known|\bknown transaction|already imported|AlreadyKnown|AlreadyImported|ALREADY_EXISTS|existing txn? with same hash|\btx already exists?(?! with)\b|already (?:exists )?in (?:the )?(?:mempool|cache)/i

/** Number of failed look-ups in a row after which no more are made. */
const FAILED = 4
/**
 * How many times a transaction that may have been accepted must be missing before a refusal of it
 * is believed. One URL may stand for several nodes, some of them seconds behind. With the default
 * waits this takes some 10 s, at most 20 s.
 */
const MISSING = 8

/**
 * Makes `eth_sendRawTransaction` and `eth_sendRawTransactionSync` safe to repeat. A signed
 * transaction has one hash and runs at most once, wherever it is sent and however often. But a send
 * that succeeded without a reply must not be reported as a failure.
 *
 * After a failure that leaves open whether the node accepted the transaction, "already known" means
 * that it did, and so does finding the hash. "nonce too low" and other refusals prove nothing,
 * since their cause may be the transaction's first copy. They are believed only if each endpoint
 * that may have accepted it has been asked repeatedly and does not have it. Otherwise the ambiguous
 * failure is reported, with the hash.
 *
 * `eth_sendRawTransactionSync` gives the receipt. So "already known" and a transaction that is
 * found are not its end: it waits for the receipt until its deadline.
 */
export const sendRecovery: Recovery = {
  covers: (call) => (call.method === 'eth_sendRawTransaction' || isSync(call)) && hashedBytes(call.params[0]) !== undefined,

  async find(call, failure, doubts, next) {
    const hash = (await transactionHash(call.params[0])) as Hash
    if (isKnown(failure) && !isSync(call)) return replyFor(call, hash)
    const found = await lookUp(call, hash, doubts.slice(0, 1), next)
    return typeof found === 'string' ? undefined : found
  },

  async conclude(call, last, doubts, next, pause) {
    const hash = (await transactionHash(call.params[0])) as Hash
    const wasKnown = isKnown(last)
    if (wasKnown && !isSync(call)) return replyFor(call, hash)
    const isRefused = !isAmbiguous(last) && !wasKnown
    // If the ambiguous failure is reported in any case, one successful look-up is enough.
    const enough = isRefused ? MISSING : 1
    let missing = 0
    let failed = 0
    // A receipt comes once the transaction is in a block.
    let isThere = wasKnown
    do {
      const found = await lookUp(call, hash, doubts, next)
      if (typeof found !== 'string') return found
      isThere ||= found === 'pending'
      if (found === 'missing') missing++
      failed = found === 'unknown' ? failed + 1 : 0
    } while ((isThere || missing < enough) && failed < FAILED && (await pauseFor(call, pause)))
    if (isThere) return leftOpen(doubts[0] as HexlineError, hash, undefined)
    if (isRefused && missing >= enough) return last
    return leftOpen(isRefused ? (doubts[0] as HexlineError) : last, hash, isRefused ? last : undefined)
  },
}

/** The warning for a transaction that may have been accepted although its send failed. */
export function mayBeAccepted(hash: Hash): string {
  return `transaction ${hash} may have been accepted; look it up before you sign another`
}

/** The error for the result of a call, which tells of the transaction that the call has sent. */
export async function withTransaction(error: unknown, method: string, params: readonly unknown[]): Promise<unknown> {
  if (!(error instanceof CodecError) || !/^eth_sendRawTransaction/.test(method)) return error
  const hash = await transactionHash(params[0])
  if (hash === undefined) return error
  error.message = `${mayBeAccepted(hash)}: ${error.message}`
  return Object.assign(error, { transactionHash: hash })
}

function isKnown(failure: HexlineError): boolean {
  return failure instanceof RpcError && ALREADY_KNOWN.test(failure.said)
}

/** `eth_sendRawTransactionSync` gives the receipt, in place of the hash. */
function isSync({ method }: Call): boolean {
  return method === 'eth_sendRawTransactionSync'
}

/**
 * Asks each endpoint that may have accepted the transaction. `missing` if none of them has it,
 * `unknown` if one of them did not answer, `pending` if one has it whose receipt is awaited.
 */
async function lookUp(call: Call, hash: Hash, doubts: readonly HexlineError[], next: Send): Promise<Reply | 'missing' | 'unknown' | 'pending'> {
  let found: 'missing' | 'unknown' | 'pending' = 'missing'
  for (const { endpoint } of doubts) {
    // Another endpoint may answer in its place. A transaction that it has is found; one that it
    // does not have is not proved missing.
    const pin = new Pin()
    pin.endpoint = endpoint
    const ask = async (method: string) => {
      const question = { method, params: [hash], as: 'value', safe: true, required: false, attempts: 1 } as const
      const reply = await next({ ...call, ...question, tried: [], pin, record: undefined })
      return reply.take()
    }
    try {
      const transaction = (await ask('eth_getTransactionByHash')) as { readonly hash?: unknown } | null
      if (typeof transaction?.hash === 'string' && transaction.hash.toLowerCase() === hash) {
        call.pin?.sees(pin.newest)
        if (!isSync(call)) return replyFor(call, hash)
        const receipt = await ask('eth_getTransactionReceipt')
        if (receipt !== null) return replyFor(call, receipt)
        found = 'pending'
        continue
      }
      if (transaction !== null || pin.endpoint !== endpoint) found = 'unknown'
    } catch {
      if (call.signal?.aborted) throw call.signal.reason
      found = 'unknown'
    }
  }
  return found
}

/**
 * Resolves to false if there is nothing more to wait for: the deadline is near, or the client is
 * closed.
 */
async function pauseFor({ signal }: Call, pause: () => Promise<boolean>): Promise<boolean> {
  try {
    return await pause()
  } catch {
    if (signal?.aborted) throw signal.reason
    return false
  }
}

/**
 * The ambiguous failure, with the hash. The reply to the repeated send is in its cause, so that it
 * does not pass for the outcome.
 */
function leftOpen(doubt: HexlineError, hash: Hash, refusal: HexlineError | undefined): HexlineError {
  doubt.message = `${mayBeAccepted(hash)}: ${doubt.message}`
  doubt.transactionHash = hash
  if (refusal === undefined) return doubt
  const { kind, method } = refusal
  const said = `refused when sent again, which does not show whether the first send succeeded: ${excerpt(serverMessage(refusal))}`
  const cause = new HexlineError(said, kind, { method, cause: doubt.cause })
  return Object.defineProperty(doubt, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
}

/**
 * The hash of a signed transaction of type 0 to 4, as sent; undefined for anything else, since
 * other types may be hashed differently. A blob transaction is sent with its blobs (EIP-4844,
 * "Networking"), which the hash leaves out.
 */
export async function transactionHash(raw: unknown): Promise<Hash | undefined> {
  const bytes = hashedBytes(raw)
  if (bytes === undefined) return undefined
  return `0x${Buffer.from(keccak256(bytes)).toString('hex')}`
}

/** The bytes to hash for the transaction's hash. */
function hashedBytes(raw: unknown): Uint8Array | undefined {
  if (typeof raw !== 'string' || !/^0x(?:[0-9a-fA-F]{2})+$/.test(raw)) return undefined
  const bytes = Buffer.from(raw.slice(2), 'hex')
  const type = bytes[0] as number
  // A legacy transaction is a bare RLP list.
  if (type < 0xc0 && (type === 0 || type > 4)) return undefined
  if (listAt(bytes, type < 0xc0 ? 1 : 0)?.end !== bytes.length) return undefined
  return type === 3 ? withoutBlobs(bytes) : bytes
}

/**
 * `0x03 || rlp([body, blobs, ...])` -> `0x03 || rlp(body)`. A transaction without blobs is returned
 * unchanged.
 */
function withoutBlobs(bytes: Uint8Array): Uint8Array {
  const outer = listAt(bytes, 1)
  const body = outer && listAt(bytes, outer.start)
  return body ? Buffer.concat([bytes.subarray(0, 1), bytes.subarray((outer as { start: number }).start, body.end)]) : bytes
}

/** Start and end of the payload of the RLP list at `at`; undefined if there is no list. */
function listAt(bytes: Uint8Array, at: number): { start: number; end: number } | undefined {
  const prefix = bytes[at]
  if (prefix === undefined || prefix < 0xc0) return undefined
  if (prefix <= 0xf7) return { start: at + 1, end: at + 1 + (prefix - 0xc0) }
  const start = at + 1 + (prefix - 0xf7)
  let length = 0
  for (const byte of bytes.subarray(at + 1, start)) length = length * 256 + byte
  return { start, end: start + length }
}

/** A reply with this result: the hash, or the receipt. */
function replyFor(call: Call, result: unknown): Reply {
  const json = Buffer.from(JSON.stringify(result))
  return replyOf(call.as === 'bytes' ? json : result, json.length)
}
