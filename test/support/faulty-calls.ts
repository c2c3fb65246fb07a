import { keccak_256 } from '@noble/hashes/sha3.js'

/** Number of the newest block. */
export const HEAD = 2_000_000
/** Number of the first block that is requested only once. */
const FIRST = 1_000_000

/** One call of the test and its right answer, both of which follow from its number. */
export interface Planned {
  readonly method: string
  readonly params: readonly string[]
  readonly required: boolean
}

const hexOf = (number: number, digits = 0) => `0x${number.toString(16).padStart(digits, '0')}`
const legacy = (i: number) => `0xc8${i.toString(16).padStart(16, '0')}`
/**
 * A transaction of a type that hexline does not know, so it cannot compute the hash. It must never
 * be sent twice if the first copy may have run.
 */
const unknownType = (i: number) => `0x7e${i.toString(16).padStart(16, '0')}`

/** Call number `i`. Most read something that no other call reads. */
export function planned(i: number): Planned {
  const near = hexOf(HEAD - (i % 6))
  if (i % 500 === 7) return { method: 'eth_sendRawTransaction', params: [legacy(i)], required: false }
  if (i % 500 === 8) return { method: 'eth_sendRawTransaction', params: [unknownType(i)], required: false }
  if (i % 10 === 1) return { method: 'eth_getBlockByNumber', params: [near], required: true }
  if (i % 10 < 4) return { method: 'eth_getBlockByNumber', params: [hexOf(FIRST + i)], required: true }
  if (i % 10 < 6) return { method: 'eth_getStorageAt', params: [hexOf(i, 40), hexOf(i % 7), near], required: false }
  return { method: 'eth_getBalance', params: [hexOf(i, 40), near], required: false }
}

/**
 * The number of a call that a server received: negative for a block that many calls read, undefined
 * for hexline's own calls.
 */
export function numberOf(method: string, params: readonly unknown[]): number | undefined {
  const first = String(params[0])
  if (method === 'eth_sendRawTransaction') return Number.parseInt(first.slice(4), 16)
  if (method === 'eth_getBalance' || method === 'eth_getStorageAt') return Number(first)
  if (method !== 'eth_getBlockByNumber') return undefined
  return Number(first) < HEAD - 10 ? Number(first) - FIRST : Number(first) - HEAD - 1
}

/** The block that a call needs; 0 for none. */
export function blockOf(method: string, params: readonly unknown[]): number {
  if (method === 'eth_getBlockByNumber') return Number(params[0])
  if (method === 'eth_getBalance') return Number(params[1])
  return method === 'eth_getStorageAt' ? Number(params[2]) : 0
}

/** The right result, which identifies its call. */
export function resultOf(method: string, params: readonly unknown[]): unknown {
  if (method === 'eth_sendRawTransaction') return hashOf(String(params[0])) ?? `0x${digest(params.join())}`
  const own = `0x${digest(`${method} ${params.join()}`)}`
  return method === 'eth_getBlockByNumber' ? { number: params[0], hash: own } : own
}

/** Hash of a transaction of a known type; undefined for the other one. */
export function hashOf(raw: string): string | undefined {
  if (!raw.startsWith('0xc8')) return undefined
  return `0x${Buffer.from(keccak_256(Buffer.from(raw.slice(2), 'hex'))).toString('hex')}`
}

/** 64 hex digits derived from `text`: not cryptographic, but different for different calls. */
function digest(text: string): string {
  let all = ''
  for (let part = 1; part <= 8; part++) {
    let hash = Math.imul(part, 0x9e3779b1)
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    all += (hash >>> 0).toString(16).padStart(8, '0')
  }
  return all
}

/** Faults of a call or a POST. */
export const faults = [
  'throttled',
  'throttled in part',
  'bad gateway',
  'cut',
  'cut in the middle',
  'truncated',
  'stalled',
  'reply left out',
  'reordered',
  'said twice',
  'dead',
  'lagging',
] as const
export type Fault = (typeof faults)[number]

/** What the nodes recorded. */
export interface Seen {
  /**
   * For each call: its number, how many times it arrived and was not refused, how many times in
   * all, its faults as bits in the order of `faults`, the length of the last POST it arrived in,
   * and how many times it arrived in a shorter one than the time before.
   */
  readonly calls: readonly (readonly [number, number, number, number, number, number])[]
  /** How many times each transaction ran, by the number of its call. */
  readonly runs: readonly (readonly [number, number])[]
  readonly posts: number
  /** POSTs by fault. */
  readonly faulty: Readonly<Partial<Record<Fault, number>>>
}
