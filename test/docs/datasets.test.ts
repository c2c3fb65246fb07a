import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tableNames, tables } from '../../src/dataset/tables.ts'

const page = readFileSync(new URL('../../docs/datasets.md', import.meta.url), 'utf8')

/** The columns of a table in runs of one type, as the page lists them. */
function listed(table: (typeof tableNames)[number]): string {
  const runs: { type: string; names: string[] }[] = []
  for (const { name, type } of tables[table]) {
    if (runs.at(-1)?.type !== type) runs.push({ type, names: [] })
    runs.at(-1)?.names.push(`\`${name}\``)
  }
  return `| \`${table}\` | ${runs.map(({ type, names }) => `${names.join(', ')}: ${type}`).join('; ')} |`
}

it('docs/datasets.md lists every column of every table with its type', () => {
  const [, section = ''] = page.split('<!-- columns -->')
  expect(section.trim().split('\n').slice(2)).toEqual(tableNames.map(listed))
})

it('docs/datasets.md says how each type is stored', () => {
  const types = new Set(tableNames.flatMap((table) => tables[table].map(({ type }) => type)))
  const [, list = ''] = page.split('| type | Parquet | DuckDB |')
  for (const type of types) expect(list.split('\n\n')[0]).toContain(`\`${type}\``)
})
