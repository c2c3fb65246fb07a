import { fault, under } from '../eth/codec/codec-path.ts'
import type { RlpWriter } from './rlp.ts'

/** How a value is written in RLP. */
export type Write = (writer: RlpWriter, value: unknown) => void

/** One item of an RLP list: the field of a JSON object that it is, and how it is written. */
interface Item {
  readonly name: string
  readonly write: Write
  /** Another field that says the same, for nodes that leave out the first one. */
  readonly orElse?: string
}

/** The items of an object, in the order of its RLP. */
export type Layout = readonly Item[]

/** A layout from the names of fields and how each is written. */
export function layout(...items: readonly (readonly [name: string, write: Write, orElse?: string])[]): Layout {
  return items.map(([name, write, orElse]) => (orElse === undefined ? { name, write } : { name, write, orElse }))
}

/**
 * Writes the items of an object, last one first, without a list around them. Throws `CodecError`
 * with the field's name for a value that is missing or not what it has to be.
 */
export function writeItems(writer: RlpWriter, items: Layout, record: Readonly<Record<string, unknown>>): void {
  let i = items.length - 1
  try {
    for (; i >= 0; i--) {
      const { name, write, orElse } = items[i] as Item
      const value = record[name]
      write(writer, (value === undefined || value === null) && orElse !== undefined ? record[orElse] : value)
    }
  } catch (error) {
    throw under(error, (items[i] as Item).name)
  }
}

export const quantity: Write = (writer, value) => writer.quantity(value)
export const bytes: Write = (writer, value) => writer.hex(value)
export const hash: Write = (writer, value) => writer.hex(value, 32)
export const address: Write = (writer, value) => writer.hex(value, 20)

/** Zero where it is absent. */
export const quantityOrZero: Write = (writer, value) => writer.quantity(value ?? 0)

/** An address, or an empty string for none. */
export const addressOrNone: Write = (writer, value) => {
  if (value === null || value === undefined) writer.byte(0x80)
  else writer.hex(value, 20)
}

/** False where it is absent. */
export const flag: Write = (writer, value) => {
  const given = value ?? false
  if (typeof given !== 'boolean') throw fault('true or false', value)
  writer.quantity(given ? 1 : 0)
}

/** A list of values that are all written the same way. Empty where it is absent. */
export function listOf(write: Write): Write {
  return (writer, value) => {
    const size = writer.size
    const items = value ?? []
    if (!Array.isArray(items)) throw fault('an array', value)
    let i = items.length - 1
    try {
      for (; i >= 0; i--) write(writer, items[i])
    } catch (error) {
      throw under(error, i)
    }
    writer.list(size)
  }
}

/** An object as a list of its items. */
export function record(items: Layout): Write {
  return (writer, value) => {
    if (typeof value !== 'object' || value === null) throw fault('an object', value)
    const size = writer.size
    writeItems(writer, items, value as Record<string, unknown>)
    writer.list(size)
  }
}
