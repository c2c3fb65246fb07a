import { expect, it } from 'vitest'
import { workAhead } from '../../src/follow/work-ahead.ts'
import { errorOf } from '../support/server.ts'

/** Numbers, and what is known of those who take them. */
function source(count: number, failAt = Number.POSITIVE_INFINITY) {
  const seen = { taken: 0, returned: false }
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
  return { seen, numbers: numbers() }
}

async function all<T>(items: AsyncIterable<T>, got: T[] = []): Promise<T[]> {
  for await (const item of items) got.push(item)
  return got
}

it('gives what was made in the order of the items, whichever is ready first', async () => {
  const { numbers, seen } = source(10)
  const waiting: (() => void)[] = []
  const stream = all(workAhead(numbers, 4, (number) => new Promise<number>((resolve) => waiting.push(() => resolve(number * 2)))))
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
  const { numbers, seen } = source(10, 7)
  expect(
    (
      await errorOf(
        all(
          workAhead(numbers, 4, async (number) => number),
          got,
        ),
      )
    ).message,
  ).toBe('no more')
  expect(got).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(seen.returned).toBe(true)
})

it('gives what comes before a failure of the work first, and takes no more', async () => {
  const got: number[] = []
  const { numbers, seen } = source(100)
  const work = async (number: number) => {
    if (number >= 5) throw new Error(`not ${number}`)
    return number
  }
  expect((await errorOf(all(workAhead(numbers, 4, work), got))).message).toBe('not 5')
  expect(got).toEqual([0, 1, 2, 3, 4])
  expect(seen).toEqual({ taken: 9, returned: true })
})

it('ends its source when it is left', async () => {
  const { numbers, seen } = source(100)
  for await (const number of workAhead(numbers, 4, async (each) => each)) if (number === 3) break
  expect(seen).toEqual({ taken: 7, returned: true })
})
