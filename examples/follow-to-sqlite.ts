/*
 * An indexer: the transfers of a token in SQLite, from a block of the past to the newest one, and on
 * with the chain. When blocks are replaced, their transfers go. Stop it or kill it at any moment:
 * started again, it continues, and undoes what was replaced in the meantime. One file takes any number
 * of tokens.
 *
 *     npm install hexline libsql
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=wss://… node follow-to-sqlite.ts TOKEN FIRST [FILE]
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints a line for each block with transfers, and one
 * for each reorganisation:
 *
 *     block 21000003: 4 transfers
 *     undone: blocks 21000003, 21000002
 *
 * libsql is SQLite with better-sqlite3's API, and comes as a binary without an install script. From
 * Node.js 22.13 on, `DatabaseSync` of node:sqlite does the same.
 */
import { type Address, createClient } from 'hexline'
import { type FollowCursor, type FollowItem, follow } from 'hexline/bulk'
import Database from 'libsql'

const [address = '0xdAC17F958D2ee523a2206206994597C13D831ec7', first = 'latest', file = 'transfers.sqlite'] = process.argv.slice(2)
const token = address.toLowerCase() // one spelling, since it is a key
const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef' // Transfer(address,address,uint256)

const stop = new AbortController()
process.once('SIGINT', () => stop.abort()) // a second Ctrl-C ends it at once

const database = new Database(file)
database.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS transfers (token TEXT, block TEXT, log INTEGER, number INTEGER, sender TEXT, receiver TEXT, amount TEXT, PRIMARY KEY (block, log));
  CREATE TABLE IF NOT EXISTS place (token TEXT PRIMARY KEY, cursor TEXT)`)
const insert = database.prepare('INSERT INTO transfers VALUES (?, ?, ?, ?, ?, ?, ?)')
const undo = database.prepare('DELETE FROM transfers WHERE token = ? AND block = ?')
const remember = database.prepare('INSERT OR REPLACE INTO place VALUES (?, ?)')

/** One transaction for an item and its cursor: a kill leaves both or neither. */
const save = database.transaction((item: FollowItem<'hashes', false, true>) => {
  if (item.type === 'rollback') for (const { hash } of item.blocks) undo.run(token, hash)
  else
    for (const { logIndex, topics, data } of item.logs) {
      const [sender, receiver] = topics.slice(1).map((topic) => `0x${topic.slice(26)}`)
      insert.run(token, item.block.hash, logIndex, Number(item.block.number), sender, receiver, String(BigInt(data)))
    }
  remember.run(token, JSON.stringify(item.cursor))
})

const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
try {
  const place = database.prepare('SELECT cursor FROM place WHERE token = ?').get(token) as { cursor: string } | undefined
  const from = place !== undefined ? (JSON.parse(place.cursor) as FollowCursor) : first === 'latest' ? first : BigInt(first)
  for await (const item of follow(client, { from, logs: { address: token as Address, topics: [transfer] }, signal: stop.signal })) {
    save(item)
    if (item.type === 'rollback') console.log(`undone: blocks ${item.blocks.map(({ number }) => number).join(', ')}`)
    else if (item.logs.length > 0) console.log(`block ${item.block.number}: ${item.logs.length} transfers`)
  }
} catch (error) {
  // Ctrl-C is how it ends: nothing is lost.
  if (!stop.signal.aborted) {
    console.error(String(error))
    process.exitCode = 1
  }
} finally {
  database.close()
  await client.close()
}
