import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { oneAtATime } from '../../../../adapters/ethers/events/one-at-a-time.ts'

/** Work that ends when the test says so. */
function work() {
  const started: number[] = []
  let end = () => {}
  const run = oneAtATime((value: number) => {
    started.push(value)
    return new Promise<void>((resolve) => {
      end = resolve
    })
  })
  const finish = async () => {
    end()
    await turn()
  }
  return { run, started, finish }
}

describe('one at a time', () => {
  it('starts at once when idle', async () => {
    const { run, started, finish } = work()
    run(1)
    expect(started).toEqual([1])
    await finish()
    run(2)
    expect(started).toEqual([1, 2])
  })

  it('keeps only the newest of the values that arrive during the work', async () => {
    const { run, started, finish } = work()
    for (const value of [1, 2, 3, 4]) run(value)
    expect(started).toEqual([1])
    await finish()
    expect(started).toEqual([1, 4])
    await finish()
    expect(started).toEqual([1, 4])
  })

  it('accepts undefined as a value', async () => {
    const seen: unknown[] = []
    const run = oneAtATime(async (value: number | undefined) => void seen.push(value))
    run(undefined)
    run(undefined)
    await turn()
    expect(seen).toEqual([undefined, undefined])
  })
})
