import { OptionError } from '../../errors.ts'
import { columnsText } from '../columns.ts'
import type { DatasetHeader } from './manifest.ts'

/** Throws `OptionError` with the first option that differs from the folder's. */
export function checkSame(dir: string, there: DatasetHeader, asked: DatasetHeader): void {
  const differs = (option: string, has: unknown, wants: unknown) =>
    new OptionError(option, `${String(has)}, which ${dir} was started with`, `${String(wants)}; nothing was changed`)
  if (there.chainId !== asked.chainId) throw differs('client', `a node of chain id ${there.chainId}`, `one of chain id ${asked.chainId}`)
  for (const option of ['format', 'from', 'blocksPerFile'] as const) if (there[option] !== asked[option]) throw differs(option, there[option], asked[option])
  if (there.tables.join() !== asked.tables.join()) throw differs('tables', there.tables.join(', '), asked.tables.join(', '))
  for (const table of there.tables) {
    const [has, wants] = [there.columns?.[table], asked.columns?.[table]]
    if (has?.join() !== wants?.join()) throw differs('columns', columnsText(table, has), columnsText(table, wants))
  }
  if (there.compression === 'zstd' && asked.compression !== 'zstd')
    throw differs('format', 'Parquet with zstd', `Node.js ${process.versions.node}, which cannot write it: use Node.js 22.15, 23.8 or later`)
}

/** Throws unless two folders hold the same dataset, or parts of it. */
export function checkAlike(dir: string, header: DatasetHeader, other: string, asIt: DatasetHeader): void {
  for (const name of Object.keys(header) as (keyof DatasetHeader)[]) {
    const [one, two] = [header[name], asIt[name]].map((value) => JSON.stringify(value)) as [string, string]
    if (one === two) continue
    const values = name === 'columns' || name === 'checks' ? 'differ' : `are ${one} and ${two}`
    throw new Error(`${dir} and ${other} are not of one dataset: their values of ${name} ${values}; nothing was changed`)
  }
}
