import type { ParquetWriteOptions } from 'hyparquet-writer'
import type { ColumnType } from '../tables.ts'

/*
 * How each type of column is stored in Parquet: the sizes and bounds of its values, and how the
 * schema of a file declares it.
 */

/** Bytes of a value in a page; 0 where they vary, and for the bits of a boolean. */
export const sizes: Readonly<Record<ColumnType, number>> = {
  bytes32: 32,
  bytes20: 20,
  bytes256: 256,
  bytes8: 8,
  bytes: 0,
  uint256: 32,
  decimal: 16,
  int32: 4,
  int64: 8,
  boolean: 0,
  timestamp: 8,
  json: 0,
}

/** Whether a column holds quantities, which some nodes send as JSON numbers. */
export const isNumber: Readonly<Record<ColumnType, boolean>> = {
  bytes32: false,
  bytes20: false,
  bytes256: false,
  bytes8: false,
  bytes: false,
  uint256: true,
  decimal: true,
  int32: true,
  int64: true,
  boolean: false,
  timestamp: true,
  json: false,
}

/** The largest value of a `decimal`, which has 38 digits. */
export const LARGEST_DECIMAL: bigint = 10n ** 38n - 1n

/**
 * The last second of a `timestamp`, in the year 2255: up to it, its microseconds are a safe
 * integer.
 */
export const LAST_SECOND: number = Math.floor(Number.MAX_SAFE_INTEGER / 1e6)

/** A column in the schema of a file. */
export type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number]

/** The types of Parquet in which values are stored. */
export const physicalTypes: Readonly<Record<ColumnType, NonNullable<SchemaElement['type']>>> = {
  bytes32: 'FIXED_LEN_BYTE_ARRAY',
  bytes20: 'FIXED_LEN_BYTE_ARRAY',
  bytes256: 'FIXED_LEN_BYTE_ARRAY',
  bytes8: 'FIXED_LEN_BYTE_ARRAY',
  bytes: 'BYTE_ARRAY',
  uint256: 'FIXED_LEN_BYTE_ARRAY',
  decimal: 'FIXED_LEN_BYTE_ARRAY',
  int32: 'INT32',
  int64: 'INT64',
  boolean: 'BOOLEAN',
  timestamp: 'INT64',
  json: 'BYTE_ARRAY',
}

/** How a column is declared. */
export function schemaOf(name: string, type: ColumnType): SchemaElement {
  const element: SchemaElement = { name, repetition_type: 'OPTIONAL', type: physicalTypes[type] }
  switch (type) {
    case 'timestamp':
      return { ...element, converted_type: 'TIMESTAMP_MICROS', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } }
    case 'decimal':
      return {
        ...element,
        type_length: sizes[type],
        converted_type: 'DECIMAL',
        precision: 38,
        scale: 0,
        logical_type: { type: 'DECIMAL', precision: 38, scale: 0 },
      }
    case 'json':
      return { ...element, converted_type: 'UTF8', logical_type: { type: 'STRING' } }
    default:
      return element.type === 'FIXED_LEN_BYTE_ARRAY' ? { ...element, type_length: sizes[type] } : element
  }
}
