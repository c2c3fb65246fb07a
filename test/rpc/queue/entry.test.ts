import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RpcError } from '../../../src/index.ts'
import { type Call, ownRead } from '../../../src/rpc/call.ts'
import { CallFailure } from '../../../src/rpc/call-failure.ts'
import type { BatchPlan } from '../../../src/rpc/limits/batch/batch-plan.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { Entry, type InFlight, paramsJson } from '../../../src/rpc/queue/entry.ts'
import { Line } from '../../../src/rpc/queue/line.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import { Waiting } from '../../../src/wait/waiting.ts'

const call: Call = ownRead({ method: 'eth_getLogs', params: [], deadline: Number.POSITIVE_INFINITY })
const ignore = () => {}
const all: BatchPlan = { maxCalls: 100, fits: () => 'yes' }

/** A caller, and its outcome. */
function caller() {
  const waiting = new Waiting(systemClock)
  let made: Caller | undefined
  const outcome = new Promise((resolve) => {
    made = new Caller(call, waiting, (reply) => resolve(reply.take()), resolve)
  })
  waiting.hold(made as Caller)
  return { caller: made as Caller, outcome }
}

/** An entry with this many callers, in a line. */
function entryWith(callers: number) {
  const line = new Line('interactive', () => {})
  const made = Array.from({ length: callers }, caller) as [ReturnType<typeof caller>, ...ReturnType<typeof caller>[]]
  const entry = new Entry(call, '[]', made[0].caller)
  line.push(entry)
  for (const { caller } of made.slice(1)) entry.join(caller)
  return { line, entry, callers: made.map(({ caller }) => caller), outcomes: made.map(({ outcome }) => outcome) }
}

function batch() {
  const abandoned: unknown[] = []
  const inFlight: InFlight = { name: 'in flight', endpoint: 'endpoint', abandon: (reason) => abandoned.push(reason) }
  return { inFlight, abandoned }
}

describe('an entry', () => {
  test('is unplaced, waits in its line, is in flight, and is settled', async () => {
    const { line, entry, outcomes } = entryWith(1)
    const states = [new Entry(call, '[]', caller().caller).state.name, entry.state.name]
    line.take(all)
    states.push(entry.state.name)
    entry.start(batch().inFlight)
    states.push(entry.state.name)
    entry.settle(replyOf(['log']))
    states.push(entry.state.name)
    expect(states).toEqual(['unplaced', 'waiting', 'unplaced', 'in flight', 'settled'])
    expect(await outcomes[0]).toEqual(['log'])
  })

  test('waits again if its batch did not run', () => {
    const { line, entry } = entryWith(1)
    const { entries } = line.take(all)
    entry.start(batch().inFlight)
    line.putBack(entries)
    expect(entry.state.name).toBe('waiting')
    expect(entry.sentTo).toBeUndefined()
    expect(line.first).toBe(entry)
  })

  test('leaves its line with its last caller', async () => {
    const { line, entry, callers, outcomes } = entryWith(3)
    for (const each of callers.slice(0, 2)) each.cancel('aborted')
    expect([line.size, entry.isWaitedFor, entry.state.name]).toEqual([1, true, 'waiting'])
    callers[2]?.cancel('aborted')
    expect([line.size, entry.isWaitedFor, entry.state.name]).toEqual([0, false, 'settled'])
    expect(await Promise.all(outcomes)).toEqual(['aborted', 'aborted', 'aborted'])
  })

  test('is abandoned in flight for the reason of its last caller', () => {
    const { line, entry, callers } = entryWith(2)
    const { inFlight, abandoned } = batch()
    line.take(all)
    entry.start(inFlight)
    callers[0]?.cancel('first')
    expect(abandoned).toEqual([])
    callers[1]?.cancel('last')
    expect(abandoned).toEqual(['last'])
  })

  test('goes out with what is right for those of its callers that still wait', () => {
    const calls = [call, { ...call, attempts: 4, deadline: 1e9 }, { ...call, attempts: 3, timeoutMs: 5 }]
    const [first, ...others] = calls.map((each) => new Caller(each, new Waiting(systemClock), ignore, ignore)) as [Caller, ...Caller[]]
    const entry = new Entry(call, '[]', first)
    for (const each of others) entry.join(each)
    first.cancel('aborted')
    entry.start(batch().inFlight)
    expect(entry).toMatchObject({ attempts: 3, deadline: Number.POSITIVE_INFINITY, timeoutMs: undefined })
  })

  test('gives each waiting caller its own copy of the value or error', async () => {
    for (const outcome of [replyOf([{ data: '0x' }]), new RpcError({ code: -32000, message: 'no' }, { method: 'eth_getLogs' })]) {
      const { line, entry, callers, outcomes } = entryWith(4)
      line.take(all)
      entry.start(batch().inFlight)
      callers[1]?.cancel('aborted')
      entry.settle(outcome)
      const [a, aborted, b, c] = await Promise.all(outcomes)
      expect(aborted).toBe('aborted')
      expect(new Set([a, b, c].map((each) => (each instanceof CallFailure ? each.error : each))).size).toBe(3)
      expect(String(b)).toBe(String(a))
      expect(String(c)).toBe(String(a))
    }
  })
})

test('params are what JSON.stringify makes of them', () => {
  const param = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefxX_'), maxLength: 600 }),
    fc.boolean(),
    fc.jsonValue(),
    fc.constant(undefined),
  )
  const params = fc.oneof(fc.array(param, { maxLength: 4 }), fc.dictionary(fc.string(), fc.jsonValue()))
  fc.assert(
    fc.property(params, (given) => paramsJson({ ...call, params: given as readonly unknown[] }) === JSON.stringify(given)),
    { numRuns: 2000 },
  )
  for (const each of [[], [''], ['latest\n'], ['"'], ['é'], ['\ud800'], ['a'.repeat(257)], [new Array(1)], new Array(1)])
    expect(paramsJson({ ...call, params: each })).toBe(JSON.stringify(each))
})
