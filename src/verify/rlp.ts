import { fault } from '../eth/codec/codec-path.ts'
import { WIDE } from '../eth/codec/hex.ts'
import { HashBuffer } from '../eth/codec/keccak.ts'

/**
 * Writes RLP from its end to its front, so that the length in front of a list is known when it is
 * written, and nothing is measured beforehand or copied. Items are therefore given last first:
 *
 *     writer.clear()
 *     const size = writer.size
 *     writer.quantity(2n)
 *     writer.quantity(1n)
 *     writer.list(size)      // [1, 2]
 *     writer.hash()
 *
 * https://ethereum.org/developers/docs/data-structures-and-encoding/rlp/
 */
export class RlpWriter extends HashBuffer {
  /** Bytes written so far. */
  get size(): number {
    return this.end - this.position
  }

  byte(value: number): void {
    this.reserve(1)
    this.bytes[--this.position] = value
  }

  /**
   * A string of bytes in hex, of `length` bytes where that is given. Throws `CodecError` for
   * anything else.
   */
  hex(text: unknown, length?: number): void {
    if (typeof text !== 'string') throw fault(bytesOf(length), text)
    const size = (text.length - 2) / 2
    const hasForm = Number.isInteger(size) && size >= 0 && text.charCodeAt(0) === 0x30 && text.charCodeAt(1) === 0x78
    if (!hasForm || (length !== undefined && size !== length) || WIDE.test(text)) throw fault(bytesOf(length), text)
    this.reserve(size + LONGEST_HEAD)
    const at = this.position - size
    // The copy ends where the text is not hex.
    if (this.buffer.write(text.slice(2), at, size, 'hex') !== size) throw fault(bytesOf(length), text)
    this.position = at
    if (size !== 1 || (this.bytes[at] as number) >= 0x80) this.#head(0x80, size)
  }

  /**
   * A whole number without leading zeros: a number, a bigint, or a quantity in hex. Throws
   * `CodecError` for anything else.
   */
  quantity(value: unknown): void {
    this.reserve(40 + LONGEST_HEAD)
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) this.#number(value)
    else if (typeof value === 'bigint' && value >= 0n && value < MOST) this.#big(value)
    else if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) this.#big(BigInt(value))
    else throw fault('a quantity of at most 256 bits', value)
  }

  /** Puts what was written since `size` into a list. */
  list(size: number): void {
    this.reserve(LONGEST_HEAD)
    this.#head(0xc0, this.size - size)
  }

  /** Puts what was written since `size` into a string. */
  string(size: number): void {
    const length = this.size - size
    if (length === 1 && (this.bytes[this.position] as number) < 0x80) return
    this.reserve(LONGEST_HEAD)
    this.#head(0x80, length)
  }

  /** Bytes that are RLP already. */
  raw(bytes: Uint8Array, from: number, to: number): void {
    this.reserve(to - from)
    this.position -= to - from
    for (let i = from, at = this.position; i < to; i++, at++) this.bytes[at] = bytes[i] as number
  }

  #number(value: number): void {
    if (value > 0 && value < 0x80) {
      this.bytes[--this.position] = value
      return
    }
    const before = this.position
    let rest = value
    for (; rest > 0xffffffff; rest = Math.floor(rest / 0x100)) this.bytes[--this.position] = rest & 0xff
    for (; rest > 0; rest >>>= 8) this.bytes[--this.position] = rest & 0xff
    const length = before - this.position
    this.bytes[--this.position] = 0x80 + length
  }

  #big(value: bigint): void {
    if (value <= SAFE) {
      this.#number(Number(value))
      return
    }
    const before = this.position
    let rest = value
    for (; rest > SAFE; rest >>= 48n) {
      let low = Number(BigInt.asUintN(48, rest))
      for (let i = 0; i < 6; i++, low = Math.floor(low / 0x100)) this.bytes[--this.position] = low & 0xff
    }
    for (let high = Number(rest); high > 0; high = Math.floor(high / 0x100)) this.bytes[--this.position] = high & 0xff
    const length = before - this.position
    this.bytes[--this.position] = 0x80 + length
  }

  #head(base: number, length: number): void {
    if (length < 56) {
      this.bytes[--this.position] = base + length
      return
    }
    const before = this.position
    for (let rest = length; rest > 0; rest >>>= 8) this.bytes[--this.position] = rest & 0xff
    const lengthOfLength = before - this.position
    this.bytes[--this.position] = base + 55 + lengthOfLength
  }
}

const LONGEST_HEAD = 9
const MOST = 1n << 256n
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)

function bytesOf(length: number | undefined): string {
  return length === undefined ? 'bytes in hex' : `${length} bytes in hex`
}
