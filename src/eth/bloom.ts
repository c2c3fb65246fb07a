import { keccak_256 } from '@noble/hashes/sha3.js'

/** A logs bloom as nodes send it: 2,048 bits in hex. */
const BLOOM = /^0x[0-9a-fA-F]{512}$/
/** Bits that each item sets. */
const BITS = 3

/**
 * The positions in the hex text of a bloom that an item sets (Yellow Paper, 4.3.1): of each of
 * the first three pairs of bytes of its Keccak-256 hash, the low 11 bits count from the end.
 */
interface Mark {
  readonly at: readonly number[]
  readonly bit: readonly number[]
}

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

/** Computes the bloom of logs. Each address and topic is hashed only once. */
export class BloomBuilder {
  readonly #marks = new Map<string, Mark>()

  /** The bloom of these logs, in lower-case hex. */
  of(logs: Iterable<{ readonly address: string; readonly topics: readonly string[] }>): string {
    const digits = new Uint8Array(512)
    for (const { address, topics } of logs) {
      this.#add(digits, address)
      for (const topic of topics) this.#add(digits, topic)
    }
    let text = '0x'
    for (const digit of digits) text += HEX[digit]
    return text
  }

  #add(digits: Uint8Array, item: string): void {
    let mark = this.#marks.get(item)
    if (mark === undefined) {
      mark = markOf(item)
      if (this.#marks.size >= MOST_KNOWN) this.#marks.clear()
      this.#marks.set(item, mark)
    }
    for (let i = 0; i < BITS; i++) {
      const at = (mark.at[i] as number) - 2
      digits[at] = (digits[at] as number) | (mark.bit[i] as number)
    }
  }
}

const HEX = '0123456789abcdef'
const MOST_KNOWN = 4096

function markOf(item: string): Mark {
  const hash = keccak_256(Buffer.from(item.slice(2), 'hex'))
  const at: number[] = []
  const bit: number[] = []
  for (let i = 0; i < BITS; i++) {
    const position = (((hash[2 * i] as number) << 8) | (hash[2 * i + 1] as number)) & 2047
    // A hex digit has four bits; the last digit has the lowest.
    at.push(2 + 511 - (position >> 2))
    bit.push(1 << (position & 3))
  }
  return { at, bit }
}

function has(bloom: string, { at, bit }: Mark): boolean {
  for (let i = 0; i < BITS; i++) if ((digitAt(bloom, at[i] as number) & (bit[i] as number)) === 0) return false
  return true
}

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  // 0 to 9, then a to f or A to F.
  return code < 0x3a ? code - 0x30 : (code & 0x1f) + 9
}
