/*
 * ERC-20 transfers into DuckDB: each transfer of a token in a range of blocks, as a table for SQL.
 * Stop it or kill it at any moment: started again, it continues, and no transfer is there twice. One
 * file takes any number of tokens, one run after another.
 *
 *     npm install hexline @duckdb/node-api
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… node erc20-to-duckdb.ts TOKEN FIRST [LAST] [FILE]
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints a line for each page of blocks, and at the end
 * who received the token most often:
 *
 *     blocks 21000000 to 21009999: 1204 transfers
 *     0x28c6c06298d514db089934071355e5743bf21d60 received 83 transfers, in all 6.1e+12
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { type Address, type BlockTag, createClient } from 'hexline'
import { getLogs } from 'hexline/bulk'

const [address = '0xdAC17F958D2ee523a2206206994597C13D831ec7', first = '0', last = 'finalized', file = 'transfers.duckdb'] = process.argv.slice(2)
const token = address.toLowerCase() // one spelling, since it is a key
const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef' // Transfer(address,address,uint256)

const stop = new AbortController()
process.once('SIGINT', () => stop.abort()) // a second Ctrl-C ends it at once

const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
const instance = await DuckDBInstance.create(file)
const database = await instance.connect()
try {
  // An amount has up to 256 bits, more than any number of DuckDB: its exact digits are text.
  await database.run('CREATE TABLE IF NOT EXISTS transfers (token VARCHAR, block BIGINT, log INTEGER, sender VARCHAR, receiver VARCHAR, amount VARCHAR)')
  await database.run('CREATE TABLE IF NOT EXISTS progress (token VARCHAR PRIMARY KEY, next BIGINT)')
  const saved = await database.runAndReadAll('SELECT next FROM progress WHERE token = $1', [token])
  const from = (saved.getRows()[0]?.[0] as bigint | undefined) ?? BigInt(first)
  const newest = async () => (await client.with({ signal: stop.signal }).call('eth_getBlockByNumber', last as BlockTag, false))?.number ?? -1n
  const to = /^\d+$/.test(last) ? BigInt(last) : await newest()

  if (from > to) console.log(`nothing new up to block ${to}`)
  else {
    // `bloom` proves by each block's header that the node has left out no block's logs.
    const pages = getLogs(client, { address: token as Address, topics: [transfer], from, to, audit: 'bloom', signal: stop.signal }).pages()
    for await (const page of pages) {
      await database.run('BEGIN')
      const rows = await database.createAppender('transfers')
      for (const { blockNumber, logIndex, topics, data } of page.logs) {
        rows.appendVarchar(token)
        rows.appendBigInt(blockNumber)
        rows.appendInteger(logIndex)
        for (const topic of topics.slice(1, 3)) rows.appendVarchar(`0x${topic.slice(26)}`)
        rows.appendVarchar(String(BigInt(data)))
        rows.endRow()
      }
      rows.closeSync()
      await database.run('INSERT OR REPLACE INTO progress VALUES ($1, $2)', [token, page.to + 1n])
      await database.run('COMMIT')
      console.log(`blocks ${page.from} to ${page.to}: ${page.logs.length} transfers`)
    }
  }

  const top = 'SELECT receiver, count(*), sum(amount::DOUBLE) FROM transfers WHERE token = $1 GROUP BY receiver ORDER BY count(*) DESC, receiver LIMIT 5'
  for (const [receiver, count, sum] of (await database.runAndReadAll(top, [token])).getRows())
    console.log(`${receiver} received ${count} transfers, in all ${Number(sum).toPrecision(2)}`)
} catch (error) {
  if (!stop.signal.aborted) console.error(String(error))
  process.exitCode = stop.signal.aborted ? 130 : 1
} finally {
  database.closeSync()
  instance.closeSync()
  await client.close()
}
