import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIRST_BLOCK, fill, loadBlocks, type Template } from '../../bench/blocks.ts'
import { startChain } from '../support/chain-server.ts'
import { query } from '../support/duckdb.ts'
import { FIRST, startValidChain } from '../support/valid-chain.ts'

/*
 * What @subsquid's exporter writes for the same blocks, compared with the datasets of hexline. Its
 * packages have their own lock file, and are installed when they are missing.
 */

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const COUNT = 24

let dir: string
beforeAll(async () => {
  const prefix = path('../../.ci/exporter')
  if (!existsSync(join(prefix, 'node_modules'))) execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', prefix])
  dir = await mkdtemp(join(tmpdir(), 'hexline-exporters-'))
})
afterAll(() => rm(dir, { recursive: true }))

/**
 * A node with the blocks of the benchmark, which are those of mainnet where the corpus is present.
 */
async function startMainnet() {
  const head = FIRST_BLOCK + COUNT + 4
  const { full, receipts } = loadBlocks()
  const chain = await startChain({
    head,
    answer({ method, params: [at, whole] }) {
      const number = at === 'latest' ? head : Number(at)
      const templates = method === 'eth_getBlockReceipts' ? receipts : method === 'eth_getBlockByNumber' && whole === true ? full : undefined
      if (templates === undefined || !(number >= FIRST_BLOCK)) return undefined
      return { result: JSON.parse(fill(templates[number % templates.length] as Template, number).toString('latin1')) }
    },
  })
  return { ...chain, first: FIRST_BLOCK }
}

async function startAllTypes() {
  return { ...(await startValidChain(COUNT + 4)), first: FIRST }
}

it.each([
  ['mainnet', startMainnet],
  ['transactions of all types', startAllTypes],
])("%s: the rows in Parquet and NDJSON are those that @subsquid's exporter writes", async (name, start) => {
  const node = await start()
  const [ours, lines, theirs] = ['ours', 'lines', 'theirs'].map((folder) => join(dir, name.replaceAll(' ', '-'), folder)) as [string, string, string]
  try {
    await using client = createClient(node.url)
    const range = { from: node.first, to: node.first + COUNT - 1 }
    await exportDataset(client, { ...range, dir: ours, tables: ['blocks', 'transactions', 'receipts', 'logs'], blocksPerFile: 10 })
    await exportDataset(client, { ...range, dir: lines, format: 'ndjson', blocksPerFile: 10 })
    const squid = fork(path('../support/squid-export.ts'), [node.url, String(range.from), String(range.to), theirs], { execArgv: ['--import', 'tsx'] })
    expect(await once(squid, 'close')).toEqual([0, null])
  } finally {
    await node.close()
  }

  for (const [table, { bytes, numbers, values, order, from }] of Object.entries(tables)) {
    const stored = numbers.map((column) => `${column}::varchar as ${column}`)
    const mine = await query(
      `select ${[...bytes.map((column) => `'0x' || lower(hex("${column}")) as "${column}"`), ...stored, ...values].join(', ')} from ${from(ours)} order by ${order}`,
    )
    // Theirs has quantities such as `r` as the node sent them, without leading zeros.
    const theirBytes = bytes.map((column) => (/^[rs]$/.test(column) ? `'0x' || lpad(${column}[3:], 64, '0') as ${column}` : `"${column}"`))
    // And -1 for a number that the node did not send.
    const sent = numbers.map((column) => `nullif(${column}, -1)::varchar as ${column}`)
    const other = await query(`select ${[...theirBytes, ...sent, ...values].join(', ')} from '${theirs}/*/${table}.parquet' order by ${order}`)
    expect(mine.length, table).toBeGreaterThanOrEqual(COUNT)
    expectSame(mine, other)
  }

  const number = (line: Record<string, unknown>) =>
    Object.fromEntries(quantities.map((name) => [name, line[name] == null ? null : BigInt(line[name] as string)]))
  const same = ({ hash, from, to, input, ...line }: Record<string, unknown>) => ({ hash, from, to: to ?? null, input, ...number(line) })
  const [mine, other] = [await linesOf(join(lines, 'transactions')), await linesOf(theirs)]
  expectSame(mine.map(same), other.map(same))
})

/** Shows the first row that differs, in place of all of them. */
function expectSame(mine: readonly object[], other: readonly object[]): void {
  expect(mine.length).toBe(other.length)
  const at = mine.findIndex((row, i) => !isDeepStrictEqual(row, other[i]))
  if (at !== -1) expect(mine[at]).toEqual(other[at])
}

/** The columns that both exporters write. */
const tables = {
  blocks: {
    bytes: ['hash', 'parentHash', 'miner', 'extraData', 'nonce', 'mixHash', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'sha3Uncles', 'logsBloom'],
    values: ['"timestamp"'],
    numbers: ['number', '"gasLimit"', '"gasUsed"', '"baseFeePerGas"', 'difficulty', 'size'],
    from: (folder: string) => `'${folder}/blocks/*.parquet'`,
    order: 'number',
  },
  transactions: {
    bytes: ['hash', 'from', 'to', 'input', 'r', 's', 'contractAddress'],
    values: [],
    numbers: [
      ...['"blockNumber"', '"transactionIndex"', 'type', 'nonce', 'gas', 'value', '"gasPrice"', '"maxFeePerGas"', '"maxPriorityFeePerGas"', '"chainId"'],
      ...['"yParity"', 'status', '"gasUsed"', '"cumulativeGasUsed"', '"effectiveGasPrice"'],
    ],
    from: (folder: string) =>
      `(select t.* replace ("valueDecimal" as value), r.status, r."gasUsed", r."cumulativeGasUsed", r."effectiveGasPrice", r."contractAddress"
        from '${folder}/transactions/*.parquet' t join '${folder}/receipts/*.parquet' r using ("blockNumber", "transactionIndex"))`,
    order: '"blockNumber", "transactionIndex"',
  },
  logs: {
    bytes: ['address', 'data', 'transactionHash'],
    numbers: ['"blockNumber"', '"transactionIndex"', '"logIndex"'],
    values: ['topics'],
    from: (folder: string) =>
      `(select *, list_transform(list_filter([topic0, topic1, topic2, topic3], lambda topic: topic is not null), lambda topic: '0x' || lower(hex(topic))) as topics
        from '${folder}/logs/*.parquet')`,
    order: '"blockNumber", "logIndex"',
  },
}

/**
 * The quantities of a transaction that both write to NDJSON, the one as hex, the other as decimals.
 */
const quantities = ['blockNumber', 'transactionIndex', 'type', 'nonce', 'gas', 'value', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'chainId']

async function linesOf(folder: string): Promise<Record<string, unknown>[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /ndjson$|jsonl$/.test(name)).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line) as Record<string, unknown>)
}
