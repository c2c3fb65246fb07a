import { describe, expect, it } from 'vitest'
import type { Call } from '../../../src/rpc/call.ts'
import type { BatchPlan } from '../../../src/rpc/limits/batch/batch-plan.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { Entry } from '../../../src/rpc/queue/entry.ts'
import { Line } from '../../../src/rpc/queue/line.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import { randomFrom } from '../../support/random.ts'

const waiting = new Waiting(systemClock)
const ignore = () => {}

function entryWith(deadline: number, method = 'eth_chainId'): Entry {
  const call: Call = { method, params: [], deadline, attempts: 4, priority: 'bulk', as: 'value', required: false, safe: true, tried: [] }
  return new Entry(call, '[]', new Caller(call, waiting, ignore, ignore))
}

function interactive(deadline: number): Entry {
  const { call } = entryWith(deadline).callers[0] as Caller
  return new Entry({ ...call, priority: 'interactive' }, '[]', new Caller(call, waiting, ignore, ignore))
}

const upTo = (maxCalls: number): BatchPlan => ({ maxCalls, fits: () => 'yes' })

/** Calls of one method go together, the others separately. */
function ofOneMethod(maxCalls: number): BatchPlan {
  let first: string | undefined
  return {
    maxCalls,
    fits: ({ method }) => {
      first ??= method
      return method === first ? 'yes' : 'split'
    },
  }
}

function drain(line: Line): number[] {
  const deadlines: number[] = []
  while (line.size > 0) deadlines.push(...line.take(upTo(100)).entries.map(({ deadline }) => deadline))
  return deadlines
}

describe('calls whose replies were too large together', () => {
  it('travel in no longer batch than each of them may be in, whatever comes first', () => {
    const line = new Line('interactive', ignore)
    const longest = [9, 2, 9, 9, 9, 3, 9, 9, 1, 9]
    for (const [i, most] of longest.entries()) line.push(Object.assign(entryWith(i), { longest: most }))
    const batches: number[][] = []
    while (line.size > 0) batches.push(line.take(upTo(4)).entries.map(({ deadline }) => deadline))
    expect(batches).toEqual([[0, 1], [2, 3, 4], [5, 6, 7], [8], [9]])
  })

  it('leave room in their batch: it does not show how many calls are taken', () => {
    const rooms = [
      [1, 9, 9],
      [9, 1, 9],
      [9, 9, 9],
    ].map((all) => {
      const line = new Line('interactive', ignore)
      for (const [i, longest] of all.entries()) line.push(Object.assign(entryWith(i), { longest }))
      return line.take(upTo(2)).hadRoom
    })
    expect(rooms).toEqual([true, true, false])
  })
})

describe('calls that come back from a failure', () => {
  it('are placed by their age, and those of unknown age in front', () => {
    const line = new Line('interactive', ignore)
    for (const deadline of [10, 20, 30]) line.push(entryWith(deadline))
    for (const deadline of [25, 5, Number.POSITIVE_INFINITY, 20, 40]) line.insertByAge(entryWith(deadline))
    expect(line.first.deadline).toBe(Number.POSITIVE_INFINITY)
    expect(drain(line)).toEqual([Number.POSITIVE_INFINITY, 5, 10, 20, 20, 25, 30, 40])
  })

  it('keep their order when identical ones are looked for in the meantime', () => {
    const line = new Line('interactive', ignore)
    for (const method of ['a', 'b', 'c']) {
      line.insertByAge(entryWith(Number.POSITIVE_INFINITY, method))
      line.find(entryWith(1, 'd'), '[]')
    }
    expect(line.take(upTo(3)).entries.map(({ method }) => method)).toEqual(['a', 'b', 'c'])
  })

  it('are joined, not a later one that is identical', () => {
    const line = new Line('interactive', ignore)
    const [back, later] = [interactive(1), interactive(2)]
    line.push(later)
    line.putBack([back])
    expect(line.find(back, back.json)).toBe(back)
  })

  it('are joined by calls that ask the same, and by no others', () => {
    const line = new Line('interactive', ignore)
    const entry = interactive(1)
    line.push(entry)
    const { call } = entry.callers[0] as Caller
    const unread = new Entry({ ...call, priority: 'interactive', isUnread: true }, '[]', new Caller(call, waiting, ignore, ignore))
    for (const other of [{ ...call, method: 'eth_blockNumber' }, { ...call, as: 'bytes' } as const]) expect(line.find(other, '[]')).toBeUndefined()
    expect(line.find(call, '[1]')).toBeUndefined()
    // It is joined by nobody, and another one may be joined all the same when it leaves.
    line.push(unread)
    line.drop(unread)
    expect(line.find(call, '[]')).toBe(entry)
  })

  it('may be dropped before they are sent', () => {
    const line = new Line('interactive', ignore)
    const gone = entryWith(5)
    line.push(entryWith(10))
    line.insertByAge(gone)
    line.insertByAge(entryWith(7))
    line.drop(gone)
    expect(line.size).toBe(2)
    expect(drain(line)).toEqual([7, 10])
  })

  it('take about the same number of comparisons each, however many there are', () => {
    const random = randomFrom(5)
    /** The number of reads of a deadline until all have been taken. */
    const readsOf = (count: number) => {
      let reads = 0
      const counted = (deadline: number) => {
        const get = () => {
          reads++
          return deadline
        }
        return Object.defineProperty(entryWith(deadline), 'deadline', { get })
      }
      const line = new Line('interactive', ignore)
      for (let i = 0; i < count; i++) line.push(counted(1e6 + i))
      for (let i = 0; i < count; i++) line.insertByAge(counted(random() * 2e6))
      expect(drain(line)).toHaveLength(2 * count)
      return reads
    }
    // Eight times the calls, sorted, take about ten times the reads. 64 times would be quadratic.
    expect(readsOf(16_000)).toBeLessThan(16 * readsOf(2_000))
  })
})

describe('calls that go separately', () => {
  it('go once each, in order, whatever is dropped and put back in the meantime', () => {
    const random = randomFrom(7)
    for (let run = 0; run < 50; run++) {
      const line = new Line('interactive', ignore)
      const all = new Set<Entry>()
      for (let i = 0; i < 60; i++) {
        const entry = entryWith(i, random() < 0.5 ? 'slow' : 'quick')
        line.push(entry)
        all.add(entry)
      }
      const gone: Entry[] = []
      while (line.size > 0) {
        const taken = line.take(ofOneMethod(1 + Math.floor(random() * 20))).entries
        expect(new Set(taken.map(({ method }) => method)).size).toBe(1)
        expect(taken.map(({ deadline }) => deadline)).toEqual(taken.map(({ deadline }) => deadline).sort((a, b) => a - b))
        if (random() < 0.3) line.putBack(taken)
        else gone.push(...taken)
        const dropped = line.list().find(() => random() < 0.05)
        if (dropped !== undefined) {
          line.drop(dropped)
          gone.push(dropped)
        }
      }
      expect(gone).toHaveLength(60)
      expect(new Set(gone)).toEqual(all)
    }
  })
})
