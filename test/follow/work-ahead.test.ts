import { expect, it } from 'vitest'
import { workAhead } from '../../src/follow/work-ahead.ts'
import { errorOf } from '../support/server.ts'

/** Numbers, and what is known of those who take them. */
function source(count: number, failAt = Number.POSITIVE_INFINITY) {
  const seen = { taken: 0, returned: false, ended: false }
  async function* numbers() {
    try {
      for (let number = 0; number < count; number++) {
        if (number === failAt) throw new Error('no more')
        seen.taken++
        yield number
      }
    } finally {
      seen.returned = true
    }
  }
  const end = () => {
    seen.ended = true
  }
  return { seen, numbers: numbers(), end }
}

async function all<T>(items: AsyncIterable<T>, got: T[] = []): Promise<T[]> {
  for await (const item of items) got.push(item)
  return got
}

it('gives what was made in the order of the items, whichever is ready first', async () => {
  const { numbers, seen, end } = source(10)
  const waiting: (() => void)[] = []
  const stream = all(workAhead(numbers, 4, (number) => new Promise<number>((resolve) => waiting.push(() => resolve(number * 2))), end))
  let most = 0
  while (waiting.length > 0 || seen.taken < 10) {
    most = Math.max(most, waiting.length)
    waiting.pop()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await stream).toEqual(Array.from({ length: 10 }, (_, i) => 2 * i))
  expect(most).toBe(4)
})

it('gives what comes before a failure of the source first', async () => {
  const got: number[] = []
  const { numbers, seen, end } = source(10, 7)
  expect(
    (
      await errorOf(
        all(
          workAhead(numbers, 4, async (number) => number, end),
          got,
        ),
      )
    ).message,
  ).toBe('no more')
  expect(got).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(seen).toMatchObject({ returned: true, ended: true })
})

it('gives what comes before a failure of the work first, and takes no more', async () => {
  const got: number[] = []
  const { numbers, seen, end } = source(100)
  const work = async (number: number) => {
    if (number >= 5) throw new Error(`not ${number}`)
    return number
  }
  expect((await errorOf(all(workAhead(numbers, 4, work, end), got))).message).toBe('not 5')
  expect(got).toEqual([0, 1, 2, 3, 4])
  expect(seen).toMatchObject({ returned: true, ended: true })
  expect(seen.taken).toBeLessThanOrEqual(9)
})

it('gives the first as soon as it is there, while the source is asked for the next', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* numbers() {
    yield 0
    await held
    yield 1
  }
  const stream = workAhead(
    numbers(),
    4,
    async (number) => number,
    () => {},
  )
  expect(await stream.next()).toEqual({ done: false, value: 0 })
  release()
  expect(await all(stream)).toEqual([1])
})

it('ends its source when it is left', async () => {
  const { numbers, seen, end } = source(100)
  for await (const number of workAhead(numbers, 4, async (each) => each, end)) if (number === 3) break
  expect(seen).toMatchObject({ returned: true, ended: true })
  expect(seen.taken).toBeLessThanOrEqual(7)
})

it('ends its source when it is left while that is asked for the next item', async () => {
  const seen = { returned: false }
  let end = () => {}
  const ended = new Promise<never>((_, reject) => {
    end = () => reject(new Error('nobody wants it'))
  })
  async function* numbers() {
    try {
      yield 0
      await ended
    } finally {
      seen.returned = true
    }
  }
  for await (const _ of workAhead(numbers(), 4, async (each) => each, end)) break
  expect(seen.returned).toBe(true)
})
