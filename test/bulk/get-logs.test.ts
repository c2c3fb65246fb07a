import { describe, expect, it, onTestFinished } from 'vitest'
import { type GetLogsOptions, getLogs } from '../../src/bulk/index.ts'
import { type ClientOptions, createClient, OptionError } from '../../src/index.ts'
import { type LogChain, startLogChain, TRANSFER, tokens, type WireLog } from '../support/log-chain.ts'

const filter = { address: tokens.slice(0, 4) as `0x${string}`[], topics: [TRANSFER] as `0x${string}`[] }

function clientFor(urls: string | readonly string[], options: ClientOptions = {}) {
  const client = createClient(urls as string, { deadlineMs: 60_000, ...options })
  onTestFinished(() => client.close())
  return client
}

/** What identifies a log, for comparison. */
const keyOf = (log: WireLog) => `${Number(log.blockNumber)}/${Number(log.logIndex)}/${log.data}`
const decodedKey = (log: { blockNumber: bigint; logIndex: number; data: string }) => `${log.blockNumber}/${log.logIndex}/${log.data}`

async function fetched(chain: LogChain | readonly LogChain[], options: Partial<GetLogsOptions> = {}) {
  const urls = [chain].flat().map(({ url }) => url)
  const logs = getLogs(clientFor(urls), { ...filter, from: 0n, to: 'latest', ...options })
  const keys: string[] = []
  for await (const log of logs) keys.push(decodedKey(log))
  return { keys, audit: logs.audit }
}

const rightKeys = (chain: LogChain, from: number, to: number) => chain.logs(from, to, filter).map(keyOf)

describe('logs of a range', () => {
  it('are those of the node, in order', async () => {
    const chain = await startLogChain({ head: 3000 })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 3000))
    expect(keys.length).toBeGreaterThan(4000)
  })

  it('come in pages that tile the range, also where there are none', async () => {
    const chain = await startLogChain({ head: 50_000, logs: (block) => (block % 20_000 === 7 ? 5 : 0) })
    const pages = []
    for await (const page of getLogs(clientFor(chain.url), { ...filter, from: 100n, to: 'latest', audit: 'none' }).pages()) pages.push(page)
    expect(pages[0]?.from).toBe(100n)
    expect(pages.at(-1)?.to).toBe(50_000n)
    for (const [i, page] of pages.entries()) if (i > 0) expect(page.from).toBe((pages[i - 1]?.to ?? 0n) + 1n)
    expect(pages.flatMap(({ logs }) => logs).map(decodedKey)).toEqual(rightKeys(chain, 100, 50_000))
  })

  it.each([
    ['a limit on blocks', 2000, () => ({ message: 'query exceeds max block range 2000' })],
    ['a limit that does not count the last block', 1000, () => ({ message: 'query exceeds max block range 1001' })],
    ['a suggestion', 500, (from: number) => ({ message: `this block range should work: [0x${from.toString(16)}, 0x${(from + 499).toString(16)}]` })],
    ['a suggestion that fails, too', 100, (from: number) => ({ message: `retry with the range ${from}-${from + 2999}` })],
    ['a refusal without a number', 300, () => ({ code: -32005, message: 'block range is too wide' })],
    ['a tiny limit', 10, () => ({ code: -32600, message: 'You can make eth_getLogs requests with up to a 10 block range.' })],
  ])('follow %s', async (_, most, says) => {
    const chain = await startLogChain({ head: 5000, range: { most, says } })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 5000))
    const refused = chain.ranges.filter(([from, to]) => to - from + 1 > most).length
    expect(refused).toBeLessThan(60)
  })

  it('are complete where a node leaves out what exceeds a number of results', async () => {
    const chain = await startLogChain({ head: 6000, cap: 1000 })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 6000))
  })

  it('of one block that exceed the number of results come from its receipts', async () => {
    const chain = await startLogChain({ head: 40, cap: 1000, logs: (block) => (block === 20 ? 5000 : 3) })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 40))
  })
})

describe('an audit', () => {
  const everyTenth = (log: WireLog) => Number(log.data.slice(0, 66)) % 10 === 0

  it('by blooms finds each block that was left out as a whole', async () => {
    const chain = await startLogChain({ head: 3000, drops: (log) => Number(log.blockNumber) % 100 === 0 })
    const { keys, audit } = await fetched(chain, { audit: 'bloom' })
    expect(keys).toEqual(rightKeys(chain, 0, 3000))
    expect(audit).toMatchObject({ level: 'bloom', blocks: 3001, unproven: 0 })
    expect(audit.recovered).toBeGreaterThan(20)
  })

  it('by receipts finds each log that was left out', async () => {
    const chain = await startLogChain({ head: 1000, drops: everyTenth })
    const { keys, audit } = await fetched(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain, 0, 1000))
    expect(audit).toMatchObject({ level: 'receipts', blocks: 1001, fetched: 1001, unproven: 0 })
    expect(audit.recovered).toBe(chain.logs(0, 1000, filter).filter(everyTenth).length)
  })

  it('by a second endpoint finds what one of them left out', async () => {
    const liar = await startLogChain({ head: 1000, drops: everyTenth })
    const other = await startLogChain({ head: 1000 })
    const { keys, audit } = await fetched([liar, other], { audit: 'peer' })
    expect(keys).toEqual(rightKeys(other, 0, 1000))
    expect(audit).toMatchObject({ level: 'peer', blocks: 1001, unproven: 0 })
  })

  it('is by blooms where the end is final', async () => {
    const chain = await startLogChain({ head: 100 })
    expect((await fetched(chain, { to: 'finalized' })).audit.level).toBe('bloom')
  })
})

describe('bad input', () => {
  const client = () => clientFor('http://127.0.0.1:1')
  it.each<[string, object, RegExp]>([
    ['an end before the start', { from: 5n, to: 4n }, /^to: expected at least the first block, 5/],
    ['a topic that is no hash', { from: 0n, to: 1n, topics: ['0x12'] }, /^topics\[0\]: expected a topic \(32 bytes in hex\)/],
    ['an address that is none', { from: 0n, to: 1n, address: [...Array(4999).fill(tokens[0]), '0x1'] }, /^address\[4999\]: expected an address/],
    ['no addresses', { from: 0n, to: 1n, address: [] }, /^address: expected at least one address/],
    ['an unknown audit', { from: 0n, to: 1n, audit: 'all' }, /^audit: expected/],
    ['a hash and a range', { from: 0n, to: 1n, blockHash: `0x${'1'.repeat(64)}` }, /^blockHash: expected no range beside it/],
  ])('is refused at once: %s', (_, options, message) => {
    expect(() => getLogs(client(), options as GetLogsOptions)).toThrow(OptionError)
    expect(() => getLogs(client(), options as GetLogsOptions)).toThrow(message)
  })
})
