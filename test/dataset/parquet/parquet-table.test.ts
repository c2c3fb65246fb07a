import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { type DatasetTable, type ExportDatasetOptions, exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readManifest } from '../../../src/dataset/folder/manifest.ts'
import { loadParquet } from '../../../src/dataset/parquet/parquet-form.ts'
import { createParquet, wantedForColumns } from '../../../src/dataset/parquet/parquet-table.ts'
import { blockCutter } from '../../../src/dataset/rows/cut-block.ts'
import { type Column, type ColumnType, fieldsElsewhere, tableNames, tables } from '../../../src/dataset/tables.ts'
import type { ChainOptions } from '../../support/chain-server.ts'
import { datasetBlock, datasetReceipts, hashOf, startDatasetChain } from '../../support/dataset-chain.ts'
import { query } from '../../support/duckdb.ts'

type Raw = Readonly<Record<string, unknown>>

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-parquet-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function exported(options: Partial<ExportDatasetOptions>, answer?: ChainOptions['answer']): Promise<void> {
  const server = await startDatasetChain({ head: 60, ...(answer && { answer }) })
  try {
    await using client = createClient(server.url)
    await exportDataset(client, { from: 3, to: 32, dir, tables: tableNames, blocksPerFile: 10, ...options })
  } finally {
    await server.close()
  }
}

/** How DuckDB shows a column as text. */
const shownBy: Record<ColumnType, (name: string) => string> = {
  bytes32: hex,
  bytes20: hex,
  bytes256: hex,
  bytes8: hex,
  bytes: hex,
  uint256: hex,
  decimal: text,
  int32: text,
  int64: text,
  boolean: text,
  timestamp: (name) => `epoch(${name})::bigint::varchar`,
  json: (name) => name,
}

function hex(name: string): string {
  return `'0x' || lower(hex(${name}))`
}

function text(name: string): string {
  return `${name}::varchar`
}

/** The same text of a value as the node sent it. */
function expectedOf(type: ColumnType, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (type === 'json') return JSON.stringify(value)
  if (type === 'boolean') return String(value)
  if (type === 'uint256')
    return `0x${BigInt(value as string)
      .toString(16)
      .padStart(64, '0')}`
  return type.startsWith('bytes') ? (value as string) : BigInt(value as string).toString()
}

function rawValue({ source }: Column, row: Raw, block: Raw): unknown {
  if (source.from === 'block') return block[source.field]
  if (source.from === 'transactionCount') return `0x${(block.transactions as unknown[]).length.toString(16)}`
  if (source.from === 'extra') return undefined
  return source.item === undefined ? row[source.field] : (row[source.field] as unknown[])[source.item]
}

const rowsOf: Record<DatasetTable, (number: number) => readonly Raw[]> = {
  blocks: (number) => [datasetBlock(number)],
  transactions: (number) => datasetBlock(number).transactions,
  receipts: (number) => datasetReceipts(number),
  logs: (number) => datasetReceipts(number).flatMap(({ logs }) => logs),
  withdrawals: (number) => datasetBlock(number).withdrawals as Raw[],
}

const numbers = Array.from({ length: 30 }, (_, i) => i + 3)
const order: Record<DatasetTable, string> = {
  blocks: 't.number',
  transactions: 't."blockNumber", t."transactionIndex"',
  receipts: 't."blockNumber", t."transactionIndex"',
  logs: 't."blockNumber", t."logIndex"',
  withdrawals: 't."blockNumber", t."index"',
}

describe('read by DuckDB', () => {
  it.each(tableNames)('every value of %s is what the node sent', async (table) => {
    await exported({})
    const columns = tables[table]
    const selected = columns.map(({ name, type }) => `${shownBy[type](`"${name}"`)} as "${name}"`).join(', ')
    const found = await query(`select ${selected} from '${dir}/${table}/*.parquet' t order by ${order[table]}`)
    const expected = numbers.flatMap((number) =>
      rowsOf[table](number).map((row) =>
        Object.fromEntries(columns.map((column) => [column.name, expectedOf(column.type, rawValue(column, row, datasetBlock(number)))])),
      ),
    )
    expect(found).toEqual(expected)
    expect(found.length).toBeGreaterThan(29)
  })

  it('the types, and smallest and largest values, are those of the columns', async () => {
    await exported({})
    const types = await query(`select column_name, column_type from (describe select * from '${dir}/transactions/*.parquet')`)
    const sqlTypes: Partial<Record<ColumnType, string>> = {
      decimal: 'DECIMAL(38,0)',
      int32: 'INTEGER',
      int64: 'BIGINT',
      boolean: 'BOOLEAN',
      timestamp: 'TIMESTAMP WITH TIME ZONE',
      json: 'VARCHAR',
    }
    expect(types).toEqual(tables.transactions.map(({ name, type }) => ({ column_name: name, column_type: sqlTypes[type] ?? 'BLOB' })))
    const statistics = await query(
      `select path_in_schema, stats_min_value, stats_max_value, stats_null_count from parquet_metadata('${dir}/transactions/000000010-000000019.parquet')`,
    )
    const [least, most] = await query(`select min(nonce)::varchar as value from '${dir}/transactions/000000010-000000019.parquet'
      union all select max(nonce)::varchar from '${dir}/transactions/000000010-000000019.parquet'`)
    expect(statistics.find((each) => each.path_in_schema === 'nonce')).toMatchObject({
      stats_min_value: least?.value,
      stats_max_value: most?.value,
      stats_null_count: '0',
    })
    const [{ nulls } = {}] = await query(`select (count(*) - count("yParity"))::varchar as nulls from '${dir}/transactions/000000010-000000019.parquet'`)
    expect(Number(nulls)).toBeGreaterThan(0)
    expect(statistics.find((each) => each.path_in_schema === 'yParity')).toMatchObject({ stats_null_count: nulls })
    // A filter on them skips row groups, and still finds what is there.
    expect(await query(`select count(*)::int as n from '${dir}/transactions/*.parquet' where "blockNumber" = 11`)).toEqual([{ n: 11 % 7 }])
  })

  it('only the chosen columns are stored, and the manifest says which checks they rule out', async () => {
    await exported({ tables: ['blocks', 'transactions'], columns: ['transactions.valueDecimal', 'transactions.hash'] })
    const types = await query(`select column_name from (describe select * from '${dir}/transactions/*.parquet')`)
    expect(types.map((each) => each.column_name)).toEqual(['hash', 'valueDecimal'])
    const [{ n } = {}] = await query(`select count(*)::int as n from '${dir}/transactions/*.parquet'`)
    expect(n).toBe(numbers.reduce((sum, number) => sum + (number % 7), 0))
    const { checks } = (await readManifest(dir)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>
    expect(checks.header).toEqual([])
    expect(checks.transactionsRoot).toContain('transactions.input')
    expect(checks.receiptsRoot).toEqual(['receipts', 'logs'])
  })
})

describe('what a column cannot hold', () => {
  const WORD = `0x${'f'.repeat(64)}`
  const odd: Raw = {
    nonce: '0x10000000000000000',
    value: WORD,
    gasPrice: WORD,
    to: '0xabcd',
    type: '0x80000000',
    v: '0x',
    input: '0x123',
    gas: 21_000,
    isSystemTx: true,
    mint: '0x1',
    'o"dd\u00e9': { a: [1, ' '] },
    s: `0x000${'f'.repeat(61)}`,
  }
  const oddLog: Raw = { topics: [hashOf(1), hashOf(2), hashOf(3), hashOf(4), hashOf(5)], data: null, removed: 'no', blockTimestamp: '0x1' }
  const shortLog: Raw = { topics: ['0x12'] }

  const spoiled: ChainOptions['answer'] = ({ method, params }) => {
    const number = Number(params[0])
    if (number !== 13) return undefined
    if (method === 'eth_getBlockReceipts') {
      const [first, second, ...rest] = datasetReceipts(number)
      const [log] = datasetReceipts(number).flatMap(({ logs }) => logs)
      return {
        result: [
          {
            ...first,
            logs: [
              { ...log, ...oddLog },
              { ...log, logIndex: '0x1', ...shortLog },
            ],
          },
          { ...second, logs: [] },
          ...rest.map((each) => ({ ...each, logs: [] })),
        ],
      }
    }
    if (method !== 'eth_getBlockByNumber') return undefined
    const block = datasetBlock(number)
    return { result: { ...block, l1BlockNumber: '0x7', transactions: block.transactions.map((each, i) => (i === 1 ? { ...each, ...odd } : each)) } }
  }

  it('is in extra, as sent, and numbers that are too large are counted', async () => {
    await exported({}, spoiled)
    const [row] = await query(
      `select nonce, hex(value) as value, "valueDecimal", "gasPrice", "to", type, v, input, gas, lower(hex(s)) as s, extra from '${dir}/transactions/*.parquet' where "blockNumber" = 13 and "transactionIndex" = 1`,
    )
    expect(row).toMatchObject({
      nonce: null,
      value: 'F'.repeat(64),
      valueDecimal: null,
      gasPrice: null,
      to: null,
      type: null,
      v: null,
      input: null,
      gas: '21000',
    })
    expect(row?.s).toBe(`000${'f'.repeat(61)}`)
    const { value: _, s: __, gas: ___, ...others } = odd
    expect(JSON.parse(row?.extra as string)).toEqual(others)
    const { ranges } = (await readManifest(dir)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>
    expect(ranges.map(({ nulls }) => nulls)).toEqual([{}, { 'transactions.valueDecimal': 1, 'transactions.gasPrice': 1 }, {}, {}])
    expect(await query(`select extra from '${dir}/blocks/*.parquet' where number = 13`)).toEqual([{ extra: '{"l1BlockNumber":"0x7"}' }])
    const logs = await query(`select topic0, topic3, data, removed, extra from '${dir}/logs/*.parquet' where "blockNumber" = 13 order by "logIndex"`)
    expect(logs.map(({ extra, ...rest }) => ({ ...rest, extra: JSON.parse(extra as string) }))).toEqual([
      { topic0: null, topic3: null, data: null, removed: null, extra: { topics: oddLog.topics, removed: 'no' } },
      expect.objectContaining({ topic0: null, extra: { topics: ['0x12'] } }),
    ])
    expect(await query(`select count(*)::int as n from '${dir}/transactions/*.parquet' where extra is not null`)).toEqual([{ n: 1 }])
  })

  it('but for its spelling is there: JSON numbers, and escapes', async () => {
    const word = hashOf(7)
    const escaped = (hex: string) => `"\\u0030x${hex.slice(2)}"`
    const json = `[{"transactionHash":"${word}","blockHash":"${hashOf(3)}","logs":[
      {"logIndex":0,"transactionIndex":1e0,"address":${escaped(word.slice(0, 42))},"topics":[${escaped(word)},"${word}"],"data":"0x\\u0061b","removed":false},
      {"logIndex":"0x1","topics":["${word}"]}]}]`
    const names = tables.logs.map(({ name }) => name)
    const cutter = blockCutter({ logs: wantedForColumns('logs', names) }, { full: false, receipts: true })
    const block = { number: '0x3', hash: hashOf(3), parentHash: hashOf(2), timestamp: 1_700_000_000, transactions: [word] }
    const item = cutter.item(cutter.block(Buffer.from(JSON.stringify(block))), cutter.receipts(Buffer.from(json)))
    const file = await createParquet(await loadParquet(), dir, 'file.parquet', { table: 'logs', names, compression: 'snappy' })
    await file.add(item)
    await file.finish()
    await file.publish()
    const bytes = (value: string) => value.slice(2).toUpperCase()
    expect(
      await query(
        `select epoch("blockTimestamp")::bigint as time, "logIndex", "transactionIndex" as i, hex(address) as address, hex(topic0) as a, hex(topic1) as b, hex(data) as data, extra from '${dir}/file.parquet'`,
      ),
    ).toEqual([
      { time: '1700000000', logIndex: 0, i: 1, address: bytes(word).slice(0, 40), a: bytes(word), b: bytes(word), data: 'AB', extra: null },
      { time: '1700000000', logIndex: 1, i: null, address: null, a: bytes(word), b: null, data: null, extra: null },
    ])
  })

  it('is in its own column or in extra: no field is lost', () => {
    for (const table of tableNames) {
      const fields = tables[table].flatMap(({ source }) => (source.from === 'field' ? [source.field] : []))
      expect(fields.filter((field) => fieldsElsewhere[table].includes(field))).toEqual([])
      expect(tables[table].at(-1)).toEqual({ name: 'extra', type: 'json', source: { from: 'extra' } })
    }
  })
})

it('many row groups hold the same rows in order', async () => {
  const long = `0x${'5a'.repeat(300_000)}`
  await exported({ tables: ['transactions'], blocksPerFile: 100 }, ({ method, params }) => {
    if (method !== 'eth_getBlockByNumber') return undefined
    const block = datasetBlock(Number(params[0]))
    return { result: { ...block, transactions: block.transactions.map((each) => ({ ...each, input: long })) } }
  })
  const file = `${dir}/transactions/000000003-000000032.parquet`
  const [{ groups } = {}] = await query(`select count(distinct row_group_id)::int as groups from parquet_metadata('${file}')`)
  expect(groups).toBeGreaterThan(1)
  expect(await query(`select distinct octet_length(input)::int as size from '${file}'`)).toEqual([{ size: 300_000 }])
  const found = await query(`select '0x' || lower(hex(hash)) as hash from '${file}'`)
  expect(found.map(({ hash }) => hash)).toEqual(numbers.flatMap((number) => datasetBlock(number).transactions.map(({ hash }) => hash)))
})
