import { viewOf } from '../../json/scan.ts'

/** The bytes to cut: one value, without white space between tokens. */
export interface Text {
  readonly bytes: Buffer
  readonly view: DataView
  /** Only ASCII without escapes is accepted, which is faster; anything else throws. */
  readonly isPlain: boolean
}

/** The text of plain bytes. */
export function plainText(bytes: Buffer): Text {
  return { bytes, view: viewOf(bytes), isPlain: true }
}

/** Cuts the value at `at`, and returns the index after it. */
export type CutField = (text: Text, at: number) => number

/** The rows that were cut, and where their fields are. */
export class Rows {
  /** The fields whose places are found. */
  readonly names: readonly string[]
  /** Places in a row: its own, and those of its fields. */
  readonly width: number
  count = 0
  /**
   * For each row `2 * width` numbers: its start and end, and those of each field's value, in the
   * order of the names; -1 where the row does not have the field.
   */
  places: Int32Array
  /**
   * Of each field without a name in the cutter: its row, the start of its key, the end of its
   * value.
   */
  readonly others: number[] = []
  /** The same of each field that is apart. */
  readonly apart: number[] = []

  constructor(names: readonly string[]) {
    this.names = names
    this.width = names.length + 1
    this.places = new Int32Array(2 * this.width * 256)
  }

  /** Drops the rows from `count` on. */
  cutTo(count: number): void {
    this.count = count
    for (const list of [this.others, this.apart]) while (list.length > 0 && (list.at(-3) as number) >= count) list.length -= 3
  }

  /** Index in `places` of a new row. */
  add(): number {
    const at = 2 * this.width * this.count++
    if (at === this.places.length) {
      const larger = new Int32Array(2 * at)
      larger.set(this.places)
      this.places = larger
    }
    this.places.fill(-1, at, at + 2 * this.width)
    return at
  }

  start(row: number): number {
    return this.places[2 * this.width * row] as number
  }

  end(row: number): number {
    return this.places[2 * this.width * row + 1] as number
  }

  /** Start of the value of a field, by its index among the names; -1 if there is none. */
  from(row: number, field: number): number {
    return this.places[2 * (this.width * row + field + 1)] as number
  }

  to(row: number, field: number): number {
    return this.places[2 * (this.width * row + field + 1) + 1] as number
  }
}
