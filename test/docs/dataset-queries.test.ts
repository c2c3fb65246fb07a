import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedChain } from '../../demo/chain.ts'
import { tableNames } from '../../src/dataset/tables.ts'
import { startAnvil } from '../support/anvil.ts'
import type { SeenCall } from '../support/chain-server.ts'
import { hexline } from '../support/command.ts'
import { datasetReceipts, startDatasetChain } from '../support/dataset-chain.ts'

const page = readFileSync(new URL('../../docs/datasets.md', import.meta.url), 'utf8')
const [, section = ''] = page.split('## Queries')
/** The queries of the page, by the sentence above each. */
const queries = new Map([...section.matchAll(/^(.+):\n\n```sql\n([^`]*)```/gm)].map(([, title = '', sql = '']) => [title, sql]))

/** Objects as the node sends them; those of a block that are lists stand apart. */
type Row = Readonly<Record<string, string | null>>

interface Chain {
  readonly dir: string
  readonly blocks: readonly Row[]
  readonly transactions: readonly Row[]
  readonly receipts: readonly Row[]
  readonly logs: readonly (Row & { readonly topics: readonly string[] })[]
  readonly withdrawals: readonly Row[]
  /** Seconds since 1970 of each block. */
  readonly times: ReadonlyMap<string, number>
}

const chains: Chain[] = []
const ends: (() => Promise<unknown>)[] = []

/** Exports a chain, and reads it from its node besides. */
async function readChain(url: string, first: number, head: number): Promise<Chain> {
  const dir = await mkdtemp(join(tmpdir(), 'hexline-queries-'))
  ends.push(() => rm(dir, { recursive: true }))
  await using client = createClient(url)
  await exportDataset(client, { from: first, to: head, dir, tables: tableNames, blocksPerFile: 20 })
  const numbers = Array.from({ length: head - first + 1 }, (_, i) => `0x${(first + i).toString(16)}`)
  const all = <T>(method: string, ...rest: unknown[]) => Promise.all(numbers.map((number) => requestOf<T>(client, method, number, ...rest)))
  const blocks = await all<Row & { transactions: Row[]; withdrawals?: Row[] }>('eth_getBlockByNumber', true)
  const receipts = (await all<(Row & { logs: Chain['logs'] })[]>('eth_getBlockReceipts')).flat()
  return {
    dir,
    blocks,
    transactions: blocks.flatMap((block) => block.transactions),
    receipts,
    logs: receipts.flatMap(({ logs }) => logs),
    withdrawals: blocks.flatMap(({ withdrawals = [] }) => withdrawals),
    times: new Map(blocks.map(({ number, timestamp }) => [number as string, Number(timestamp)])),
  }
}

async function requestOf<T>(client: Client, method: string, ...params: unknown[]): Promise<T> {
  return (await client.request({ method, params })) as T
}

/**
 * What made blocks lack: contracts that few accounts create, failures, and blobs at prices that
 * differ.
 */
function withMore({ method, params }: SeenCall, right: unknown): { result: unknown } | undefined {
  if (method !== 'eth_getBlockReceipts' || right === null) return undefined
  const number = Number(params[0])
  const more = [
    { contractAddress: `0x${'c0'.repeat(20)}`, to: null, from: `0x0${number % 3}${'aa'.repeat(19)}` },
    { status: '0x0', to: `0x0${number % 4}${'bb'.repeat(19)}` },
    { blobGasUsed: '0x20000', blobGasPrice: `0x${(10 ** 9 + number).toString(16)}` },
  ]
  return { result: datasetReceipts(number).map((receipt, i) => ({ ...receipt, ...more[i % 5] })) }
}

beforeAll(async () => {
  const server = await startDatasetChain({ head: 45, answer: withMore })
  // Ten minutes before midnight, so that there are two days.
  const anvil = await startAnvil({ timestamp: Date.UTC(2024, 0, 31, 23, 50) / 1000 })
  ends.push(
    () => server.close(),
    () => anvil.stop(),
  )
  await seedChain(anvil.url, { blocks: 99 })
  chains.push(await readChain(server.url, 1, 45), await readChain(anvil.url, 0, 99))
})
afterAll(async () => {
  for (const end of ends) await end()
})

const groupsOf = <T extends Row>(rows: readonly T[], keyOf: (row: T) => string | null) => {
  const groups = new Map<string | null, T[]>()
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row])
  return [...groups]
}
const sum = (rows: readonly Row[], amountOf: (row: Row) => bigint) => rows.reduce((all, row) => all + amountOf(row), 0n)
const of = (row: Row, field: string) => BigInt(row[field] ?? 0)
const inOrder = (values: readonly bigint[]) => values.toSorted((a, b) => Number(a - b))
const largest = (values: readonly bigint[]) => inOrder(values).at(-1) as bigint
const smallest = (values: readonly bigint[]) => inOrder(values)[0] as bigint
const kinds = (rows: readonly Row[], field: string) => new Set(rows.map((row) => row[field])).size

/** Rows in descending order of `by`, equal ones in that of `then`; the first ten. */
const top = <T>(rows: readonly T[], by: (row: T) => bigint | number, then: (row: T) => unknown) =>
  rows.toSorted((a, b) => (by(a) > by(b) ? -1 : by(a) < by(b) ? 1 : `${then(a)}` < `${then(b)}` ? -1 : 1)).slice(0, 10)

/** The day of a block, or its hour. */
const dayOf = ({ times }: Chain, number: string | null) => new Date((times.get(number as string) as number) * 1000).toISOString().slice(0, 10)
const hourOf = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 13).replace('T', ' ')}:00:00+00`
const byText = (a: Record<string, unknown>, b: Record<string, unknown>) => (`${Object.values(a)[0]}` < `${Object.values(b)[0]}` ? -1 : 1)

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** The answer of each query, from what the node sends. */
const answers: Readonly<Record<string, (chain: Chain) => Record<string, unknown>[]>> = {
  'The contracts that used the most gas': ({ receipts }) =>
    top(
      groupsOf(
        receipts.filter(({ to }) => to !== null),
        ({ to }) => to as string,
      ).map(([contract, rows]) => ({ contract, calls: rows.length, gas: sum(rows, (row) => of(row, 'gasUsed')) })),
      ({ gas }) => gas,
      ({ contract }) => contract,
    ),
  'ERC-20 transfers a day': (chain) =>
    groupsOf(
      chain.logs.filter(({ topics }) => topics[0] === TRANSFER && topics.length === 3),
      ({ blockNumber }) => dayOf(chain, blockNumber as string),
    )
      .map(([day, rows]) => ({ day, transfers: rows.length, tokens: kinds(rows, 'address') }))
      .sort(byText),
  'The largest of them below 2^128, in the smallest units of their tokens': ({ logs }) =>
    top(
      logs.filter(({ topics, data }) => topics[0] === TRANSFER && topics.length === 3 && data?.length === 66 && BigInt(data) < 2n ** 128n),
      (row) => of(row, 'data'),
      ({ blockNumber, logIndex }) => [blockNumber, logIndex].map((place) => `${Number(place)}`.padStart(9, '0')),
    ).map((row) => ({
      block: of(row, 'blockNumber'),
      token: row.address as string,
      sender: `0x${row.topics[1]?.slice(26)}`,
      receiver: `0x${row.topics[2]?.slice(26)}`,
      amount: of(row, 'data'),
    })),
  'Failed transactions by contract, with the gas that they cost': ({ receipts }) =>
    top(
      groupsOf(receipts, ({ to }) => to as string | null)
        .map(([contract, rows]) => {
          const failed = rows.filter(({ status }) => status === '0x0')
          return { contract, failed: failed.length, all: rows.length, gas: sum(failed, (row) => of(row, 'gasUsed')) }
        })
        .filter(({ failed }) => failed > 0),
      ({ failed }) => failed,
      ({ contract }) => contract,
    ),
  'Blob fees a day, in wei': (chain) =>
    groupsOf(
      chain.receipts.filter((row) => of(row, 'blobGasUsed') > 0n),
      ({ blockNumber }) => dayOf(chain, blockNumber as string),
    )
      .map(([day, rows]) => ({ day, transactions: rows.length, fees: sum(rows, (row) => of(row, 'blobGasUsed') * of(row, 'blobGasPrice')) }))
      .sort(byText),
  'The most active senders': ({ transactions }) =>
    top(
      groupsOf(transactions, ({ from }) => from as string).map(([sender, rows]) => ({
        sender,
        transactions: rows.length,
        nonce: largest(rows.map((row) => of(row, 'nonce'))),
        wei: sum(rows, (row) => of(row, 'value')),
      })),
      ({ transactions }) => transactions,
      ({ sender }) => sender,
    ),
  'The base fee over time, and the ether that it burnt, in wei': ({ blocks }) =>
    groupsOf(blocks, ({ timestamp }) => hourOf(Number(timestamp)))
      .map(([hour, rows]) => {
        const fees = rows.map((row) => of(row, 'baseFeePerGas'))
        return { hour, lowest: smallest(fees), highest: largest(fees), burnt: sum(rows, (row) => of(row, 'baseFeePerGas') * of(row, 'gasUsed')) }
      })
      .sort(byText),
  'Contract creations, by creator': ({ receipts }) =>
    top(
      groupsOf(
        receipts.filter(({ contractAddress, status }) => contractAddress !== null && status === '0x1'),
        ({ from }) => from as string,
      ).map(([creator, rows]) => {
        const numbers = rows.map((row) => of(row, 'blockNumber'))
        return { creator, contracts: rows.length, first: smallest(numbers), last: largest(numbers) }
      }),
      ({ contracts }) => contracts,
      ({ creator }) => creator,
    ),
  'The largest transfers of value, exact at any size': ({ transactions }) =>
    top(
      transactions,
      (row) => of(row, 'value'),
      ({ hash }) => hash,
    ).map((row) => ({ block: of(row, 'blockNumber'), hash: row.hash, from: row.from, to: row.to, wei: of(row, 'value') })),
  'Logs per address': ({ logs }) =>
    top(
      groupsOf(logs, ({ address }) => address as string).map(([address, rows]) => ({
        address,
        logs: rows.length,
        events: new Set(rows.flatMap(({ topics }) => topics[0] ?? [])).size,
        transactions: kinds(rows, 'transactionHash'),
      })),
      ({ logs }) => logs,
      ({ address }) => address,
    ),
  'Withdrawals by validator, in gwei': ({ withdrawals }) =>
    top(
      groupsOf(withdrawals, ({ validatorIndex }) => `${Number(validatorIndex)}`).map(([validator, rows]) => ({
        validator: BigInt(validator as string),
        withdrawals: rows.length,
        gwei: sum(rows, (row) => of(row, 'amount')),
        address: rows.toSorted((a, b) => Number(of(b, 'index') - of(a, 'index')))[0]?.address,
      })),
      ({ gwei }) => gwei,
      ({ validator }) => validator.toString().padStart(20, '0'),
    ),
}

/** As the command prints them: counts and large numbers are text. */
const printed = (rows: readonly Record<string, unknown>[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'string' || value === null ? value : `${value}`])))

it('docs/datasets.md has a test for each query', () => {
  expect([...queries.keys()].sort()).toEqual(Object.keys(answers).sort())
})

describe.each([...queries])('%s', (title, sql) => {
  it('is what the node says', async () => {
    let rows = 0
    for (const chain of chains) {
      const { stdout, stderr, code } = await hexline(['sql', chain.dir, sql, '--json', '--quiet'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const lines = stdout.split('\n').slice(0, -1)
      const expected = printed(answers[title]?.(chain) ?? [])
      expect(lines.map((line) => JSON.parse(line))).toEqual(expected)
      rows += expected.length
    }
    expect(rows).toBeGreaterThan(0)
  })
})
