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
let begunAt: number | undefined
for await (const item of follow(client, { from, logs: true, onProgress })) {
  if (begunAt === undefined) await database.run('BEGIN')
  begunAt ??= Date.now()
  if (item.type === 'rollback') for (const { hash } of item.blocks) await database.run('DELETE FROM logs WHERE block = $1', [hash])
  else {
    const { block, logs } = item
    const rows = await database.createAppender('logs')
    for (const { logIndex, address, topics, data } of logs) {
      rows.appendVarchar(block.hash)
      rows.appendInteger(logIndex)
      for (const text of [address, topics.join(), data]) rows.appendVarchar(text)
      rows.endRow()
    }
    rows.closeSync()
  }
  // While it is behind, the blocks of a second are one transaction; then each block is.
  if (item.type === 'block' && item.block.number < head && Date.now() - begunAt < 1000) continue
  await database.run('DELETE FROM place')
  await database.run('INSERT INTO place VALUES ($1)', [JSON.stringify(item.cursor)])
  await database.run('COMMIT')
  begunAt = undefined
}
