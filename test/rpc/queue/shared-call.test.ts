import { expect, test } from 'vitest'
import { type Call, ownRead } from '../../../src/rpc/call.ts'
import { type SharedFields, sharedFields } from '../../../src/rpc/queue/shared-call.ts'

const call = (more: Partial<Call> = {}) => ownRead({ method: 'eth_call', params: [], deadline: 1000, attempts: 4, ...more })
const { signal } = new AbortController()

test.each<[keyof SharedFields, Partial<Call>, Partial<Call>, unknown]>([
  ['signal', { signal }, { signal }, signal],
  ['signal', { signal }, {}, undefined],
  ['deadline', { deadline: 1 }, { deadline: 2 }, 2],
  ['attempts', { attempts: 1 }, { attempts: 4 }, 1],
  ['stalls', { stalls: 2 }, {}, 2],
  ['stalls', { stalls: 2 }, { stalls: Number.POSITIVE_INFINITY }, Number.POSITIVE_INFINITY],
  ['timeoutMs', { timeoutMs: 5 }, { timeoutMs: 6 }, 6],
  ['timeoutMs', { timeoutMs: 5 }, {}, undefined],
  ['whilePaused', { whilePaused: 'fail' }, { whilePaused: 'fail' }, 'fail'],
  ['whilePaused', { whilePaused: 'fail' }, {}, 'wait'],
  ['required', { required: true }, {}, true],
  ['tried', { tried: ['a', 'b'] }, { tried: ['b', 'c'] }, ['a', 'b', 'c']],
  ['isBound', { isBound: true }, {}, true],
])('%s of callers that have %j and %j is %j', (field, a, b, shared) => {
  expect(sharedFields([call(a), call(b)])[field]).toEqual(shared)
  expect(new Set([sharedFields([call(b), call(a)])[field]].flat())).toEqual(new Set([shared].flat()))
})

test('of one caller they are its own', () => {
  expect(sharedFields([call({ signal, timeoutMs: 5 })])).toMatchObject({ signal, timeoutMs: 5, deadline: 1000, attempts: 4, tried: [] })
})
