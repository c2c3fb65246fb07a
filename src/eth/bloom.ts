import { fault, under } from './codec/codec-path.ts'
import { bytesOfHex } from './codec/hex.ts'
import { keccak256 } from './codec/keccak.ts'

/** A logs bloom as nodes send it: 2,048 bits in hex. */
const BLOOM = /^0x[0-9a-fA-F]{512}$/
/** Bits that each item sets. */
const BITS = 3

/**
 * The positions of the bits that an item sets, counted from the end of the bloom (Yellow Paper,
 * 4.3.1): the low 11 bits of each of the first three pairs of bytes of its Keccak-256 hash.
 */
type Mark = readonly [number, number, number]

/** Whether a bloom has the form that a header's `logsBloom` has. */
export function isBloom(bloom: unknown): bloom is string {
  return typeof bloom === 'string' && BLOOM.test(bloom)
}

/** Whether a bloom has no bit, as that of a block without logs. */
export function isEmptyBloom(bloom: string): boolean {
  return EMPTY.test(bloom)
}

const EMPTY = /^0x0*$/

/** Items that are looked for in many blooms: the addresses or topics of a filter. */
export class BloomTest {
  /** One of each group has to be there. */
  readonly #groups: readonly (readonly Mark[])[]

  /** Addresses and topics in hex. An empty list of groups matches each bloom of any log. */
  constructor(groups: readonly (readonly string[])[]) {
    this.#groups = groups.map((group) => group.map(markOf))
  }

  /**
   * Whether a block with this bloom may have a log with an item of each group; false proves that it
   * has none.
   */
  mayMatch(bloom: string): boolean {
    if (this.#groups.length === 0) return !isEmptyBloom(bloom)
    return this.#groups.every((group) => group.some((mark) => has(bloom, mark)))
  }
}

/** A log, as far as blooms hold it. */
interface BloomedLog {
  readonly address: string
  readonly topics: readonly string[]
}

/** Bytes of a bloom. */
export const BLOOM_BYTES = 256

/** Computes the bloom of logs. Each address and topic is hashed only once. */
export class BloomBuilder {
  readonly #marks = new Map<string, Mark>()

  /** The bloom of these logs, in lower-case hex. Throws as `add` does. */
  of(logs: Iterable<BloomedLog>): string {
    const bloom = Buffer.alloc(BLOOM_BYTES)
    let i = 0
    try {
      for (const log of logs) {
        this.add(bloom, log)
        i++
      }
    } catch (error) {
      throw under(error, i)
    }
    return `0x${bloom.toString('hex')}`
  }

  /**
   * Adds a log to a bloom of 256 bytes. Throws `CodecError` for an address or a topic that is not
   * hex, and for topics that are no array.
   */
  add(bloom: Uint8Array, { address, topics }: BloomedLog): void {
    let i = -1
    if (!Array.isArray(topics)) throw under(fault('an array', topics), 'topics')
    try {
      this.#addItem(bloom, address)
      for (i = 0; i < topics.length; i++) this.#addItem(bloom, topics[i] as string)
    } catch (error) {
      throw i < 0 ? under(error, 'address') : under(under(error, i), 'topics')
    }
  }

  #addItem(bloom: Uint8Array, item: string): void {
    let mark = this.#marks.get(item)
    if (mark === undefined) {
      mark = markOf(item)
      if (this.#marks.size >= MOST_KNOWN) this.#marks.clear()
      this.#marks.set(item, mark)
    }
    for (let i = 0; i < BITS; i++) {
      const position = mark[i] as number
      const at = BLOOM_BYTES - 1 - (position >> 3)
      bloom[at] = (bloom[at] as number) | (1 << (position & 7))
    }
  }
}

/** Addresses and topics of about ten blocks of mainnet. */
const MOST_KNOWN = 8192

function markOf(item: string): Mark {
  const hash = keccak256(bytesOfHex(item))
  return [position(hash, 0), position(hash, 2), position(hash, 4)]
}

function position(hash: Uint8Array, at: number): number {
  return (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047
}

function has(bloom: string, mark: Mark): boolean {
  for (let i = 0; i < BITS; i++) {
    const position = mark[i] as number
    // A hex digit has four bits; the last digit has the lowest.
    if ((digitAt(bloom, LAST_DIGIT - (position >> 2)) & (1 << (position & 3))) === 0) return false
  }
  return true
}

/** Place of the last digit in a bloom in hex. */
const LAST_DIGIT = 2 + 2 * BLOOM_BYTES - 1

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  // 0 to 9, then a to f or A to F.
  return code < 0x3a ? code - 0x30 : (code & 0x1f) + 9
}
