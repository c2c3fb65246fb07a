import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { expect, it, onTestFinished } from 'vitest'
import { tableNames, tables } from '../../src/dataset/tables.ts'
import { datasetBlock, startDatasetChain } from '../support/dataset-chain.ts'
import { query } from '../support/duckdb.ts'

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

it('the queries of docs/datasets.md run', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'hexline-docs-'))
  const server = await startDatasetChain({ head: 30 })
  onTestFinished(async () => {
    await server.close()
    await rm(dir, { recursive: true })
  })
  await using client = createClient(server.url)
  await exportDataset(client, { from: 1, to: 30, dir, tables: tableNames, blocksPerFile: 10 })
  const [, sql = ''] = /```sql\n([^`]*)```/.exec(page) ?? []
  const queries = sql.split(';').flatMap((each) => (each.trim() === '' ? [] : [each.replaceAll("'mainnet/", `'${dir}/`)]))
  const [byCallee, byDay] = await Promise.all(queries.map(query))
  const callees = new Set(Array.from({ length: 30 }, (_, i) => datasetBlock(i + 1).transactions.map(({ to }) => to)).flat())
  expect(byCallee).toHaveLength(Math.min(10, callees.size))
  // The logs of this chain have random topics.
  expect(byDay).toEqual([])
})
