import { RpcError } from '../errors.ts'
import { type Call, replyOf } from '../rpc/call.ts'
import type { Recovery } from '../rpc/retry.ts'
import type { Hash } from './hex.ts'

/** How nodes say that they have this very transaction: geth, Besu and zkSync, anvil and OpenEthereum, Nethermind, Moonbeam, Erigon, Cosmos chains. */
export const ALREADY_KNOWN =
  /already known|\bknown transaction|already imported|AlreadyKnown|AlreadyImported|ALREADY_EXISTS|existing txn? with same hash|already (?:exists )?in (?:the )?(?:mempool|cache)/i

/**
 * Makes `eth_sendRawTransaction` safe to repeat. A signed transaction has one hash and runs at most once, wherever and how
 * often it is sent; what must not happen is that a send that succeeded unseen is reported as a failure. After a failure
 * that leaves open whether the node took it, "already known" means that it did, and so does finding the hash. "nonce too
 * low" alone proves nothing: another transaction may have taken the nonce.
 */
export const sendRecovery: Recovery = {
  covers: (call) => call.method === 'eth_sendRawTransaction' && hashedBytes(call.params[0]) !== undefined,

  async find(call, failure, next) {
    const hash = (await transactionHash(call.params[0])) as Hash
    if (failure instanceof RpcError && ALREADY_KNOWN.test(failure.message)) return replyFor(call, hash)
    try {
      const lookUp: Call = { ...call, method: 'eth_getTransactionByHash', params: [hash], as: 'value', safe: true, required: false, attempts: 1 }
      const reply = await next({ ...lookUp, tally: undefined })
      return reply.take() === null ? undefined : replyFor(call, hash)
    } catch {
      if (call.signal?.aborted) throw call.signal.reason
      // A node that cannot be asked tells nothing; the transaction is sent again, or the first failure stands.
      return undefined
    }
  },
}

/**
 * The hash of a signed transaction of type 0 to 4, as sent; undefined for anything else, since other types may hash
 * differently. A blob transaction is sent with its blobs (EIP-4844, "Networking"), which the hash leaves out.
 */
export async function transactionHash(raw: unknown): Promise<Hash | undefined> {
  const bytes = hashedBytes(raw)
  if (bytes === undefined) return undefined
  // Few programs ever need it: it is loaded when one does.
  const { keccak_256 } = await import('@noble/hashes/sha3.js')
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
