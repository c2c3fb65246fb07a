import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BodyPool } from '../../src/rpc/body-pool.ts'

const kiB = 1024
const MiB = 1024 * kiB

function taken(pool: BodyPool, size: number): Buffer {
  const memory = pool.take(size)
  if (memory === undefined) throw new Error(`no memory for ${size} bytes`)
  return memory
}

describe('the pool of memory for bodies', () => {
  test('reuses the buffer that was released last first', () => {
    const pool = new BodyPool()
    const [a, b] = [taken(pool, 100_000), taken(pool, 100_000)]
    expect(b.buffer).not.toBe(a.buffer)
    pool.release(a)
    pool.release(b.subarray(7, 9))
    expect(taken(pool, 90_000).buffer).toBe(b.buffer)
    expect(taken(pool, 90_000).buffer).toBe(a.buffer)
  })

  test('gives a buffer of at most twice the size, and none for a small body', () => {
    const pool = new BodyPool()
    const memory = taken(pool, 200 * kiB)
    pool.release(memory)
    expect(pool.take(64 * kiB - 1)).toBeUndefined()
    expect(taken(pool, 99 * kiB).buffer).not.toBe(memory.buffer)
    expect(taken(pool, 201 * kiB).buffer).not.toBe(memory.buffer)
    expect(taken(pool, 100 * kiB).buffer).toBe(memory.buffer)
  })

  test('takes back only its own buffers, each once', () => {
    const pool = new BodyPool()
    const memory = taken(pool, 100_000)
    const foreign = Buffer.alloc(100_000)
    for (const each of [memory, memory, foreign, taken(new BodyPool(), 100_000)]) pool.release(each)
    const [first, second] = [taken(pool, 100_000), taken(pool, 100_000)]
    expect(first.buffer).toBe(memory.buffer)
    expect([memory.buffer, foreign.buffer]).not.toContain(second.buffer)
  })

  test('keeps at most 32 MiB, and drops the earliest released', () => {
    const pool = new BodyPool()
    const all = Array.from({ length: 20 }, () => taken(pool, 4 * MiB))
    for (const each of all) pool.release(each)
    const again = Array.from({ length: 20 }, () => taken(pool, 4 * MiB).buffer)
    expect(again.filter((buffer) => all.some((each) => each.buffer === buffer))).toEqual(
      all
        .slice(12)
        .reverse()
        .map(({ buffer }) => buffer),
    )
    const huge = taken(pool, 33 * MiB)
    pool.release(huge)
    expect(taken(pool, 33 * MiB).buffer).not.toBe(huge.buffer)
  })

  test('never gives a buffer to two owners, in any order of use', () => {
    const steps = fc.array(fc.oneof(fc.record({ size: fc.integer({ min: 64 * kiB, max: 300 * kiB }) }), fc.record({ nth: fc.nat(20) })), { maxLength: 60 })
    fc.assert(
      fc.property(steps, (all) => {
        const pool = new BodyPool()
        const owned: { memory: Buffer; mark: number }[] = []
        for (const [mark, step] of all.entries()) {
          if ('size' in step) {
            const memory = taken(pool, step.size)
            expect(memory.length).toBeGreaterThanOrEqual(step.size)
            memory[0] = mark
            memory[step.size - 1] = mark
            owned.push({ memory: memory.subarray(0, step.size), mark })
          } else if (step.nth < owned.length) {
            for (const { memory } of owned.splice(step.nth, 1)) {
              pool.release(memory)
              pool.release(memory)
            }
          }
          for (const { memory, mark } of owned) expect([memory[0], memory.at(-1)]).toEqual([mark, mark])
        }
      }),
      { seed: 4, numRuns: 200 },
    )
  })
})
