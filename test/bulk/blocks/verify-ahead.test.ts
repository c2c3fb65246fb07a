import { describe, expect, test } from 'vitest'
import { verifiedAhead } from '../../../src/bulk/blocks/verify-ahead.ts'
import { IntegrityError } from '../../../src/index.ts'
import { errorOf } from '../../support/server.ts'

/** Yields 0 to `count` - 1, and tells how many were taken. */
function numbers(count: number) {
  const seen = { taken: 0, isReturned: false }
  async function* source(): AsyncGenerator<number, void, undefined> {
    try {
      for (; seen.taken < count; ) yield seen.taken++
    } finally {
      seen.isReturned = true
    }
  }
  return { seen, source: source() }
}

/** Verifications that the test ends, by their numbers. */
function held() {
  const open = new Map<number, { resolve: () => void; reject: (error: unknown) => void }>()
  const verify = (item: number) =>
    new Promise<void>((resolve, reject) => {
      open.set(item, { resolve, reject })
    })
  return { open, verify }
}

/** Until nothing but the test can go on. */
const settled = async () => {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}

const replace = (_: number, fault: IntegrityError) => Promise.reject(fault)

describe('verifiedAhead', () => {
  test('yields in order, whatever is verified first, and takes at most as many as it may hold', async () => {
    const { seen, source } = numbers(6)
    const { open, verify } = held()
    const got: number[] = []
    const all = (async () => {
      for await (const item of verifiedAhead(source, { verify, replace, most: 3 })) got.push(item)
    })()
    await settled()
    expect(seen.taken).toBe(3)
    open.get(2)?.resolve()
    open.get(1)?.resolve()
    await settled()
    expect([got, seen.taken]).toEqual([[], 3])
    open.get(0)?.resolve()
    await settled()
    expect([got, seen.taken]).toEqual([[0, 1, 2], 6])
    for (const { resolve } of open.values()) resolve()
    await all
    expect(got).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('puts another item in place of a wrong one', async () => {
    const verify = (item: number) => {
      if (item === 1) throw new IntegrityError('wrong')
    }
    const got: number[] = []
    for await (const item of verifiedAhead(numbers(3).source, { verify, replace: async (item) => item + 100, most: 2 })) got.push(item)
    expect(got).toEqual([0, 101, 2])
  })

  test('rejects with the first failure, after all items before it', async () => {
    const { seen, source } = numbers(9)
    const { open, verify } = held()
    const got: number[] = []
    const all = (async () => {
      for await (const item of verifiedAhead(source, { verify, replace, most: 4 })) got.push(item)
    })()
    await settled()
    const [later, earlier] = [new IntegrityError('later'), new IntegrityError('earlier')]
    open.get(3)?.reject(later)
    open.get(2)?.reject(earlier)
    await settled()
    open.get(0)?.resolve()
    open.get(1)?.resolve()
    expect(await errorOf(all)).toBe(earlier)
    expect(got).toEqual([0, 1])
    expect(seen.isReturned).toBe(true)
  })

  test('does not replace for another error', async () => {
    const bug = new TypeError('bug')
    const verify = () => Promise.reject(bug)
    const all = verifiedAhead(numbers(3).source, { verify, replace: async (item) => item, most: 2 })
    expect(await errorOf(all.next())).toBe(bug)
  })

  test('rejects with the failure of the source, after what came before', async () => {
    const fault = new Error('source')
    async function* failing(): AsyncGenerator<number, void, undefined> {
      yield 1
      throw fault
    }
    const all = verifiedAhead(failing(), { verify() {}, replace, most: 5 })
    expect(await all.next()).toEqual({ value: 1, done: false })
    expect(await errorOf(all.next())).toBe(fault)
  })

  test('ends the source when its consumer stops', async () => {
    const { seen, source } = numbers(9)
    for await (const _ of verifiedAhead(source, { verify() {}, replace, most: 2 })) break
    await settled()
    expect(seen.isReturned).toBe(true)
  })
})
