import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { createClient, type Log } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { getTransaction, getWalletTokens } from 'hexline/rest'
import { startSandbox } from 'hexline/sandbox'
import { startAnvil } from '../test/support/anvil.ts'
import { seedChain } from './chain.ts'

/*
 * hexline at work on a real node, on this machine alone: starts anvil, makes a chain worth reading, serves it as the service does, by chain and
 * key, fetches all of it with transactions and receipts, checks it against what was put in, reads a wallet and a transaction over REST, and writes the
 * chain as NDJSON with the command.
 */

const BLOCKS = 4000
const folder = fileURLToPath(new URL('./out/', import.meta.url))
const file = `${folder}blocks.ndjson`
const say = (text: string) => process.stdout.write(`${text}\n`)
const count = (value: number | bigint) => value.toLocaleString('en-US')

const startedAt = performance.now()
// Blocks of the chain are 12 s apart; the last one is about now.
const anvil = await startAnvil({ chainId: 1, pruneHistory: true, timestamp: Math.floor(Date.now() / 1000) - 12 * BLOCKS })
const sandbox = await startSandbox({ upstream: anvil.url, prices: { native: { usd: 3000, usd24hAgo: 2940 } } })
try {
  say(`anvil, a real node, runs at ${anvil.url}; the service over it at ${sandbox.url}`)
  const chain = await seedChain(anvil.url, {
    blocks: BLOCKS,
    onProgress: (done, total) => {
      if (process.stderr.isTTY) process.stderr.write(`\r  making a chain: ${count(done)} of ${count(total)} blocks\x1b[K${done === total ? '\r\x1b[K' : ''}`)
    },
  })
  const types = Object.entries(chain.types).map(([type, times]) => `${count(times)} of type ${type}`)
  say(`a chain of ${count(chain.head + 1n)} blocks with ${count(chain.transactions)} transactions: ${types.join(', ')}\n`)

  const client = createClient({ baseUrl: sandbox.rpcUrl, chain: sandbox.chain, apiKey: sandbox.apiKey })
  let blocks = 0
  let transactions = 0
  let bytes = 0
  const logs: Log[] = []
  const found: Record<number, number> = {}
  const before = performance.now()
  for await (const block of getBlocks(client, {
    from: 0n,
    to: 'latest',
    transactions: 'full',
    receipts: true,
    onProgress: (progress) => {
      bytes = progress.bytes
    },
  })) {
    blocks++
    transactions += block.transactions.length
    for (const { type } of block.transactions) found[type] = (found[type] ?? 0) + 1
    for (const receipt of block.receipts) logs.push(...receipt.logs)
  }
  const seconds = (performance.now() - before) / 1000
  say(`getBlocks fetched, decoded and link-checked all of it, receipts too, in ${seconds.toFixed(2)} s:`)
  say(`  ${count(blocks)} blocks, ${count(transactions)} transactions, ${count(logs.length)} logs, ${(bytes / 1e6).toFixed(1)} MB`)
  say(
    `  ${count(Math.round(blocks / seconds))} blocks/s, ${count(Math.round(transactions / seconds))} transactions/s, ${(bytes / 1e6 / seconds).toFixed(1)} MB/s\n`,
  )

  const put = { blocks: Number(chain.head) + 1, transactions: chain.transactions, logs: chain.logs, types: chain.types }
  const got = { blocks, transactions, logs: logs.length, types: found }
  if (JSON.stringify(put) !== JSON.stringify(got)) throw new Error(`what came is not what was put in: ${JSON.stringify({ put, got })}`)
  say('Every block, transaction and log that was put in came out. The last log, decoded:')
  say(`${inspect(logs.at(-1), { colors: process.stdout.isTTY })}\n`)
  await client.close()

  const last = logs.at(-1) as Log
  const transaction = await getTransaction(sandbox.service, { transaction_hash: last.transactionHash as string, chain: 'eth' })
  if (transaction?.logs?.at(-1)?.data !== last.data) throw new Error('the data group tells of another log')
  say(`The same log over REST, in a transaction of ${transaction.from_address} at ${transaction.block_timestamp_date?.toISOString()}. That wallet holds:`)
  for await (const { symbol, balance_formatted, usd_value } of getWalletTokens(sandbox.service, { address: transaction.from_address as string, chain: 'eth' }))
    say(`  ${balance_formatted} ${symbol}${typeof usd_value === 'number' ? `, ${count(Math.round(usd_value))} USD` : ''}`)
  say('')

  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  const args = ['blocks', '--chain', sandbox.chain, '--from', '0', '--to', 'latest', '--receipts', '--out', file]
  say(`$ export HEXLINE_RPC_BASE_URL=${sandbox.rpcUrl} HEXLINE_API_KEY=...`)
  say(`$ hexline ${args.join(' ').replace(file, 'demo/out/blocks.ndjson')}`)
  const command = spawn(process.execPath, [fileURLToPath(new URL('../dist/src/cli/bin.js', import.meta.url)), ...args], {
    stdio: 'inherit',
    env: { ...process.env, HEXLINE_RPC_BASE_URL: sandbox.rpcUrl, HEXLINE_API_KEY: sandbox.apiKey },
  })
  const [code] = await once(command, 'exit')
  if (code !== 0) throw new Error(`hexline blocks ended with ${code}`)
  const lines = (await readFile(file, 'latin1')).split('\n').length - 1
  if (lines !== blocks) throw new Error(`${lines} lines instead of ${blocks}`)
  say(`demo/out/blocks.ndjson holds ${count(lines)} lines, ${((await stat(file)).size / 1e6).toFixed(1)} MB: the node's own JSON, one block a line`)
  say(`\nAll of it, with making the chain, took ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`)
} finally {
  await sandbox.stop()
  await anvil.stop()
}
