import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { createTestClient, type Hex, http, publicActions, walletActions } from 'viem'
import { foundry } from 'viem/chains'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { query } from '../support/duckdb.ts'
import { minedReceipt } from '../support/mined.ts'

/**
 * A contract that emits its call data as a log with one topic, 7: CALLDATASIZE, PUSH1 0, PUSH1 0,
 * CALLDATACOPY, PUSH1 7, CALLDATASIZE, PUSH1 0, LOG1. In front of it is the code that returns it.
 */
const EMITTER: Hex = '0x600c600c600039600c6000f33660006000376007366000a1'

let anvil: Anvil
let dir: string
beforeAll(async () => {
  anvil = await startAnvil()
  dir = await mkdtemp(join(tmpdir(), 'hexline-anvil-'))
})
afterAll(async () => {
  await anvil.stop()
  await rm(dir, { recursive: true })
})

it('DuckDB counts, sums and finds in the files what viem reads from the node', async () => {
  const viem = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
    .extend(publicActions)
    .extend(walletActions)
  const accounts = await viem.getAddresses()
  const deployed = await viem.sendTransaction({ account: accounts[0] as Hex, data: EMITTER })
  const { contractAddress } = await minedReceipt(viem, deployed)
  for (let i = 0; i < 12; i++) {
    const [account, to] = [accounts[i % 5] as Hex, accounts[(i + 1) % 5] as Hex]
    const last = i % 3 === 0 ? { to: contractAddress as Hex, data: `0x${'ab'.repeat(40 * i)}` as Hex } : { to, value: 10n ** BigInt(i + 8) + BigInt(i) }
    await minedReceipt(viem, await viem.sendTransaction({ account, ...last }))
  }
  await using client = createClient(anvil.url)
  const { to } = await exportDataset(client, {
    from: 0,
    to: 'latest',
    dir,
    tables: ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'],
    blocksPerFile: 5,
  })

  const numbers = Array.from({ length: Number(to) + 1 }, (_, i) => BigInt(i))
  const blocks = await Promise.all(numbers.map((blockNumber) => viem.getBlock({ blockNumber, includeTransactions: true })))
  const transactions = blocks.flatMap((block) => block.transactions)
  const receipts = await Promise.all(transactions.map(({ hash }) => viem.getTransactionReceipt({ hash })))
  const logs = await viem.getLogs({ fromBlock: 0n, toBlock: to })
  const sum = (values: readonly bigint[]) => values.reduce((all, value) => all + value, 0n).toString()

  expect(
    await query(
      `select count(*)::int as n, sum("gasUsed")::varchar as gas, max(epoch(timestamp))::int as last, sum("transactionCount")::int as txs from '${dir}/blocks/*.parquet'`,
    ),
  ).toEqual([{ n: blocks.length, gas: sum(blocks.map(({ gasUsed }) => gasUsed)), last: Number(blocks.at(-1)?.timestamp), txs: transactions.length }])
  expect(await query(`select count(*)::int as n, sum("valueDecimal")::varchar as value from '${dir}/transactions/*.parquet'`)).toEqual([
    { n: transactions.length, value: sum(transactions.map(({ value }) => value)) },
  ])
  expect(
    await query(`select '0x' || lower(hex(t.hash)) as hash, '0x' || lower(hex(input)) as input, r.status, r."gasUsed"::varchar as gas, '0x' || lower(hex("contractAddress")) as contract
      from '${dir}/transactions/*.parquet' t join '${dir}/receipts/*.parquet' r on t.hash = r."transactionHash" order by t."blockNumber", t."transactionIndex"`),
  ).toEqual(
    transactions.map(({ hash, input }, i) => {
      const receipt = receipts[i]
      return { hash, input, status: receipt?.status === 'success' ? 1 : 0, gas: receipt?.gasUsed.toString(), contract: receipt?.contractAddress ?? null }
    }),
  )
  const found = await query(
    `select '0x' || lower(hex(address)) as address, '0x' || lower(hex(topic0)) as topic, '0x' || lower(hex(data)) as data, "logIndex" from '${dir}/logs/*.parquet' order by "blockNumber", "logIndex"`,
  )
  expect(logs.length).toBe(4)
  expect(found).toEqual(logs.map(({ address, topics, data, logIndex }) => ({ address, topic: topics[0], data, logIndex })))
})
