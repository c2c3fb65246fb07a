import { createRequire } from 'node:module'

/*
 * Exports a range of blocks with @subsquid/evm-processor and @subsquid/file-store, as a program of
 * theirs would: to Parquet, and transactions to NDJSON, too. Their types may not be installed, so
 * the parts in use are declared here.
 *
 *   tsx squid-export.ts URL FIRST LAST DIR
 */

type Value = string | number | bigint | Date | null | undefined
interface SquidBlock {
  readonly header: Record<string, Value> & { readonly height: number; readonly timestamp: number }
  readonly transactions: readonly Record<string, Value>[]
  readonly logs: readonly (Record<string, Value> & { readonly topics: readonly string[] })[]
}
type Rows = { write(row: Record<string, unknown>): void }
type Store = Readonly<Record<'blocks' | 'transactions' | 'logs' | 'lines', Rows>> & { setForceFlush(flush: boolean): void }
type Context = { readonly blocks: readonly SquidBlock[]; readonly store: Store }
interface Processor {
  setRpcEndpoint(settings: object): this
  setFinalityConfirmation(blocks: number): this
  setBlockRange(range: object): this
  includeAllBlocks(): this
  setFields(fields: object): this
  addTransaction(filter: object): this
  addLog(filter: object): this
  run(database: object, handler: (context: Context) => Promise<void>): void
}

const squid = createRequire(new URL('../../.ci/exporter/package.json', import.meta.url))
const { EvmBatchProcessor } = squid('@subsquid/evm-processor') as { EvmBatchProcessor: new () => Processor }
const { Database, LocalDest } = squid('@subsquid/file-store') as {
  Database: new (options: object) => object
  LocalDest: new (dir: string) => object
}
const { Table, Column, Types } = squid('@subsquid/file-store-parquet') as {
  Table: new (name: string, schema: object, options: object) => object
  Column: (type: object, options?: object) => object
  Types: Readonly<Record<'String' | 'Int32' | 'Int64' | 'Timestamp', () => object>> & { Decimal(precision: number): object; List(of: object): object }
}
const { Table: Lines } = squid('@subsquid/file-store-json') as { Table: new (name: string, options: object) => object }

const [url, from, to, dir = ''] = process.argv.slice(2)

const [text, integer, long] = [Column(Types.String()), Column(Types.Int32()), Column(Types.Int64())]
const [optionalText, optionalInteger] = [Column(Types.String(), { nullable: true }), Column(Types.Int32(), { nullable: true })]
const wei = Column(Types.Decimal(38), { nullable: true })

const blocks = {
  ...{ hash: text, parentHash: text, miner: text, gasLimit: long, gasUsed: long, baseFeePerGas: wei, difficulty: wei, size: long, extraData: text },
  ...{ nonce: text, mixHash: text, stateRoot: text, transactionsRoot: text, receiptsRoot: text, sha3Uncles: text, logsBloom: text },
}
const transactions = {
  ...{ transactionIndex: integer, hash: text, type: integer, from: text, to: optionalText, nonce: long, gas: long, value: wei, input: text },
  ...{ gasPrice: wei, maxFeePerGas: wei, maxPriorityFeePerGas: wei, chainId: optionalInteger, yParity: optionalInteger, r: text, s: text },
  ...{ status: optionalInteger, gasUsed: long, cumulativeGasUsed: long, effectiveGasPrice: wei, contractAddress: optionalText },
}
const logs = { logIndex: integer, transactionIndex: integer, transactionHash: text, address: text, data: text }

const options = { compression: 'GZIP' }
const database = new Database({
  tables: {
    blocks: new Table('blocks.parquet', { number: long, timestamp: Column(Types.Timestamp()), ...blocks }, options),
    transactions: new Table('transactions.parquet', { blockNumber: long, ...transactions }, options),
    logs: new Table('logs.parquet', { blockNumber: long, ...logs, topics: Column(Types.List(Types.String())) }, options),
    lines: new Lines('transactions.jsonl', { lines: true }),
  },
  dest: new LocalDest(dir),
})

const pick = (columns: object, row: Readonly<Record<string, Value>>) => Object.fromEntries(Object.keys(columns).map((name) => [name, row[name]]))
const chosen = (columns: object) => Object.fromEntries(Object.keys(columns).map((name) => [name, true]))

new EvmBatchProcessor()
  .setRpcEndpoint({ url, maxBatchCallSize: 20 })
  .setFinalityConfirmation(1)
  .setBlockRange({ from: Number(from), to: Number(to) })
  .includeAllBlocks()
  .setFields({ block: chosen(blocks), transaction: chosen(transactions), log: { ...chosen(logs), topics: true } })
  .addTransaction({})
  .addLog({})
  .run(database, async ({ blocks: fetched, store }) => {
    for (const block of fetched) {
      const { height, timestamp } = block.header
      store.blocks.write({ number: height, timestamp: new Date(timestamp), ...pick(blocks, block.header) })
      for (const each of block.transactions) {
        const row = { blockNumber: height, ...pick(transactions, each) }
        store.transactions.write(row)
        store.lines.write(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value?.toString() ?? null])))
      }
      for (const log of block.logs) store.logs.write({ blockNumber: height, ...pick(logs, log), topics: log.topics })
    }
    // Else it writes nothing before it has 20 MB.
    store.setForceFlush(true)
  })
