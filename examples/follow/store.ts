import { DuckDBInstance } from '@duckdb/node-api'
import { createClient } from 'hexline'
import { type FollowCursor, type FollowProgress, follow } from 'hexline/bulk'

const instance = await DuckDBInstance.create('logs.duckdb')
const database = await instance.connect()
await database.run('CREATE TABLE IF NOT EXISTS logs (block VARCHAR, log INTEGER, address VARCHAR, topics VARCHAR, data VARCHAR)')
await database.run('CREATE TABLE IF NOT EXISTS place (cursor VARCHAR)')
const [saved] = (await database.runAndReadAll('SELECT cursor FROM place')).getRows()
const from = saved === undefined ? 0 : (JSON.parse(String(saved[0])) as FollowCursor)

const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
let head = 0n
const onProgress = (progress: FollowProgress) => {
  head = progress.head ?? head
}
let uncommitted = 0
for await (const item of follow(client, { from, logs: true, onProgress })) {
  if (uncommitted++ === 0) await database.run('BEGIN')
  if (item.type === 'rollback') for (const { hash } of item.blocks) await database.run('DELETE FROM logs WHERE block = $1', [hash])
  else {
    const { block, logs } = item
    for (const { logIndex, address, topics, data } of logs)
      await database.run('INSERT INTO logs VALUES ($1, $2, $3, $4, $5)', [block.hash, logIndex, address, topics.join(), data])
  }
  // While it is behind, 500 blocks are one transaction; then each block is.
  if (item.type === 'block' && item.block.number < head && uncommitted < 500) continue
  await database.run('DELETE FROM place')
  await database.run('INSERT INTO place VALUES ($1)', [JSON.stringify(item.cursor)])
  await database.run('COMMIT')
  uncommitted = 0
}
