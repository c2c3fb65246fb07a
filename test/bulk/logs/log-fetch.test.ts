import { describe, expect, it, onTestFinished } from 'vitest'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import { LogFetcher, type PartedSpan } from '../../../src/bulk/logs/log-fetch.ts'
import { checkFilter } from '../../../src/bulk/logs/log-filter.ts'
import type { LogSpan } from '../../../src/bulk/logs/log-span.ts'
import { RangeLimits } from '../../../src/bulk/logs/range-limits.ts'
import { RangeSize } from '../../../src/bulk/logs/range-size.ts'
import { createClient } from '../../../src/index.ts'
import { type GetLogsOptions, getLogs } from '../../../src/index-bulk.ts'
import { hexOf } from '../../support/chain-server.ts'
import { type LogChain, startLogChain, tokens } from '../../support/log-chain.ts'

const filter = { address: tokens as `0x${string}`[] }

/** Pages of the whole chain, requested one after the other, so that ranges have grown large. */
async function pagesOf(chain: LogChain, isEnough: (to: bigint) => boolean = () => false, options: Partial<GetLogsOptions> = {}) {
  const client = createClient(chain.url, { deadlineMs: 60_000 })
  onTestFinished(() => client.close())
  const pages: { readonly from: bigint; readonly to: bigint; readonly logs: number }[] = []
  let next = 0n
  for await (const { from, to, logs } of getLogs(client, {
    ...filter,
    from: 0n,
    to: 'latest',
    audit: 'none',
    maxBytes: 1,
    ...options,
  } as GetLogsOptions).pages()) {
    expect(from).toBe(next)
    for (const log of logs) expect(log.blockNumber >= from && log.blockNumber <= to).toBe(true)
    pages.push({ from, to, logs: logs.length })
    next = to + 1n
    if (isEnough(to)) break
  }
  return pages
}

/** Fetches spans, with one client. */
function fetcherOf({ url }: LogChain) {
  const client = createClient(url)
  onTestFinished(() => client.close())
  const limits = new RangeLimits()
  const fetcher = new LogFetcher(client, checkFilter(filter), decodedLogs(), new RangeSize(true, limits, 30_000), limits, async () => [])
  return (span: LogSpan) => fetcher.fetch(span, { signal: new AbortController().signal, urgent: false, avoid: [] })
}

describe('a range that has grown where there are no logs', () => {
  const DENSE = 900_000
  const HEAD = 960_000
  const MOST = 2000
  const start = () =>
    startLogChain({
      head: HEAD,
      logs: (block) => (block < DENSE ? 0 : 1),
      answer: (method, [given]) => {
        const { fromBlock, toBlock } = (given ?? {}) as { fromBlock?: string; toBlock?: string }
        const isTooMuch = method === 'eth_getLogs' && Number(toBlock) - Math.max(DENSE, Number(fromBlock)) >= MOST
        return isTooMuch ? { error: { code: -32005, message: `query returned more than ${MOST} results` } } : undefined
      },
    })

  it('comes in several pages where there are many', async () => {
    const pages = await pagesOf(await start())
    expect(pages.reduce((sum, { logs }) => sum + logs, 0)).toBe(HEAD - DENSE + 1)
    expect(pages.at(-1)?.to).toBe(BigInt(HEAD))
    expect(Math.max(...pages.map(({ logs }) => logs))).toBeLessThan(20 * MOST)
  })

  it('comes whole in groups of addresses, of which one needs more parts', async () => {
    const others = Array.from({ length: 1992 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`)
    const address = [...tokens.slice(0, 7), ...others, ...tokens.slice(7)] as `0x${string}`[]
    const chain: LogChain = await startLogChain({
      head: 12_000,
      logs: (block) => (block < 11_000 ? 0 : 1),
      answer: (method, [given]) => {
        if (method !== 'eth_getLogs') return undefined
        const asked = given as { fromBlock: string; toBlock: string }
        const logs = chain.logs(Math.max(11_000, Number(asked.fromBlock)), Number(asked.toBlock), asked)
        return logs.length > 60 ? { error: { code: -32005, message: 'query returned more than 60 results' } } : { result: logs }
      },
    })
    const pages = await pagesOf(chain, undefined, { address })
    expect(pages.reduce((sum, { logs }) => sum + logs, 0)).toBe(1001)
    expect(pages.at(-1)?.to).toBe(12_000n)
  })
})

describe('a refusal', () => {
  it('of a range that has grown large leads to a few requests at once, not to all of its parts', async () => {
    let asked = 0
    const chain = await startLogChain({
      head: 3_000_000,
      logs: () => 0,
      answer: (method, [given]) => {
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = given as { fromBlock: string; toBlock: string }
        const isRefused = asked++ >= 4 && Number(toBlock) - Number(fromBlock) >= 100
        return isRefused ? { error: { code: -32602, message: 'query exceeds max block range 100' } } : { result: [] }
      },
    })
    const pages = await pagesOf(chain, (to) => to > 850_000n)
    expect(pages.slice(0, 4).map(({ from, to }) => to - from + 1n)).toEqual([10_000n, 40_000n, 160_000n, 640_000n])
    expect(pages).toHaveLength(5)
    expect(asked).toBeLessThan(100)
  })

  it('that suggests a single block does not lead to one request for each block', async () => {
    const chain = await startLogChain({
      head: 9000,
      logs: (block) => (block % 100 === 0 ? 1 : 0),
      range: { most: 5000, says: (from) => ({ message: `this block range should work: [0x${from.toString(16)}, 0x${from.toString(16)}]` }) },
    })
    const pages = await pagesOf(chain)
    expect(pages.reduce((sum, { logs }) => sum + logs, 0)).toBe(91)
    expect(chain.calls.eth_getLogs).toBeLessThan(300)
  })
})

describe('a limit on blocks', () => {
  const HEAD = 20_000
  /** A node that names the limit `most` for ranges that are longer. */
  const start = (most: () => number, logs: (block: number) => number = () => 0) => {
    const counts = { answered: 0, refused: 0 }
    const chain = startLogChain({
      head: HEAD,
      logs,
      answer: (method, [given]) => {
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = given as { fromBlock: string; toBlock: string }
        const limit = most()
        const isRefused = Number(toBlock) - Number(fromBlock) >= limit
        counts[isRefused ? 'refused' : 'answered']++
        return isRefused ? { error: { code: -32000, message: `block range too large, max is ${limit}` } } : undefined
      },
    })
    return { chain, counts }
  }
  const isWhole = async (chain: LogChain) => expect((await pagesOf(chain, undefined, { maxBytes: 2 ** 25 })).at(-1)?.to).toBe(BigInt(HEAD))

  it('that the node named once, in error, is forgotten soon', async () => {
    const { chain, counts } = start(
      () => (counts.refused === 0 ? 1 : 10_000),
      () => 1,
    )
    await isWhole(await chain)
    // Some are under way while larger ones are tried.
    expect(counts.answered).toBeLessThan(3000)
    expect(counts.refused).toBeLessThan(4)
  })

  const ofFirstBlocks = (from: number, limit: number) => ({ fromBlock: hexOf(from), toBlock: hexOf(from + limit - 1) })
  const ofNoBlock = () => ({ fromBlock: hexOf(1e9), toBlock: hexOf(1e9) })

  it.each([
    { what: 'its first blocks', given: ofFirstBlocks, head: HEAD, limit: 10, whole: 0 },
    { what: 'no block', given: ofNoBlock, head: HEAD, limit: 10, whole: 0 },
    { what: 'its first blocks, while others are under way', given: ofFirstBlocks, head: 200_000, limit: 500, whole: 5 },
    { what: 'no block, while others are under way', given: ofNoBlock, head: 200_000, limit: 500, whole: 5 },
  ])('is not raised where a longer range is answered for $what: all logs come', async ({ given, head, limit, whole }) => {
    let longer = 0
    const chain: LogChain = await startLogChain({
      head,
      logs: (block) => Number(block % 3 === 0),
      answer: (method, [filter]) => {
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
        if (Number(toBlock) - Number(fromBlock) < limit || longer++ < whole) return undefined
        if (longer === whole + 1) return { error: { code: -32000, message: `block range too large, max is ${limit}` } }
        Object.assign(filter as object, given(Number(fromBlock), limit))
        return undefined
      },
    })
    expect((await pagesOf(chain, undefined, { maxBytes: 2 ** 25 })).reduce((sum, { logs }) => sum + logs, 0)).toBe(Math.floor(head / 3) + 1)
    expect(longer).toBeGreaterThan(whole + 1)
  })

  it('that is true leads to few refusals', async () => {
    const { chain, counts } = start(() => 10)
    await isWhole(await chain)
    expect(counts.answered).toBeLessThan(2100)
    // After 0 ranges at the limit, 256, 512 and 1024, and some that are under way.
    expect(counts.refused).toBeLessThanOrEqual(4)
  })
})

describe('a refusal for too many results', () => {
  it('leads to a quarter of the range, and to the rest at once as large as that has shown to be good', async () => {
    const chain: LogChain = await startLogChain({
      head: 9990,
      logs: () => 1,
      answer: (method, [given]) => {
        const { fromBlock, toBlock } = (given ?? {}) as { fromBlock: string; toBlock: string }
        const isTooMuch = method === 'eth_getLogs' && Number(toBlock) - Number(fromBlock) >= 5000
        return isTooMuch ? { error: { code: -32005, message: 'query returned more than 5000 results' } } : undefined
      },
    })
    expect((await pagesOf(chain, undefined, { maxBytes: 2 ** 25 })).reduce((sum, { logs }) => sum + logs, 0)).toBe(9991)
    // Those that were answered: nothing was requested twice.
    expect(chain.ranges[0]).toEqual([0, 2497])
    expect(chain.ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0)).toBe(9991)
    expect(chain.calls.eth_getLogs).toBeLessThanOrEqual(5)
  })
})

describe('the rest of a refused range', () => {
  it('is to be requested in parts that are good for its own logs, whatever is good elsewhere', async () => {
    const DATA = 40_000
    const chain: LogChain = await startLogChain({
      head: 1000,
      logs: () => 1,
      gives: (log) => [{ ...log, data: `0x${'0'.repeat(DATA)}` }],
      range: { most: 60, says: () => ({ code: -32005, message: 'query returned more than 60 results' }) },
    })
    const fetched = await fetcherOf(chain)({ from: 1, to: 200 })
    expect(fetched).toMatchObject({
      from: 1,
      to: 50,
      cut: [
        { from: 1, to: 50 },
        { from: 51, to: 200 },
      ],
    })
    const [, rest] = fetched.cut as [unknown, PartedSpan]
    expect(rest.most).toBe(Math.floor((2 * 1024 * 1024) / (fetched.received / 50)))
    expect(rest.most).toBeGreaterThan(40)
  })
})

describe('a reply that may have been cut', () => {
  const all = { address: tokens as `0x${string}`[], from: 0n, to: 'latest', audit: 'none' } as const
  const given = async (chain: LogChain, options: Partial<GetLogsOptions> = {}) => {
    const client = createClient(chain.url, { deadlineMs: 60_000 })
    onTestFinished(() => client.close())
    const found: string[] = []
    for await (const { blockNumber, logIndex } of getLogs(client, { ...all, ...options } as GetLogsOptions)) found.push(`${blockNumber} ${logIndex}`)
    return found
  }
  const right = (chain: LogChain, from: number, to: number) =>
    chain.logs(from, to).map(({ blockNumber, logIndex }) => `${Number(blockNumber)} ${Number(logIndex)}`)

  it.each([
    ['a log in each block', 1000, 8000, () => 1],
    ['20 logs in each block', 100, 2000, () => 20],
    ['a log in each third block', 1500, 12_000, (block: number) => (block % 3 === 0 ? 1 : 0)],
  ])('but is complete, with %s, is halved once, and its ranges are requested once from then on', async (_, most, head, logs) => {
    const says = () => ({ message: `query exceeds max block range ${most}` })
    const chain = await startLogChain({ head, logs, range: { most, says } })
    expect(await given(chain)).toEqual(right(chain, 0, head))
    const answered = chain.ranges.map(([from, to]) => to - from + 1).filter((blocks) => blocks <= most)
    expect(answered.reduce((sum, blocks) => sum + blocks, 0)).toBe(head + 1 + most)
  })

  it('is noticed also at a node that has given as many logs before, of blocks that had no more', async () => {
    const says = () => ({ message: 'query exceeds max block range 1000' })
    const chain = await startLogChain({ head: 6000, cap: 1000, logs: (block) => (block < 3000 ? 1 : 7), range: { most: 1000, says } })
    expect(await given(chain)).toEqual(right(chain, 0, 6000))
  })

  it('is kept where its halves hold less', async () => {
    let asked = 0
    const chain = await startLogChain({ head: 99, answer: (method) => (method === 'eth_getLogs' && asked++ > 0 ? { result: [] } : undefined) })
    expect(await given(chain)).toEqual(right(chain, 0, 99))
    expect(asked).toBe(3)
  })

  it('is kept where its first half is refused, and a part of that holds less: the pages follow one another', async () => {
    let asked = 0
    const chain: LogChain = await startLogChain({
      head: 99,
      answer: (method, [given]) => {
        if (method !== 'eth_getLogs' || asked++ === 0) return undefined
        const { fromBlock, toBlock } = given as { fromBlock: string; toBlock: string }
        const [from, to] = [Number(fromBlock), Number(toBlock)]
        if (from > 0) return undefined
        if (to >= 30) return { error: { code: -32005, message: 'query returned more than 150 results' } }
        return { result: chain.logs(from, to).slice(0, -1) }
      },
    })
    const pages = await pagesOf(chain)
    expect(pages.reduce((sum, { logs }) => sum + logs, 0)).toBe(500)
    expect(pages.length).toBeGreaterThan(1)
  })

  it('is kept where the receipts of its only block hold less', async () => {
    const chain = await startLogChain({ head: 2, logs: () => 500, receiptLogs: () => [] })
    expect(await given(chain, { from: 1n, to: 1n })).toEqual(right(chain, 1, 1))
  })

  it('of a single block without receipts is named', async () => {
    const answer = (method: string) => (/Receipt/.test(method) ? { error: { code: -32601, message: `the method ${method} does not exist` } } : undefined)
    const chain = await startLogChain({ head: 2, logs: () => 500, answer })
    await expect(given(chain, { from: 1n, to: 1n })).rejects.toThrow(
      /^block 1: the node gave 500 logs, which may be all that fit into a reply, and its receipts/,
    )
  })
})

describe('a log that cannot be decoded', () => {
  it('is requested from another endpoint', async () => {
    const liar = await startLogChain({ head: 20, gives: (log) => [{ ...log, logIndex: 'zz' }] })
    const honest = await startLogChain({ head: 20 })
    const client = createClient([liar.url, honest.url], { deadlineMs: 60_000 })
    onTestFinished(() => client.close())
    let logs = 0
    for await (const _ of getLogs(client, { ...filter, from: 0n, to: 20n, audit: 'none' })) logs++
    expect(logs).toBe(honest.logs(0, 20).length)
  })
})
