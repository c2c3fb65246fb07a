import type { ColumnType } from '../tables.ts'
import { sizes } from './parquet-types.ts'

/** The smallest and the largest value of a column, for the statistics of a row group. */
export interface Extremes {
  readonly min: number | bigint
  readonly max: number | bigint
}

/**
 * The extremes of the values of `data`, which are in PLAIN encoding. Undefined for a type that is
 * not `int32`, `int64` or `timestamp`, and where there is no value.
 */
export function extremesOf(type: ColumnType, data: Buffer): Extremes | undefined {
  if ((type !== 'int32' && type !== 'int64' && type !== 'timestamp') || data.length === 0) return undefined
  const size = sizes[type]
  let [min, max] = [0, 0]
  const isBelow = (a: number, b: number) => {
    if (size === 4) return data.readInt32LE(a) < data.readInt32LE(b)
    const [high, other] = [data.readInt32LE(a + 4), data.readInt32LE(b + 4)]
    return high < other || (high === other && data.readUInt32LE(a) < data.readUInt32LE(b))
  }
  for (let at = size; at < data.length; at += size) {
    if (isBelow(at, min)) min = at
    else if (isBelow(max, at)) max = at
  }
  const valueAt = (at: number) => (size === 4 ? data.readInt32LE(at) : data.readBigInt64LE(at))
  return { min: valueAt(min), max: valueAt(max) }
}
