import { keccak_256 } from '@noble/hashes/sha3.js'
import { HexlineError, RpcError } from '../errors.ts'
import { type Call, type Reply, replyOf, type Send } from '../rpc/call.ts'
import { isAmbiguous } from '../rpc/failure-kinds.ts'
import { Pin } from '../rpc/pin.ts'
import type { Recovery } from '../rpc/recovery.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { excerpt } from '../text.ts'
import type { Hash } from './codec/hex.ts'

/** How nodes say that they have this very transaction: geth, Besu and zkSync, anvil and OpenEthereum, Nethermind, Moonbeam, Erigon, Cosmos chains. */
export const ALREADY_KNOWN =
  /already known|\bknown transaction|already imported|AlreadyKnown|AlreadyImported|ALREADY_EXISTS|existing txn? with same hash|already (?:exists )?in (?:the )?(?:mempool|cache)/i

/** Failed look-ups in a row, at the end, after which no more are made. */
const FAILED = 4
/**
 * How often a transaction that may have been accepted must be missing before a node that refuses it is believed: behind one URL there may be several nodes, some
 * of them seconds behind. With the default waits this takes some 10 s, at most 20 s.
 */
const MISSING = 8

/**
 * Makes `eth_sendRawTransaction` safe to repeat. A signed transaction has one hash and runs at most once, wherever and how
 * often it is sent; what must not happen is that a send that succeeded unseen is reported as a failure. After a failure
 * that leaves open whether the node took it, "already known" means that it did, and so does finding the hash. "nonce too
 * low" and other refusals prove nothing by themselves, since the transaction's first copy may be what is in the way: they are
 * believed only where each endpoint that may have taken it has been asked for it, repeatedly, and does not have it. Otherwise
 * the failure that left it open stands, with the hash.
 */
export const sendRecovery: Recovery = {
  covers: (call) => call.method === 'eth_sendRawTransaction' && hashedBytes(call.params[0]) !== undefined,

  async find(call, failure, doubts, next) {
    const hash = (await transactionHash(call.params[0])) as Hash
    if (isKnown(failure)) return replyFor(call, hash)
    const found = await lookUp(call, hash, doubts.slice(0, 1), next)
    return typeof found === 'string' ? undefined : found
  },

  async conclude(call, last, doubts, next, pause) {
    const hash = (await transactionHash(call.params[0])) as Hash
    if (isKnown(last)) return replyFor(call, hash)
    const isRefused = !isAmbiguous(last)
    // Where the failure that left it open stands anyway, one good look-up is enough.
    const enough = isRefused ? MISSING : 1
    let missing = 0
    let failed = 0
    do {
      const found = await lookUp(call, hash, doubts, next)
      if (typeof found !== 'string') return found
      if (found === 'missing') missing++
      failed = found === 'missing' ? 0 : failed + 1
    } while (missing < enough && failed < FAILED && (await pauseFor(call, pause)))
    if (isRefused && missing >= enough) return last
    return leftOpen(isRefused ? (doubts[0] as HexlineError) : last, hash, isRefused ? last : undefined)
  },
}

/** What is said of a transaction that may have been accepted, although its send failed. */
export function mayBeAccepted(hash: Hash): string {
  return `transaction ${hash} may have been accepted; look it up before you sign another`
}

function isKnown(failure: HexlineError): boolean {
  return failure instanceof RpcError && ALREADY_KNOWN.test(failure.said)
}

/** Asks each endpoint that may have taken it. `missing` when none of them has it, `unknown` where one could not be asked. */
async function lookUp(call: Call, hash: Hash, doubts: readonly HexlineError[], next: Send): Promise<Reply | 'missing' | 'unknown'> {
  let found: 'missing' | 'unknown' = 'missing'
  for (const { endpoint } of doubts) {
    // Another one may answer in its place: that it has the transaction proves all, that it has not proves nothing.
    const pin = new Pin()
    pin.endpoint = endpoint
    const question = { method: 'eth_getTransactionByHash', params: [hash], as: 'value', safe: true, required: false, attempts: 1 } as const
    try {
      const reply = await next({ ...call, ...question, tried: [], pin, tally: undefined })
      const transaction = reply.take() as { readonly hash?: unknown } | null
      if (typeof transaction?.hash === 'string' && transaction.hash.toLowerCase() === hash) {
        call.pin?.sees(pin.newest)
        return replyFor(call, hash)
      }
      if (transaction !== null || pin.endpoint !== endpoint) found = 'unknown'
    } catch {
      if (call.signal?.aborted) throw call.signal.reason
      found = 'unknown'
    }
  }
  return found
}

/** False when there is nothing more to wait for: the deadline is near, or the client is closed. */
async function pauseFor({ signal }: Call, pause: () => Promise<boolean>): Promise<boolean> {
  try {
    return await pause()
  } catch {
    if (signal?.aborted) throw signal.reason
    return false
  }
}

/** The failure that left it open, with the hash. What was answered to a repetition is in its cause, where nobody takes it for the end of the matter. */
function leftOpen(doubt: HexlineError, hash: Hash, refusal: HexlineError | undefined): HexlineError {
  doubt.message = `${mayBeAccepted(hash)}: ${doubt.message}`
  doubt.transactionHash = hash
  if (refusal === undefined) return doubt
  const { kind, method } = refusal
  const said = `sent again, it was refused, which leaves open what became of it before: ${excerpt(serverMessage(refusal))}`
  const cause = new HexlineError(said, kind, { method, cause: doubt.cause })
  return Object.defineProperty(doubt, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
}

/**
 * The hash of a signed transaction of type 0 to 4, as sent; undefined for anything else, since other types may hash
 * differently. A blob transaction is sent with its blobs (EIP-4844, "Networking"), which the hash leaves out.
 */
export async function transactionHash(raw: unknown): Promise<Hash | undefined> {
  const bytes = hashedBytes(raw)
  if (bytes === undefined) return undefined
  return `0x${Buffer.from(keccak_256(bytes)).toString('hex')}`
}

/** The bytes whose hash is the transaction's. */
function hashedBytes(raw: unknown): Uint8Array | undefined {
  if (typeof raw !== 'string' || !/^0x(?:[0-9a-fA-F]{2})+$/.test(raw)) return undefined
  const bytes = Buffer.from(raw.slice(2), 'hex')
  const type = bytes[0] as number
  // A legacy transaction is a bare RLP list.
  if (type < 0xc0 && (type === 0 || type > 4)) return undefined
  if (listAt(bytes, type < 0xc0 ? 1 : 0)?.end !== bytes.length) return undefined
  return type === 3 ? withoutBlobs(bytes) : bytes
}

/** `0x03 || rlp([body, blobs, ...])` -> `0x03 || rlp(body)`; a transaction that comes without blobs is returned as it is. */
function withoutBlobs(bytes: Uint8Array): Uint8Array {
  const outer = listAt(bytes, 1)
  const body = outer && listAt(bytes, outer.start)
  return body ? Buffer.concat([bytes.subarray(0, 1), bytes.subarray((outer as { start: number }).start, body.end)]) : bytes
}

/** The RLP list whose header is at `at`: where its payload starts and ends. Undefined when something else stands there. */
function listAt(bytes: Uint8Array, at: number): { start: number; end: number } | undefined {
  const prefix = bytes[at]
  if (prefix === undefined || prefix < 0xc0) return undefined
  if (prefix <= 0xf7) return { start: at + 1, end: at + 1 + (prefix - 0xc0) }
  const start = at + 1 + (prefix - 0xf7)
  let length = 0
  for (const byte of bytes.subarray(at + 1, start)) length = length * 256 + byte
  return { start, end: start + length }
}

function replyFor(call: Call, hash: Hash) {
  return replyOf(call.as === 'bytes' ? new TextEncoder().encode(`"${hash}"`) : hash, hash.length + 2)
}
