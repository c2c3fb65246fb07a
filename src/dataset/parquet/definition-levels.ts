/** A growing list of bits, the lowest bit of each byte first. */
export class Bits {
  #bytes = Buffer.alloc(1024)
  count = 0

  push(bit: boolean): void {
    const at = this.count++
    if (at >> 3 === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    if (bit) this.#bytes[at >> 3] = (this.#bytes[at >> 3] as number) | (1 << (at & 7))
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, (this.count + 7) >> 3)
  }

  clear(): void {
    this.bytes.fill(0)
    this.count = 0
  }
}

/**
 * Definition levels with a width of one bit, in the RLE and bit-packing hybrid encoding: 1 for a
 * row with a value, 0 for a null. `present` has a bit for each row, and `nulls` of them are 0.
 */
export function encodeLevels(present: Bits, nulls: number): Buffer {
  const rows = present.count
  const isSame = nulls === 0 || nulls === rows
  if (isSame) return Buffer.from([...varint(rows * 2), nulls === 0 ? 1 : 0])
  return Buffer.concat([Buffer.from(varint(Math.ceil(rows / 8) * 2 + 1)), present.bytes])
}

/** A number as an unsigned LEB128: groups of seven bits, the lowest first. */
export function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return [...bytes, rest]
}
