import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, type Layer } from '../../../src/index.ts'
import { getLogs } from '../../../src/index-bulk.ts'
import { steadyTime } from '../../support/held-time.ts'
import { type LogChain, type LogChainOptions, startLogChain, tokens, type WireLog } from '../../support/log-chain.ts'

const HEAD = 4000
/** Blocks in a range: its 2,495 logs are not taken for a reply that was cut. */
const MOST = 499
const says = () => ({ message: `query exceeds max block range ${MOST}` })

const start = (options: Partial<LogChainOptions> = {}) => startLogChain({ head: HEAD, range: { most: MOST, says }, ...options })

/** All logs in pages. */
async function pagesFrom(
  chains: readonly LogChain[],
  { audit = 'none', maxCalls = 1 }: { readonly audit?: 'none' | 'bloom'; readonly maxCalls?: number } = {},
) {
  const client = createClient(
    chains.map(({ url }) => url),
    { deadlineMs: 60_000, batch: { maxCalls } },
  )
  onTestFinished(() => client.close())
  const pages: { readonly from: number; readonly to: number; readonly keys: readonly string[] }[] = []
  for await (const { from, to, logs } of getLogs(client, { address: tokens as `0x${string}`[], from: 0, to: HEAD, audit }).pages())
    pages.push({ from: Number(from), to: Number(to), keys: logs.map((log) => `${log.blockNumber}/${log.logIndex}/${log.data}`) })
  for (const [i, { from }] of pages.entries()) expect(from).toBe(i === 0 ? 0 : (pages[i - 1]?.to ?? 0) + 1)
  expect(pages.at(-1)?.to).toBe(HEAD)
  expect(pages.flatMap(({ keys }) => keys)).toEqual(chains[0]?.logs(0, HEAD).map((log) => `${Number(log.blockNumber)}/${Number(log.logIndex)}/${log.data}`))
  return pages
}

/** Changes the replies to ranges that are wide, from the one on that begins at or after `at`. */
function changing(
  change: (logs: WireLog[], from: number, to: number) => unknown[] | undefined,
  at = 1500,
): Pick<LogChainOptions, 'answer'> & { chain: LogChain | undefined } {
  const options = {
    chain: undefined as LogChain | undefined,
    answer(method: string, [given]: readonly unknown[]) {
      if (method !== 'eth_getLogs' || options.chain === undefined) return undefined
      const [from, to] = [Number((given as { fromBlock: string }).fromBlock), Number((given as { toBlock: string }).toBlock)]
      if (from < at || to - from >= MOST) return undefined
      const result = change(options.chain.logs(from, to), from, to)
      if (result !== undefined) options.chain.ranges.push([from, to])
      return result && { result }
    },
  }
  return options
}

describe('a large reply', () => {
  it('comes in several pages', async () => {
    const pages = await pagesFrom([await start()])
    expect(Math.max(...pages.map(({ keys }) => keys.length))).toBeLessThanOrEqual(505)
    expect(pages.length).toBeGreaterThan(30)
  })

  it('comes in several pages where it shares a POST with others', async () => {
    const chain = await start()
    const pages = await pagesFrom([chain], { maxCalls: 10 })
    expect(Math.max(...chain.posts)).toBeGreaterThan(1)
    expect(Math.max(...pages.map(({ keys }) => keys.length))).toBeLessThanOrEqual(505)
  })

  it('is requested again from where it turns out to be wrong', async () => {
    steadyTime()
    let wrong: { readonly from: number; readonly to: number } | undefined
    const faults = changing((logs, from, to) => {
      if (wrong !== undefined || logs.length < 2000) return undefined
      wrong = { from, to }
      return logs.map((log, i) => (i === 1950 ? { ...log, logIndex: 'zz' } : log))
    })
    const chain = await start(faults)
    faults.chain = chain
    await pagesFrom([chain])
    const { from, to } = wrong ?? { from: 0, to: 0 }
    const again = chain.ranges.filter((range) => range[0] > from && range[1] === to).map((range) => range[0] - from)
    expect(again).toHaveLength(1)
    // Three pieces of a hundred blocks, or a few more, were good.
    expect(again[0]).toBeGreaterThanOrEqual(300)
    expect(again[0]).toBeLessThan(330)
  })

  it.each([
    ['once it has come', false, 2],
    ['again once it has come in full', true, 3],
  ])('of the last blocks: the last one is asked for %s', async (_, isWrong, times) => {
    const asked: string[] = []
    let wrong = 0
    const faults = changing((logs, __, to) =>
      isWrong && to === HEAD && wrong++ === 0 ? logs.map((log, i) => (i === 10 ? { ...log, logIndex: 'zz' } : log)) : undefined,
    )
    const chain = await start({
      answer(method, params, ...more) {
        if (method === 'eth_getLogs' || params[0] === `0x${HEAD.toString(16)}`) asked.push(method)
        return faults.answer?.(method, params, ...more)
      },
    })
    faults.chain = chain
    await pagesFrom([chain])
    expect(wrong > 0).toBe(isWrong)
    expect(asked.at(-1)).toBe('eth_getBlockByNumber')
    expect(asked.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(times)
  })

  it('of the last blocks: the last one is asked for after all that an audit asks for', async () => {
    const asked: string[] = []
    const chain = await start({
      drops: (log) => log.blockNumber === `0x${HEAD.toString(16)}`,
      answer(method, params) {
        asked.push(`${method} ${params[0]}`)
        return undefined
      },
    })
    await pagesFrom([chain], { audit: 'bloom' })
    expect(asked.some((call) => call.startsWith('eth_getBlockReceipts'))).toBe(true)
    expect(asked.at(-1)).toBe(`eth_getBlockByNumber 0x${HEAD.toString(16)}`)
  })

  it('is requested from another endpoint where one goes on giving wrong logs', async () => {
    // Which endpoint is asked for the large replies is up to their speed.
    let isAsked = false
    for (let round = 0; round < 100 && !isAsked; round++) {
      const faults = changing((logs) => logs.map((log, i) => (i === 600 ? { ...log, removed: true } : log)))
      const liar = await start(faults)
      faults.chain = liar
      await pagesFrom([liar, await start()])
      isAsked = liar.ranges.some(([from]) => from >= 1500)
    }
    expect(isAsked).toBe(true)
  })

  it('fails the job with what is wrong after seven replies', async () => {
    const faults = changing((logs) => logs.map((log, i) => (i === 600 ? { ...log, data: null } : log)))
    const chain = await start(faults)
    faults.chain = chain
    await expect(pagesFrom([chain])).rejects.toThrow(/has no data$/)
    // The rest of the range is requested six times more.
    const ends = chain.ranges.filter(([from, to]) => from >= 1500 && to - from < MOST).map(([, to]) => to)
    expect(ends.filter((to) => to === Math.min(...ends))).toHaveLength(7)
  })

  it('comes in order and whole where the node sorts its logs otherwise', async () => {
    const faults = changing((logs) => logs.reverse(), 0)
    const chain = await start(faults)
    faults.chain = chain
    await pagesFrom([chain])
  })

  it('comes whole where its logs cannot be counted without decoding them', async () => {
    // One in three logs is counted twice, so that a reply of 1,000 does not seem to be cut.
    const gives = (log: WireLog) => [
      BigInt(log.data) % 3n === 0n && Number(log.blockNumber) >= 1000 ? { ...log, details: { blockNumber: log.blockNumber } } : log,
    ]
    await pagesFrom([await start({ gives })])
    await pagesFrom([await start({ gives, cap: 1000, logs: (block) => (block < 1000 ? 1 : 4) })])
  })

  it.each<[which: string, at: number, what: string, last: (to: number) => number, first?: (to: number) => number]>([
    ['first', 0, 'the next blocks, too', (to) => to + MOST],
    ['first', 0, 'the next blocks alone', (to) => to + MOST, (to) => to + 1],
    ['later', 1500, 'the next blocks, too', (to) => to + MOST],
    ['last', 3500, 'blocks beyond the job', () => HEAD + 1000],
  ])('to the %s range (from block %i) that has %s, is requested again', async (_, at, __, last, first) => {
    for (const maxCalls of [1, 10]) {
      let isDone = false
      const faults = changing((___, from, to) => {
        if (isDone || chain === undefined) return undefined
        isDone = true
        // One is left out, so that the number of logs is not a round one.
        return chain.logs(first?.(to) ?? from, last(to)).slice(1)
      }, at)
      const chain: LogChain = await start({ ...faults, head: HEAD + 1000 })
      faults.chain = chain
      await pagesFrom([chain], { maxCalls })
      expect(isDone).toBe(true)
    }
  })

  it('of blocks beyond the range from a node that always gives them fails the job', async () => {
    const faults = changing((_, from) => chain.logs(from, HEAD + 1000), 0)
    const chain: LogChain = await start({ ...faults, head: HEAD + 1000 })
    faults.chain = chain
    await expect(pagesFrom([chain])).rejects.toThrow(/^requested logs of blocks 0 to \d+, but received one of block/)
  })

  it('that has a log twice is used, whichever number of endpoints gives it', async () => {
    const gives = (log: WireLog) => (Number(log.blockNumber) % 50 === 7 && log.logIndex === '0x0' ? [log, log] : [log])
    for (const count of [1, 5]) {
      const chains = await Promise.all(Array.from({ length: count }, () => start({ gives })))
      await pagesFrom(chains)
    }
  })

  it('is decoded as a whole where a layer may keep it', async () => {
    const chain = await start()
    const keeping: Layer = (next) => async (call) => {
      const reply = await next(call)
      const value = reply.take()
      return { bytes: reply.bytes, take: () => value }
    }
    const client = createClient(chain.url, { batch: { maxCalls: 1 }, layers: (defaults) => [keeping, ...defaults] })
    onTestFinished(() => client.close())
    const sizes: number[] = []
    for await (const { logs } of getLogs(client, { address: tokens as `0x${string}`[], from: 0, to: HEAD, audit: 'none' }).pages()) sizes.push(logs.length)
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(1000)
  })

  it('stays as it came for a layer that keeps it', async () => {
    const chain = await start()
    const kept = new Map<string, { readonly bytes: Uint8Array; readonly copy: string }>()
    const keeping: Layer = (next) => async (call) => {
      const reply = await next(call)
      if (call.as !== 'bytes') return reply
      const bytes = reply.take() as Uint8Array
      kept.set(JSON.stringify(call.params), { bytes, copy: Buffer.from(bytes).toString() })
      return { bytes: bytes.length, take: () => bytes }
    }
    const client = createClient(chain.url, { batch: { maxCalls: 1 }, layers: (defaults) => [keeping, ...defaults] })
    onTestFinished(() => client.close())
    let logs = 0
    for await (const _ of getLogs(client, { address: tokens as `0x${string}`[], from: 0, to: HEAD, audit: 'none' })) logs++
    expect(logs).toBe(5 * (HEAD + 1))
    expect(kept.size).toBeGreaterThan(5)
    for (const { bytes, copy } of kept.values()) expect(Buffer.from(bytes).toString()).toBe(copy)
  })
})
