import { setMaxListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ordered } from '../../../src/bulk/ordered/ordered.ts'
import type { Bounds } from '../../../src/bulk/ordered/read-ahead.ts'
import { eventually } from '../../support/eventually.ts'
import { runs } from '../../support/runs.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

interface Item {
  readonly number: bigint
  readonly bytes: number
  readonly again: boolean
}

type Span = readonly [from: number, to: number]

/** An answer to a span, or to a part of it. */
interface Part {
  readonly bytes: number
  readonly span: Span
  readonly cut?: readonly [answered: Span, rest: Span]
}

interface Asked {
  readonly number: bigint
  readonly signal: AbortSignal
  readonly again: boolean
  answer(): void
  fail(reason: unknown): void
}

const bounds = { maxBytes: 1e9, maxItems: 1000, assumedBytes: 1, maxWaitMs: 15_000 }
/** Of large items, only a few may be in flight. */
const few = { ...bounds, maxBytes: 1000, maxInFlight: 4, maxSmallInFlight: 20 }

/** The items 0 to `last`. Those in `hold` arrive when the test answers, all others at once. */
function start(last: bigint, hold: (number: bigint, again: boolean) => boolean, more: Partial<Bounds> = {}) {
  const asked: Asked[] = []
  const stop = new AbortController()
  const ask = (number: bigint, signal: AbortSignal, again: boolean) =>
    new Promise<Item>((resolve, reject) => {
      const answer = () => resolve({ number, bytes: 1, again })
      setMaxListeners(0, signal)
      asked.push({ number, signal, again, answer, fail: reject })
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
      if (!hold(number, again)) answer()
    })
  const clock = new VirtualClock()
  const items = ordered(numbersTo(last), ask, { bounds: { ...bounds, ...more }, stop: stop.signal, clock })
  const findAsked = (number: bigint, again = false) => asked.find((each) => each.number === number && each.again === again) as Asked
  return { items, asked, stop, findAsked, clock }
}

function* numbersTo(last: bigint): Generator<bigint> {
  for (let number = 0n; number <= last; number++) yield number
}

async function all(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}

describe('an item that delays the consumer while others arrive', () => {
  it('is requested again, and the first answer counts', async () => {
    const { items, asked } = start(99n, (number, again) => number === 70n && !again)
    const came = await all(items)
    expect(came.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, i) => BigInt(i)))
    expect(came.filter(({ again }) => again).map(({ number }) => number)).toEqual([70n])
    expect(asked.filter(({ again }) => again)).toHaveLength(1)
  })

  it('is requested again once it is late, after a given time at least', async () => {
    const requestedAt = async (more: Partial<Bounds>) => {
      const times: number[] = []
      const { items, clock } = start(99n, (number, again) => (again ? times.push(clock.now()) < 0 : number === 70n), more)
      const begin = clock.now()
      await all(items)
      return times.map((time) => time - begin)
    }
    expect(await requestedAt({})).toEqual([1000])
    expect(await requestedAt({ leastLateMs: 4000 })).toEqual([4000])
  })

  it('is taken from the first request if that is sooner, and the second one ends', async () => {
    const { items, findAsked, asked } = start(99n, (number) => number === 70n)
    const ended = all(items)
    await eventually(() => expect(asked.some(({ again }) => again)).toBe(true))
    findAsked(70n).answer()
    expect((await ended)[70]?.again).toBe(false)
    expect(findAsked(70n, true).signal.aborted).toBe(true)
  })

  it('aborts the request that lost, so that its POST can be cut', async () => {
    const { items, findAsked } = start(99n, (number, again) => number === 70n && !again)
    await all(items)
    expect(findAsked(70n).signal.aborted).toBe(true)
    // All others with its signal had arrived.
    expect(findAsked(10n).signal).not.toBe(findAsked(70n).signal)
    expect(findAsked(10n).signal.aborted).toBe(false)
  })

  it('aborts nothing that is requested after it', async () => {
    const { items, asked } = start(4n, (number, again) => number === 0n && !again, { maxItems: 2 })
    expect((await all(items)).map(({ number }) => number)).toEqual([0n, 1n, 2n, 3n, 4n])
    expect(asked.filter(({ number, signal }) => number > 1n && signal.aborted)).toEqual([])
  })

  it('is requested again together with other late items, a few at a time', async () => {
    const { items, asked } = start(299n, (number, again) => number >= 100n && number < 180n && !again)
    await all(items)
    const again = asked.filter((each) => each.again).map(({ number }) => number)
    expect(again).toEqual(Array.from({ length: 80 }, (_, i) => BigInt(100 + i)))
  })

  it('fails if its first request does, not if a later one does', async () => {
    const { items, findAsked, asked } = start(99n, (number) => number === 70n)
    const ended = all(items)
    ended.catch(() => {})
    await eventually(() => expect(asked.some(({ again }) => again)).toBe(true))
    findAsked(70n, true).fail(new Error('second'))
    await turn()
    findAsked(70n).fail(new Error('first'))
    await expect(ended).rejects.toThrow('first')
  })
})

describe('the number requested ahead', () => {
  it('does not shrink while the consumer waits for one item', async () => {
    const { items, asked, findAsked, clock } = start(2000n, (number) => number === 0n || number >= 300n)
    const first = items.next()
    await eventually(() => expect(asked.length).toBeGreaterThan(256))
    // Nothing arrives for several windows.
    const before = asked.length
    await clock.sleep(800)
    findAsked(0n).answer()
    await first
    for (let number = 1; number < 300; number++) await items.next()
    void items.next().catch(() => {})
    await eventually(() => expect(asked.length).toBeGreaterThan(before + 250))
    void items.return()
  })
})

describe('answers that turn out to be large', () => {
  it('are dropped where they take more memory than a few would, the last ones first, and requested again, once', async () => {
    const asked: bigint[] = []
    const answers: ((bytes: number) => void)[] = []
    const ask = (number: bigint) =>
      new Promise<Item>((resolve) => {
        const answer = (bytes: number) => resolve({ number, bytes, again: false })
        asked.push(number)
        // Small ones show that there may be many of them.
        if (number < 40n) answer(1)
        else if (asked.length > 60) answer(1000)
        else answers.push(answer)
      })
    const came = all(ordered(numbersTo(79n), ask, { bounds: few, stop: new AbortController().signal, clock: new VirtualClock() }))
    await eventually(() => expect(asked).toHaveLength(60))
    // Five may stay: one in the thousand bytes, and four that may be in flight.
    for (const answer of answers.slice(1)) answer(1000)
    await turn()
    expect(asked).toHaveLength(60)
    answers[0]?.(1000)
    expect((await came).map(({ number }) => Number(number))).toEqual(Array.from({ length: 80 }, (_, i) => i))
    expect(asked.slice(60, 75)).toEqual(Array.from({ length: 15 }, (_, i) => BigInt(45 + i)))
    expect(asked).toHaveLength(80 + 15)
  })

  it('never are where the consumer waits for one, however large it is', async () => {
    const ask = async (number: bigint) => ({ number, bytes: 1e6, again: false })
    const came = await all(ordered(numbersTo(5n), ask, { bounds: { ...few, maxBytes: 1 }, stop: new AbortController().signal, clock: new VirtualClock() }))
    expect(came).toHaveLength(6)
  })

  it.each([0, 1000])('never are where no limit on their number was given, with up to %i bytes each', async (most) => {
    const asked: bigint[] = []
    const ask = async (number: bigint) => {
      asked.push(number)
      return { number, bytes: Math.min(most, Number(number) ** 2), again: false }
    }
    await all(ordered(numbersTo(500n), ask, { bounds: { ...bounds, maxBytes: 10 }, stop: new AbortController().signal, clock: new VirtualClock() }))
    expect(asked).toHaveLength(501)
  })
})

describe('an item whose answer was dropped', () => {
  it('is requested once more where its second request is late', async () => {
    const asked: bigint[] = []
    const large: (() => void)[] = []
    let isLost = false
    const ask = (number: bigint, _: AbortSignal, again: boolean) =>
      new Promise<Item>((resolve) => {
        const isSecond = asked.includes(number)
        asked.push(number)
        if (number >= 40n && number < 60n && !isSecond) large.push(() => resolve({ number, bytes: 1000, again }))
        else if (number !== 59n || again) resolve({ number, bytes: 1, again })
        else isLost = true
      })
    const came = all(ordered(numbersTo(200n), ask, { bounds: few, stop: new AbortController().signal, clock: new VirtualClock() }))
    await eventually(() => expect(asked).toHaveLength(60))
    for (const answer of [...large.slice(1), large[0]]) answer?.()
    expect(await came).toHaveLength(201)
    expect(isLost).toBe(true)
  })

  it('is not taken from a request of before, which was for more of it', async () => {
    const answers = new Map<string, (bytes: number, part?: Span) => void>()
    const ask = ([from, to]: Span, _: AbortSignal, again: boolean) =>
      new Promise<Part>((resolve) => {
        const answer = (bytes: number, part?: Span) =>
          resolve(part === undefined ? { bytes, span: [from, to] } : { bytes, span: part, cut: [part, [part[1] + 1, to]] })
        if (from < 400) answer(1)
        else answers.set(`${from} to ${to}${again ? ' again' : ''}`, answer)
      })
    const spans = Array.from({ length: 60 }, (__, i): Span => [10 * i, 10 * i + 9])
    const came: Span[] = []
    const ended = (async () => {
      for await (const { span } of ordered(spans, ask, { bounds: { ...few, maxBytes: 2000 }, stop: new AbortController().signal, clock: new VirtualClock() }))
        came.push(span)
    })()
    const answer = async (name: string, bytes: number, part?: Span) => {
      await eventually(() => expect([...answers.keys()]).toContain(name))
      answers.get(name)?.(bytes, part)
      await turn()
    }
    // 58 is late, comes in part from its second request, and is dropped with it.
    await answer('590 to 599', 1)
    await answer('580 to 589 again', 1000, [580, 583])
    for (const from of [410, 420, 430, 440, 450, 460]) await answer(`${from} to ${from + 9}`, 1000)
    await answer('400 to 409', 0)
    for (let from = 470; from < 570; from += 10) await answer(`${from} to ${from + 9}`, 0)
    await eventually(() => expect([...answers.keys()]).toContain('580 to 583'))
    // Only now its first request is answered, as a whole.
    await answer('580 to 589', 1)
    for (const name of ['570 to 579', '580 to 583', '584 to 589', '590 to 599']) await answer(name, 1)
    await ended
    expect(came.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (__, i) => from + i))).toEqual(Array.from({ length: 600 }, (__, i) => i))
  })
})

describe('an item that is requested in parts', () => {
  /** The span 0 to `last` in parts of at most three. `answer` says what a part is answered with. */
  function startParts(last: number, answer: (span: Span, again: boolean) => Part | Promise<Part>, more: Partial<Bounds> = {}) {
    const asked: Span[] = []
    const clock = new VirtualClock()
    const cut = ([from, to]: Span): [Span, Span | undefined] =>
      to - from < 3
        ? [[from, to], undefined]
        : [
            [from, from + 2],
            [from + 3, to],
          ]
    const ask = async (span: Span, _: AbortSignal, again: boolean) => {
      asked.push(span)
      return answer(span, again)
    }
    return { asked, clock, parts: ordered([[0, last] as Span], ask, { bounds: { ...bounds, ...more }, stop: new AbortController().signal, clock, cut }) }
  }

  const whole = (span: Span): Part => ({ bytes: 1, span })
  /** The span, of one that goes on to `to`. */
  const partly = (bytes: number, span: Span, to: number): Part => ({ bytes, span, cut: [span, [span[1] + 1, to]] })
  const never = new Promise<never>(() => {})

  async function spans(parts: AsyncIterable<Part>): Promise<Span[]> {
    const list: Span[] = []
    for await (const { span } of parts) list.push(span)
    return list
  }

  it('comes in their order', async () => {
    const { parts, asked } = startParts(7, whole)
    expect(await spans(parts)).toEqual([[0, 2], [3, 5], [6, 7]]) // biome-ignore format: as a table
    expect(asked).toHaveLength(3)
  })

  it('is followed by what an answer leaves over, which is requested before anything later', async () => {
    const first = ([from, to]: Span): Part => (to > from ? partly(1, [from, from], to) : whole([from, to]))
    const { parts, asked } = startParts(8, first, { maxItems: 1 })
    const each = Array.from({ length: 9 }, (_, i) => [i, i])
    expect(await spans(parts)).toEqual(each)
    expect(asked.map(([from]) => from)).toEqual(each.map(([from]) => from))
  })

  it('is requested side by side where what came after it leaves no room', async () => {
    const items: Span[] = [[0, 8], ...[9, 10, 11, 12].map((each): Span => [each, each])]
    const cut = ([from, to]: Span): [Span, Span | undefined] => (from === 0 || to - from < 3 ? [[from, to], undefined] : [[from, from + 2], [from + 3, to]]) // biome-ignore format: as above
    let arrived = 0
    let inFlight = 0
    let most = 0
    const ask = async ([from, to]: Span): Promise<Part> => {
      if (from === 0) {
        await eventually(() => expect(arrived).toBe(4))
        return partly(1, [0, 0], 8)
      }
      most = Math.max(most, from > 8 ? 0 : ++inFlight)
      await turn()
      if (from > 8) arrived++
      else inFlight--
      return { bytes: from > 8 ? 25 : 1, span: [from, to] }
    }
    // What is assumed at first leaves room for all; then the buffer is full.
    const given = { ...bounds, maxBytes: 100, assumedBytes: 1, growth: 1, decay: 1 }
    const came = await spans(ordered(items, ask, { bounds: given, stop: new AbortController().signal, clock: new VirtualClock(), cut }))
    expect(came.slice(0, 4)).toEqual([[0, 0], [1, 3], [4, 6], [7, 8]]) // biome-ignore format: as a table
    expect(most).toBe(3)
  })

  it('is divided anywhere, in whatever order and size the answers come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 60 }), fc.infiniteStream(fc.nat({ max: 9 })), fc.integer({ min: 1, max: 20 }), async (last, random, maxItems) => {
        const next = () => random.next().value as number
        const size = () => next() ** 3
        const answer = async ([from, to]: Span): Promise<Part> => {
          for (let turns = next(); turns > 0; turns--) await turn()
          const end = Math.min(to, from + next())
          return end < to ? partly(size(), [from, end], to) : { ...whole([from, to]), bytes: size() }
        }
        const came = await spans(startParts(last, answer, { maxItems, maxBytes: 50, maxInFlight: 1 + next(), maxSmallInFlight: 20 }).parts)
        expect(came.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i))).toEqual(Array.from({ length: last + 1 }, (_, i) => i))
      }),
      runs(50),
    )
  })

  it('comes up to the part that fails, with what is left of those before it', async () => {
    let failed = false
    const { parts } = startParts(8, async ([from, to]) => {
      if (from === 3) {
        failed = true
        throw new Error('the second one')
      }
      if (from > 0 || to === 0) return whole([from, to])
      await eventually(() => expect(failed).toBe(true))
      return partly(1, [0, 0], 2)
    })
    const came: Span[] = []
    const ended = (async () => {
      for await (const { span } of parts) came.push(span)
    })()
    await expect(ended).rejects.toThrow('the second one')
    expect(came).toEqual([[0, 0], [1, 2]]) // biome-ignore format: as a table
  })

  it.each([1, 2])('is requested again where what is left of it is late, and %i parts after it came', async (later) => {
    const { parts, asked } = startParts(2 + 3 * later, ([from, to], again) => {
      if (from === 0) return eventually(() => expect(asked.length).toBeGreaterThan(later)).then(() => partly(1, [0, 0], 2))
      return from === 1 && !again ? never : whole([from, to])
    })
    expect((await spans(parts)).slice(0, 3)).toEqual([[0, 0], [1, 2], [3, 5]]) // biome-ignore format: as a table
  })
})

describe('the end', () => {
  it('has the reason of the signal, for all requests in flight', async () => {
    const { items, asked, stop } = start(500n, () => true)
    const ended = all(items)
    ended.catch(() => {})
    await turn()
    stop.abort(new Error('enough'))
    await expect(ended).rejects.toThrow('enough')
    expect(asked.every(({ signal }) => signal.aborted)).toBe(true)
  })

  it('has the reason of the signal, for a request that began when no other was in flight', async () => {
    const { items, stop, findAsked } = start(2n, (number) => number > 0n, { maxItems: 1 })
    await items.next()
    const second = items.next()
    second.catch(() => {})
    await turn()
    stop.abort(new Error('enough'))
    expect(findAsked(1n).signal.aborted).toBe(true)
    await expect(second).rejects.toThrow('enough')
  })

  it('has the reason of the signal before the first request', async () => {
    const { items, stop, asked } = start(2n, () => true)
    stop.abort(new Error('enough'))
    await expect(items.next()).rejects.toThrow('enough')
    expect(asked).toEqual([])
  })

  it('aborts the requests in flight when the consumer stops', async () => {
    const { items, asked } = start(500n, (number) => number > 5n)
    for await (const { number } of items) if (number === 3n) break
    expect(asked.filter(({ number }) => number > 5n).every(({ signal }) => signal.aborted)).toBe(true)
  })
})
