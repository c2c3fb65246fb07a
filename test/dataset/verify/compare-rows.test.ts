import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient, IntegrityError } from 'hexline'
import { exportDataset, verifyDataset } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DatasetTable, tableNames } from '../../../src/dataset/tables.ts'
import type { ChainOptions } from '../../support/chain-server.ts'
import type { MadeBlock } from '../../support/decoded-blocks.ts'
import { nightly } from '../../support/runs.ts'
import { FIRST, startValidChain, type ValidChain } from '../../support/valid-chain.ts'

let answer: ChainOptions['answer']
let server: ValidChain
let client: Client
let dir: string
beforeAll(async () => {
  server = await startValidChain(2, { answer: (call, right) => answer?.(call, right) })
  client = createClient(server.url)
})
afterAll(async () => {
  await client.close()
  await server.close()
})
beforeEach(async () => {
  answer = undefined
  dir = await mkdtemp(join(tmpdir(), 'hexline-compare-'))
})
afterEach(() => rm(dir, { recursive: true }))

const made = () => structuredClone(server.blocks.get(FIRST + 1) as MadeBlock) as { block: Record<string, unknown>; receipts: Record<string, unknown>[] }

const logsOf = (receipts: readonly Record<string, unknown>[]) => receipts[4]?.logs as Record<string, unknown>[]
const logOf = (receipts: readonly Record<string, unknown>[]) => logsOf(receipts)[0] as Record<string, unknown>

/** The node says something else of the second block. */
function nodeSays(change: (made: { block: Record<string, unknown>; receipts: Record<string, unknown>[] }) => void): void {
  const said = made()
  change(said)
  const { transactions } = said.block as unknown as { transactions: { hash: string }[] }
  answer = ({ method, params }) => {
    if (Number(params[0]) !== FIRST + 1) return undefined
    if (method === 'eth_getBlockReceipts') return { result: said.receipts }
    if (method !== 'eth_getBlockByNumber') return undefined
    return { result: params[1] === true ? said.block : { ...said.block, transactions: transactions.map(({ hash }) => hash) } }
  }
}

const write = (format: 'ndjson' | 'parquet', stored: readonly DatasetTable[] = tableNames, columns?: readonly string[]) =>
  exportDataset(client, { from: FIRST, to: FIRST + 1, dir, format, tables: stored, ...(columns && { columns }) })

async function faultOf(): Promise<IntegrityError | undefined> {
  try {
    const { checks, skipped } = await verifyDataset(dir, { against: client })
    expect([checks.against, skipped.against]).toEqual([2, undefined])
    return undefined
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error
    return error
  }
}

/** Another value of the same form. */
const altered = (value: unknown): unknown => {
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return value.length === 0 ? [`0x${'77'.repeat(32)}`] : value.slice(1)
  const text = value as string
  return text === '0x' ? '0x11' : `${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}`
}

describe.each(['ndjson', ...nightly('parquet')] as ('ndjson' | 'parquet')[])('%s', (format) => {
  it('each field of each row is compared, and named with its file and block', async () => {
    await write(format)
    expect(await faultOf()).toBeUndefined()
    const { block, receipts } = made()
    const parts = {
      blocks: block,
      transactions: (block.transactions as Record<string, unknown>[])[4] as Record<string, unknown>,
      receipts: receipts[4] as Record<string, unknown>,
      logs: logOf(receipts),
      withdrawals: (block.withdrawals as Record<string, unknown>[])[1] as Record<string, unknown>,
    }
    for (const table of tableNames) {
      for (const [field, value] of Object.entries(parts[table])) {
        // Lists of rows; and what decides which block or transaction it is.
        if (['transactions', 'withdrawals', 'logs', 'number', 'hash'].includes(field) && table !== 'transactions') continue
        if (value === null) continue
        nodeSays((said) => {
          const transactions = said.block.transactions as Record<string, unknown>[]
          const rows = {
            blocks: said.block,
            transactions: transactions[4],
            receipts: said.receipts[4],
            logs: logOf(said.receipts),
            withdrawals: (said.block.withdrawals as object[])[1],
          }
          ;(rows[table] as Record<string, unknown>)[field] = altered(value)
        })
        const fault = await faultOf()
        expect(fault, `${table}.${field}`).toBeDefined()
        expect(fault?.message).toContain('expected is what the node says')
        expect([fault?.block, fault?.field], `${table}.${field}`).toEqual([BigInt(FIRST + 1), expect.stringContaining(field)])
        expect(fault?.file).toMatch(new RegExp(`^${table}/`))
      }
    }
  })

  it('a row more or less at the node', async () => {
    await write(format)
    nodeSays(({ block }) => (block.withdrawals as object[]).pop())
    expect(await faultOf()).toMatchObject({ field: 'withdrawals (rows)', expected: '1', found: '2' })
    nodeSays(({ receipts }) => logsOf(receipts).pop())
    expect(await faultOf()).toMatchObject({ field: 'logs (rows)' })
  })

  it('a node that leaves out what some nodes do, and one that adds fields, agree', async () => {
    await write(format)
    nodeSays(({ block, receipts }) => {
      for (const name of ['size', 'difficulty', 'uncles']) delete block[name]
      block.author = '0x1'
      for (const transaction of block.transactions as Record<string, unknown>[])
        for (const name of ['blockTimestamp', 'yParity', 'gasPrice']) delete transaction[name]
      for (const receipt of receipts) for (const name of ['contractAddress', 'effectiveGasPrice', 'type']) delete receipt[name]
    })
    expect(await faultOf()).toBeUndefined()
    nodeSays(({ block }) => {
      delete block.stateRoot
    })
    expect(await faultOf()).toMatchObject({ field: 'stateRoot', expected: 'null' })
  })

  it('a node without eth_getBlockReceipts', async () => {
    await write(format)
    const { receipts } = made()
    const first = server.blocks.get(FIRST) as MadeBlock
    // Both blocks have the same transactions.
    let asked = 0
    answer = ({ method, params }) => {
      if (method === 'eth_getBlockByNumber') asked = Number(params[0])
      if (method === 'eth_getBlockReceipts') return { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist' } }
      if (method === 'eth_getTransactionReceipt')
        return { result: (asked === FIRST ? first.receipts : receipts).find(({ transactionHash }) => transactionHash === params[0]) ?? null }
      return undefined
    }
    expect(await faultOf()).toBeUndefined()
    logOf(receipts).data = '0x11'
    expect(await faultOf()).toMatchObject({ field: expect.stringMatching(/^logs\[\d\]\.data$/) })
  })
})

it('of some columns: those that are stored', async () => {
  await write('parquet', ['transactions', 'logs'], ['transactions.blockNumber', 'transactions.valueDecimal', 'logs.blockNumber', 'logs.topic1', 'logs.data'])
  expect(await faultOf()).toBeUndefined()
  nodeSays(({ block }) => {
    ;((block.transactions as object[])[0] as Record<string, unknown>).value = '0x1'
  })
  expect(await faultOf()).toMatchObject({ field: 'transactions[0].valueDecimal', expected: '1n' })
  nodeSays(({ receipts }) => {
    logOf(receipts).data = '0x00'
  })
  expect(await faultOf()).toMatchObject({ field: expect.stringMatching(/^logs\[\d\]\.data$/) })
})
