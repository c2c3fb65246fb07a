import { describe, expect, it } from 'vitest'
import type { HexlineError } from '../../src/index.ts'
import { getLogs } from '../../src/index-bulk.ts'
import { blockHash, blockOf, hexOf } from '../support/chain-server.ts'
import { randomFrom } from '../support/random.ts'
import { type Answer, cut, type Entry, each, errorOf, failed } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

/* In virtual time: how long a node takes for a range decides how long the next one is. */
const { clock, serve, clientOf, sleep } = virtualWorld()

const HEAD = 1_000_000
const address = `0x${'a'.repeat(40)}` as const

interface Range {
  readonly from: number
  readonly to: number
}

/** A log in every thousandth block. */
function logsOf({ from, to }: Range): object[] {
  const blocks: number[] = []
  for (let block = Math.ceil(from / 1000) * 1000; block <= to; block += 1000) blocks.push(block)
  return blocks.map((block) => ({
    address,
    topics: [],
    data: '0x',
    blockNumber: hexOf(block),
    blockHash: blockHash(block),
    transactionHash: blockHash(block),
    transactionIndex: '0x0',
    logIndex: '0x0',
    removed: false,
  }))
}

function rangeOf({ method, params }: Entry): Range | undefined {
  if (method !== 'eth_getLogs') return undefined
  const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
  return { from: Number(fromBlock), to: Number(toBlock) }
}

function resultOf(entry: Entry): object {
  const { id, method, params } = entry
  const range = rangeOf(entry)
  if (range !== undefined) return { id, result: logsOf(range) }
  return { id, result: method === 'eth_blockNumber' ? hexOf(HEAD) : blockOf(Number(params[0]), false) }
}

/** A node that takes this long for its ranges, and fails what `fails` gives an answer for. */
async function startNode(msOf: (blocks: number, range: Range) => number, fails: (range: Range) => Answer | undefined = () => undefined) {
  const ranges: Range[] = []
  const { url } = await serve(async (request, response) => {
    let ms = 0
    let failure: Answer | undefined
    for (const range of request.entries.flatMap((entry) => rangeOf(entry) ?? [])) {
      ranges.push(range)
      ms += msOf(range.to - range.from + 1, range)
      failure ??= fails(range)
    }
    await sleep(ms)
    return (failure ?? each(resultOf))(request, response)
  })
  return { url, ranges }
}

async function blocksOf(url: string | readonly [string, string], options = {}, to = HEAD): Promise<number[]> {
  const blocks: number[] = []
  for await (const log of getLogs(clientOf(url, { batch: { maxCalls: 1 }, ...options }), { address, from: 0n, to: BigInt(to), audit: 'none' }))
    blocks.push(Number(log.blockNumber))
  return blocks
}

const right = Array.from({ length: HEAD / 1000 + 1 }, (_, i) => i * 1000)
const sizes = (ranges: readonly Range[]) => ranges.map(({ from, to }) => to - from + 1)

describe('ranges of logs', () => {
  it('shrink where the node takes long, to a tenth of the timeout', async () => {
    const { url, ranges } = await startNode((blocks) => blocks)
    expect(await blocksOf(url, { timeoutMs: 20_000 })).toEqual(right)
    expect(sizes(ranges)[0]).toBe(10_000)
    const later = sizes(ranges).slice(ranges.length / 2)
    expect(Math.max(...later)).toBeLessThanOrEqual(2500)
    expect(Math.min(...later.slice(0, -1))).toBeGreaterThanOrEqual(1000)
  })

  it('grow where it is quick', async () => {
    const { url, ranges } = await startNode(() => 20)
    expect(await blocksOf(url, { timeoutMs: 20_000 })).toEqual(right)
    expect(Math.max(...sizes(ranges))).toBe(40_000)
  })

  it('do not shrink where the node takes as long for any range', async () => {
    const { url, ranges } = await startNode(() => 5000)
    expect(await blocksOf(url, { timeoutMs: 20_000 })).toEqual(right)
    expect(Math.max(...sizes(ranges))).toBeGreaterThan(10_000)
  })
})

describe('a range', () => {
  it('that fails for a reason that is not its size is asked for again until it is answered', async () => {
    let failures = 0
    const { url, ranges } = await startNode(
      () => 20,
      () => (failures++ < 3 ? each((entry) => failed(entry, -32000, 'header not found')) : undefined),
    )
    expect(await blocksOf(url)).toEqual(right)
    // It was not split.
    expect(ranges.slice(0, 4)).toEqual(Array(4).fill({ from: 0, to: 9999 }))
  })

  it('that is answered as a whole after a part of it is not split', async () => {
    let failures = 0
    const { url, ranges } = await startNode(
      () => 20,
      () => (failures++ < 3 ? cut : undefined),
    )
    expect(await blocksOf(url)).toEqual(right)
    const blocks = sizes(ranges)
    // The first block is asked for twice, and the first half then.
    expect(blocks.slice(0, 6)).toEqual([10_000, 10_000, 1, 1, 5000, 10_000])
    expect(blocks[6]).toBeGreaterThan(10_000)
  })

  const gateway: Answer = (_, response) => void response.writeHead(504, { 'content-type': 'text/html' }).end('<title>504 Gateway Time-out</title>')
  const failures: [string, Answer][] = [
    ['a gateway times out', gateway],
    ['the connection breaks', cut],
    ['the node says so', each((entry) => failed(entry, -32000, 'query timeout exceeded'))],
    ['the node fails', each((entry) => failed(entry, -32603, 'internal error'))],
    ['a proxy calls the request too large', (_, response) => void response.writeHead(413, { 'content-type': 'text/html' }).end('<title>413</title>')],
    ['the words are not known', each((entry) => failed(entry, -32000, 'das ist zu viel'))],
  ]
  it.each(failures)('of more than 100 blocks is too much, and %s: it is split until it is answered', async (_, answer) => {
    const { url, ranges } = await startNode(
      () => 20,
      ({ from, to }) => (to - from >= 100 ? answer : undefined),
    )
    expect(await blocksOf(url, {}, 49_999)).toEqual(right.filter((block) => block < 50_000))
    // 500 of 100 blocks, and those that fail.
    expect(ranges.length).toBeLessThan(1500)
  })

  it.each(failures)('of more than 100 blocks is too much in a batch, too, where %s', async (_, answer) => {
    const { url, ranges } = await startNode(
      () => 20,
      ({ from, to }) => (to - from >= 100 ? answer : undefined),
    )
    expect(await blocksOf(url, { batch: {} }, 49_999)).toEqual(right.filter((block) => block < 50_000))
    expect(ranges.length).toBeLessThan(2500)
  })

  it('of more than 100 blocks is never answered: it is split until it is', async () => {
    const { url } = await startNode((blocks) => (blocks > 100 ? 1e9 : 20))
    expect(await blocksOf(url, { timeoutMs: 5000 }, 19_999)).toEqual(right.filter((block) => block < 20_000))
  })

  it.each(failures.slice(0, 4))('of more than 100 blocks is too much, and %s, after an outage of half a minute: it is split', async (_, answer) => {
    const began = clock.now()
    const { url } = await startNode(
      () => 20,
      ({ from, to }) => (clock.now() - began < 30_000 ? gateway : to - from >= 100 ? answer : undefined),
    )
    expect(await blocksOf(url, { deadlineMs: 60_000, retry: {} }, 19_999)).toEqual(right.filter((block) => block < 20_000))
    expect(clock.now() - began).toBeLessThan(60_000)
  })

  it.each([3, 10])('of more than %i blocks is never answered: others are sent though it holds the slots', async (most) => {
    const { url } = await startNode((blocks) => (blocks > most ? 1e9 : 50))
    expect(await blocksOf(url, { retry: {} }, most * 1000)).toEqual(right.filter((block) => block <= most * 1000))
  })

  it('of more than three blocks is never answered, and another endpoint is dead: all are answered by the first one', async () => {
    const began = clock.now()
    const { url } = await startNode((blocks) => (blocks > 3 ? 1e9 : 50))
    const dead = await startNode(
      () => 50,
      () => (clock.now() - began > 300 ? cut : undefined),
    )
    expect(await blocksOf([url, dead.url], { batch: {}, retry: {} }, 1500)).toEqual([0, 1000])
  })

  it('of more than 100 blocks is too much, and then no range is answered any more: the job fails when a block is not either', async () => {
    const began = clock.now()
    const { url } = await startNode(
      (blocks) => (clock.now() - began > 1500 ? 1e9 : blocks > 100 ? 20 : 100),
      ({ from, to }) => (to - from >= 100 ? cut : undefined),
    )
    const error = await errorOf<HexlineError>(blocksOf(url, { batch: {}, retry: {} }))
    expect(error.message).toMatch(/no reply within 30000 ms/)
    // The deadline of the block is two minutes. The others do not wait for another one after it.
    expect(clock.now() - began).toBeLessThan(300_000)
  })

  it('of more than three blocks is too much at first, without a word: ranges grow once it is not', async () => {
    const { url, ranges } = await startNode(
      () => 20,
      ({ from, to }) => (from < 1000 && to - from >= 3 ? gateway : undefined),
    )
    expect(await blocksOf(url, { batch: {}, retry: {} })).toEqual(right)
    expect(ranges.length).toBeLessThan(6000)
  })

  it('of a batch that fails as a whole, for two ranges in five, is hardly ever split', async () => {
    const random = randomFrom(5)
    const { url, ranges } = await startNode(
      () => 20,
      () => (random() < 0.4 ? (_, response) => void response.writeHead(502).end('<html>') : undefined),
    )
    expect(await blocksOf(url, { batch: {} })).toEqual(right)
    // A hundred of 10,000 blocks, if they did not grow.
    expect(ranges.length).toBeLessThan(200)
  })

  it('to which a gateway answers that it timed out, for one in twenty, is hardly ever split', async () => {
    const random = randomFrom(1)
    const { url, ranges } = await startNode(
      () => 20,
      ({ from, to }) =>
        random() < 0.05 ? gateway : to - from >= 2000 ? each((entry) => failed(entry, -32000, 'query exceeds max block range 2000')) : undefined,
    )
    expect(await blocksOf(url, { batch: {}, retry: {} })).toEqual(right)
    // Five hundred of 2000 blocks, and those that fail.
    expect(ranges.length).toBeLessThan(1000)
  })

  it.each<[string, Answer]>([
    ['breaks connections', cut],
    ['fails', each((entry) => failed(entry, -32603, 'internal error'))],
  ])('of whatever size is not answered for some seconds by a node that %s: later ranges are as long as before', async (_, answer) => {
    const began = clock.now()
    let later = 0
    const { url } = await startNode(
      () => 20,
      () => {
        if (clock.now() - began < 5000) return answer
        later++
        return undefined
      },
    )
    expect(await blocksOf(url)).toEqual(right)
    // A hundred of 10,000 blocks, if they did not grow.
    expect(later).toBeLessThan(100)
  })

  it('that is throttled until its deadline is not repeated until another one', async () => {
    const { url } = await startNode(
      () => 20,
      () => (request, response) =>
        each((entry) => (rangeOf(entry) === undefined ? resultOf(entry) : failed(entry, -32005, 'max 2000 blocks please')))(request, response),
    )
    const started = clock.now()
    expect(await errorOf<HexlineError>(blocksOf(url, { deadlineMs: 60_000 }))).toMatchObject({ kind: 'rate-limit' })
    expect(clock.now() - started).toBeLessThan(61_000)
  })

  it('that fails in whatever size fails the job at its deadline', async () => {
    const { url } = await startNode(
      () => 20,
      () => (request, response) =>
        each((entry) => (rangeOf(entry) === undefined ? resultOf(entry) : failed(entry, -32603, 'internal error')))(request, response),
    )
    const started = clock.now()
    expect(await errorOf<HexlineError>(blocksOf(url, { deadlineMs: 60_000 }))).toMatchObject({ kind: 'server' })
    expect(clock.now() - started).toBeLessThan(90_000)
  })

  it.each(failures.slice(0, 4))(
    'that fails for good in the middle of a job, where %s, fails it at the deadline, while few others are asked for',
    async (_, answer) => {
      let answered = 0
      const { url, ranges } = await startNode(
        () => 20,
        () => {
          if (answered === 10) return answer
          answered++
          return undefined
        },
      )
      const started = clock.now()
      expect(await errorOf<HexlineError>(blocksOf(url, { deadlineMs: 60_000, batch: {}, retry: {} }))).toMatchObject({ method: 'eth_getLogs' })
      expect(clock.now() - started).toBeGreaterThan(45_000)
      expect(clock.now() - started).toBeLessThan(120_000)
      expect(ranges.length).toBeLessThan(300)
    },
  )
})

describe('a range that a slow node cannot answer, while others are answered', () => {
  const holds = ({ from, to }: Range) => from <= 500_000 && to >= 500_000

  it('is halved where it takes too long, though most of its deadline has passed in line', async () => {
    const { url } = await startNode((blocks, range) => (holds(range) && blocks > 3000 ? 1e9 : 200))
    expect(await blocksOf(url, { rate: { callsPerSecond: 1 }, deadlineMs: 60_000 })).toEqual(right)
  })

  it('is reported as throttled where it always is', async () => {
    const { url } = await startNode(
      () => 200,
      (range) => (holds(range) ? (_, response) => void response.writeHead(429).end('slow down') : undefined),
    )
    const started = clock.now()
    expect(await errorOf<HexlineError>(blocksOf(url, { deadlineMs: 60_000 }))).toMatchObject({ kind: 'rate-limit', status: 429 })
    expect(clock.now() - started).toBeLessThan(180_000)
  })
})

describe('a slow node that fails every fifth POST', () => {
  const tooLong: Answer = each(({ id }) => failed({ id }, -32000, 'query exceeds max block range 2000'))
  const bad: Answer = (_, response) => void response.writeHead(502).end('<html>')

  it('yields the whole range, where most of the deadline passes in line', async () => {
    let posts = 0
    const { url } = await startNode(
      () => 20,
      ({ from, to }) => (++posts % 5 === 0 ? bad : to - from >= 2000 ? tooLong : undefined),
    )
    expect(await blocksOf(url, { rate: { callsPerSecond: 10 }, deadlineMs: 4000 })).toEqual(right)
  })

  it('yields it, too, where it throttles', async () => {
    let posts = 0
    let at = Number.NEGATIVE_INFINITY
    const { url } = await startNode(
      () => 20,
      ({ from, to }) => {
        if (++posts % 5 === 0) return bad
        if (clock.now() - at < 100) return (_, response) => void response.writeHead(429).end('slow down')
        at = clock.now()
        return to - from >= 2000 ? tooLong : undefined
      },
    )
    expect(await blocksOf(url, { deadlineMs: 4000 })).toEqual(right)
  })
})

describe('a node that becomes two hundred times slower', () => {
  it('is heard to the end, though deadlines pass while calls wait for their turn', async () => {
    const tooLong: Answer = each(({ id }) => failed({ id }, -32000, 'query exceeds max block range 2000'))
    const node = await startNode(
      (_, { from }) => (from < 500_000 ? 20 : 4000),
      ({ from, to }) => (to - from < 2000 ? undefined : tooLong),
    )
    let next = 0n
    for await (const { from, to } of getLogs(clientOf(node.url, { timeoutMs: 30_000, deadlineMs: 120_000 }), {
      address,
      from: 0n,
      to: 900_000n,
      audit: 'none',
    }).pages()) {
      expect(from).toBe(next)
      next = to + 1n
    }
    expect(next).toBe(900_001n)
  })
})
