import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/index.ts'
import { type AuditLevel, getLogs } from '../../src/index-bulk.ts'
import { type LogChainOptions, startLogChain, TRANSFER, tokens, type WireLog } from '../support/log-chain.ts'

const HEAD = 199_999
const RANGE = 5000
const address = tokens.slice(0, 4) as `0x${string}`[]
const filter = { address, topics: [TRANSFER] as `0x${string}`[] }

/** A limit on blocks, as ten providers word it. */
const wordings = [
  () => `query exceeds max block range ${RANGE}`,
  () => `block range is too wide (maximum ${RANGE})`,
  () => `eth_getLogs is limited to a ${RANGE} range`,
  (from: number) => `this block range should work: [0x${from.toString(16)}, 0x${(from + RANGE - 1).toString(16)}]`,
  (from: number) => `query returned more than 10000 results. Try with this block range [0x${from.toString(16)}, 0x${(from + 999).toString(16)}].`,
  () => `You can make eth_getLogs requests with up to a ${RANGE} block range.`,
  () => 'block range is too big',
  () => `exceed maximum block range: ${RANGE}`,
  (from: number) => `retry with the range ${from}-${from + RANGE - 1}`,
  () => `requested too many blocks, maximum is set to ${RANGE}`,
]

/** Leaves out one log in a thousand, and all logs of one block in a thousand. */
const drops = (log: WireLog) => Number(BigInt(log.data) % 1000n) === 7 || Number(log.blockNumber) % 1000 === 500

function faulty(): LogChainOptions {
  let refusals = 0
  const says = (from: number) => ({ code: -32005, message: (wordings[refusals++ % wordings.length] as (typeof wordings)[number])(from) })
  return { head: HEAD, logs: () => 5, drops, cap: 10_000, range: { most: RANGE, says } }
}

async function run(chains: { url: string }[], audit: AuditLevel) {
  const client = createClient(chains.map(({ url }) => url))
  onTestFinished(() => client.close())
  const logs = getLogs(client, { ...filter, from: 0n, to: BigInt(HEAD), audit })
  const keys: string[] = []
  const cpu = process.cpuUsage()
  for await (const log of logs) keys.push(`${log.blockNumber}/${log.logIndex}/${log.data}`)
  const { user, system } = process.cpuUsage(cpu)
  return { keys, audit: logs.audit, cpuSeconds: (user + system) / 1e6 }
}

const keyOf = (log: WireLog) => `${Number(log.blockNumber)}/${Number(log.logIndex)}/${log.data}`

describe('of a million logs, of which a node leaves out some', () => {
  it.each<AuditLevel>(['none', 'bloom', 'receipts'])('audit: %s', async (level) => {
    const chain = await startLogChain(faulty())
    const { keys, audit, cpuSeconds } = await run([chain], level)
    const right = chain.logs(0, HEAD, filter)
    const found = new Set(keys)
    const missing = right.filter((log) => !found.has(keyOf(log)))
    console.log(
      `audit ${level}: ${keys.length} of ${right.length} logs, ${missing.length} missing, ${JSON.stringify(chain.calls)}, ${cpuSeconds.toFixed(0)} s of CPU with the server, ${JSON.stringify(audit)}`,
    )
    expect(found.size).toBe(keys.length)
    expect(keys.every((key, i) => i === 0 || Number(key.split('/')[0]) >= Number(keys[i - 1]?.split('/')[0]))).toBe(true)
    if (level === 'none') return expect(missing).toEqual(right.filter(drops))
    expect(audit).toMatchObject({ level, blocks: HEAD + 1, unproven: 0 })
    if (level === 'receipts') return expect(missing).toEqual([])
    // Blooms show the blocks that were left out as a whole.
    const given = new Set(right.filter((log) => !drops(log)).map(({ blockNumber }) => blockNumber))
    expect(missing.filter(({ blockNumber }) => !given.has(blockNumber))).toEqual([])
    return expect(missing.length).toBeLessThan(right.filter(drops).length)
  })

  it('audit: peer, with a second node that is honest', async () => {
    const liar = await startLogChain(faulty())
    const honest = await startLogChain({ head: HEAD })
    const { keys, audit } = await run([liar, honest], 'peer')
    expect(keys).toEqual(honest.logs(0, HEAD, filter).map(keyOf))
    expect(audit).toMatchObject({ level: 'peer', blocks: HEAD + 1, unproven: 0 })
  })
})

it('memory stays flat where a million logs are read slowly', async () => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  // Replies wait as bytes, which are not on the heap. The server is in this process, too.
  let peak = 0
  const inUse = () => {
    gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const chain = await startLogChain({ head: HEAD })
  const client = createClient(chain.url)
  onTestFinished(() => client.close())
  let count = 0
  let atTheMiddle = 0
  for await (const { logs } of getLogs(client, { from: 0n, to: BigInt(HEAD), audit: 'none', maxBytes: 8 * 1024 * 1024 }).pages()) {
    count += logs.length
    await new Promise((resolve) => setTimeout(resolve, 5))
    peak = Math.max(peak, process.memoryUsage.rss())
    if (atTheMiddle === 0 && count >= 500_000) atTheMiddle = inUse()
  }
  const atTheEnd = inUse()
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
  console.log(`memory: ${count} logs, ${mb(atTheMiddle)} in use at the middle, ${mb(atTheEnd)} at the end, ${mb(peak)} resident at most`)
  expect(count).toBe(1_000_000)
  expect(atTheEnd).toBeLessThanOrEqual(atTheMiddle + 5e6)
})

it('more logs in a block than a call has room for arguments come after a reply that cannot be used', async () => {
  const COUNT = 130_001
  let bad = 0
  const chain = await startLogChain({
    head: 1,
    logs: (number) => (number === 1 ? COUNT : 0),
    answer: (method) => (method === 'eth_getLogs' && bad++ === 0 ? { result: [{ address: '0x12' }] } : undefined),
  })
  const client = createClient(chain.url)
  onTestFinished(() => client.close())
  let logs = 0
  for await (const _ of getLogs(client, { from: 1, to: 1, audit: 'none' })) logs++
  expect([logs, bad]).toEqual([COUNT, 2])
})
