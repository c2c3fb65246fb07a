import { expect, it } from 'vitest'
import { clientOf, serve } from '../support/server.ts'

const HASH = `0x${'cd'.repeat(32)}` as const
const MB = 1_000_000
const STEP = `{"pc":12345,"op":"SSTORE","gas":49946982,"gasCost":20000,"depth":3,"stack":["0x2fa2164","0x0","0xde0b6b3a7640000"],"refund":4800}`

/** CPU time in ms, by this process. */
function cpuOf(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

it('a trace of 100 MB is decoded in bounded memory, and in at most four times the CPU time of JSON.parse alone and two seconds for the server', async () => {
  const steps = Math.ceil((100 * MB) / (STEP.length + 1))
  const result = `{"gas":1,"failed":false,"returnValue":"0x","structLogs":[${Array(steps).fill(STEP).join(',')}]}`
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
  expect(body.length).toBeGreaterThan(100 * MB)
  const server = await serve((_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body))
  const client = clientOf(server.url)
  const parseStart = process.cpuUsage()
  expect(JSON.parse(result).structLogs).toHaveLength(steps)
  const parsing = cpuOf(parseStart)
  const before = process.memoryUsage().rss
  const start = process.cpuUsage()
  const trace = await client.call('debug_traceTransaction', HASH)
  expect(trace.structLogs).toHaveLength(steps)
  // The server of this process takes its part.
  expect(cpuOf(start)).toBeLessThan(4 * parsing + 2000)
  expect(process.memoryUsage().rss - before).toBeLessThan(15 * body.length)
})

it('one that is longer than maxResponseBytes is refused as such', async () => {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"structLogs":[${Array(20_000).fill(STEP).join(',')}]}}`)
  const server = await serve((_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body))
  const client = clientOf(server.url, { maxResponseBytes: MB })
  await expect(client.call('debug_traceTransaction', HASH)).rejects.toMatchObject({ kind: 'response-too-large' })
})
