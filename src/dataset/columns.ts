import { OptionError } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { type DatasetTable, tableNames, tables } from './tables.ts'

/** Checks the names of tables, and puts them in their order. Throws `OptionError`. */
export function checkTables(value: unknown): DatasetTable[] {
  if (!Array.isArray(value) || value.length === 0) throw new OptionError('tables', `an array of ${tableNames.join(', ')}`, show(value))
  const odd = value.find((name) => !tableNames.includes(name))
  if (odd !== undefined)
    throw new OptionError('tables', `only ${tableNames.join(', ')}`, show(odd) + (typeof odd === 'string' ? didYouMean(odd, tableNames) : ''))
  return tableNames.filter((name) => value.includes(name))
}

/**
 * The columns of each table, in their order: those that `columns` names, such as
 * `transactions.hash`, or all of a table of which it names none. Throws `OptionError`.
 */
export function columnsOf(stored: readonly DatasetTable[], columns: unknown): Partial<Record<DatasetTable, string[]>> {
  if (columns !== undefined && (!Array.isArray(columns) || columns.length === 0 || !columns.every((each) => typeof each === 'string')))
    throw new OptionError('columns', "an array of columns such as 'transactions.hash'", show(columns))
  const all = stored.flatMap((table) => tables[table].map(({ name }) => `${table}.${name}`))
  const asked: readonly string[] = columns ?? []
  const odd = asked.find((column) => !all.includes(column))
  if (odd !== undefined) {
    const known = tableNames.flatMap((table) => tables[table].map(({ name }) => `${table}.${name}`)).includes(odd)
    const found = known ? `${show(odd)}, whose table is not in tables` : show(odd) + (whole(odd, all) ?? didYouMean(odd, all))
    throw new OptionError('columns', "columns of the exported tables, such as 'transactions.hash'", found)
  }
  return Object.fromEntries(
    stored.map((table) => {
      const names = tables[table].map(({ name }) => name)
      const chosen = names.filter((name) => asked.includes(`${table}.${name}`))
      return [table, chosen.length === 0 ? names : chosen]
    }),
  )
}

/** What a name without its table stands for. */
function whole(name: string, all: readonly string[]): string | undefined {
  const columns = all.filter((column) => column.endsWith(`.${name}`))
  return columns.length === 0 ? undefined : ` (did you mean ${columns.map((column) => `\`${column}\``).join(' or ')}?)`
}

/** The columns of a table, as they are chosen. */
export function columnsText(table: DatasetTable, names: readonly string[] = []): string {
  return names.length === tables[table].length ? `all columns of ${table}` : names.map((name) => `${table}.${name}`).join(',')
}
