import { describe, expect, test } from 'vitest'
import { type Call, ownRead, type PooledCall } from '../../../src/rpc/call.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { type LinePair, Lines } from '../../../src/rpc/queue/lines.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const ignore = () => {}
const waiting = new Waiting(new VirtualClock())

/** Lines with these calls, each named by its params. */
function linesWith(calls: readonly (Partial<Call> & { name: string })[], dedupe = true) {
  const lines = new Lines(dedupe, ignore)
  const callers = calls.map(({ name, ...more }) => {
    const call = ownRead({ method: 'eth_call', params: [name], deadline: 1000, ...more })
    const caller = new Caller(call, waiting, ignore, ignore)
    lines.add(caller, JSON.stringify([name]))
    return caller
  })
  return { lines, callers, names: () => lines.list().map(({ params }) => params[0]) }
}

describe('calls in line', () => {
  test('go in order, interactive ones before bulk calls', () => {
    const { lines, names } = linesWith([{ name: 'a', priority: 'bulk' }, { name: 'b' }, { name: 'c', priority: 'bulk' }, { name: 'd' }])
    expect(names()).toEqual(['b', 'd', 'a', 'c'])
    expect(lines.size).toBe(4)
    expect(lines.first).toBe(lines.interactive)
  })

  test('in bulk go first if there are no others', () => {
    const { lines } = linesWith([{ name: 'a', priority: 'bulk' }])
    expect(lines.first).toBe(lines.bulk)
  })

  test('that come back from a failure are placed by their age', () => {
    const old = { deadline: 500, tried: ['node'] }
    expect(linesWith([{ name: 'new' }, { name: 'back', ...old }]).names()).toEqual(['back', 'new'])
    expect(linesWith([{ name: 'new' }, { name: 'first', deadline: 500 }]).names()).toEqual(['new', 'first'])
  })

  test('that are identical share an entry', () => {
    const { lines, callers } = linesWith([{ name: 'a' }, { name: 'b' }, { name: 'a' }])
    expect(lines.size).toBe(2)
    expect(lines.callers).toEqual([callers[0], callers[2], callers[1]])
  })

  test.each<[string, Partial<Call>, boolean]>([
    ['they must not run twice', { safe: false }, true],
    ['they are bulk calls', { priority: 'bulk' }, true],
    ['they return unread bytes', { as: 'bytes', isUnread: true }, true],
    ['the client has that option', {}, false],
  ])('that are identical stay separate if %s', (_, more, dedupe) => {
    expect(
      linesWith(
        [
          { name: 'a', ...more },
          { name: 'a', ...more },
        ],
        dedupe,
      ).names(),
    ).toEqual(['a', 'a'])
  })

  test('stay separate if one requests bytes, or has another method', () => {
    expect(linesWith([{ name: 'a' }, { name: 'a', as: 'bytes' }, { name: 'a', method: 'eth_getCode' }]).names()).toEqual(['a', 'a', 'a'])
  })

  test('that are questions of hexline’s own share an entry whatever that option says; other calls do not join them', () => {
    const joins: Partial<PooledCall> = { joins: true }
    const names = (...more: Partial<PooledCall>[]) =>
      linesWith(
        more.map((each) => ({ name: 'a', ...each })),
        false,
      ).names()
    expect(names(joins, joins, joins)).toEqual(['a'])
    expect(names(joins, {}, joins)).toEqual(['a', 'a'])
  })

  test('that share an entry travel alone if one of them must', () => {
    const more: Partial<PooledCall> = { alone: 'always' }
    for (const [first, second] of [
      [{}, more],
      [more, {}],
    ]) {
      const { lines } = linesWith([{ name: 'before' }, { name: 'a', ...first }, { name: 'a', ...second }, { name: 'behind' }])
      const batches = [1, 2, 3].map(() => lines.interactive.take({ maxCalls: 100, fits: () => 'yes' }).entries.map(({ params }) => params[0]))
      expect(batches).toEqual([['before'], ['a'], ['behind']])
    }
  })

  test('leave with their last caller', () => {
    const { lines, callers } = linesWith([{ name: 'a' }, { name: 'b' }, { name: 'a' }])
    callers[0]?.cancel('enough')
    expect(lines.callers).toEqual([callers[2], callers[1]])
    callers[2]?.cancel('enough')
    expect([lines.size, lines.callers]).toEqual([1, [callers[1]]])
  })
})

describe('calls of a method that waits apart', () => {
  const logs = { method: 'eth_getLogs' }
  const apart = new Set(['eth_getLogs'])
  const mixed = () =>
    linesWith([{ name: 'a', ...logs }, { name: 'b' }, { name: 'c', priority: 'bulk', ...logs }, { name: 'd', ...logs, deadline: 2000 }, { name: 'e' }])
  const namesIn = (lines: Lines, method: string) => {
    const { interactive, bulk } = lines.apart.get(method) as LinePair
    return [interactive, bulk].map((line) => line.list().map(({ params }) => params[0]))
  }

  test('leave the two lines, and come back by their age', () => {
    const { lines, names } = mixed()
    lines.keepApart(apart)
    expect(namesIn(lines, 'eth_getLogs')).toEqual([['a', 'd'], ['c']])
    expect([lines.interactive.size, lines.bulk.size, lines.size]).toEqual([2, 0, 5])
    expect(names()).toEqual(['b', 'e', 'a', 'd', 'c'])
    lines.keepApart(new Set())
    expect(lines.apart.size).toBe(0)
    expect(names()).toEqual(['b', 'e', 'a', 'd', 'c'])
    expect([lines.interactive.size, lines.bulk.size]).toEqual([4, 1])
  })

  test('join the line as they come, and each other', () => {
    const { lines } = linesWith([{ name: 'a' }])
    lines.keepApart(apart)
    const callers = ['x', 'y', 'x'].map((name) => {
      const caller = new Caller(ownRead({ ...logs, params: [name], deadline: 1000 }), waiting, ignore, ignore)
      lines.add(caller, JSON.stringify([name]))
      return caller
    })
    expect(namesIn(lines, 'eth_getLogs')).toEqual([['x', 'y'], []])
    callers[0]?.cancel('enough')
    callers[1]?.cancel('enough')
    expect(namesIn(lines, 'eth_getLogs')).toEqual([['x'], []])
    expect(lines.size).toBe(2)
  })

  test('are the others of no method but those in the two lines', () => {
    const { lines } = mixed()
    expect([lines.hasOthers('eth_getLogs'), lines.hasOthers('eth_call')]).toEqual([true, true])
    lines.keepApart(apart)
    expect([lines.hasOthers('eth_getLogs'), lines.hasOthers('eth_call')]).toEqual([true, false])
  })

  test('of a batch that did not run go back to the line that they belong to by then', () => {
    const { lines, names } = mixed()
    const { entries } = lines.interactive.take({ maxCalls: 3, fits: () => 'yes' })
    lines.keepApart(apart)
    lines.putBack(lines.interactive, entries)
    expect([lines.interactive.size, lines.size]).toEqual([2, 5])
    expect(names()).toEqual(['b', 'e', 'a', 'd', 'c'])
    const own = (lines.apart.get('eth_getLogs') as LinePair).interactive
    const taken = own.take({ maxCalls: 3, fits: () => 'yes' }).entries
    lines.keepApart(new Set())
    lines.putBack(own, taken)
    expect([lines.interactive.size, lines.bulk.size]).toEqual([4, 1])
  })
})
