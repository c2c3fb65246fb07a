import { expect, test } from 'vitest'
import { type Call, ownRead, type PooledCall, stayingPut } from '../../../src/rpc/call.ts'
import { Pin } from '../../../src/rpc/pin.ts'
import { questionFor } from '../../../src/rpc/route/own-question.ts'

const call = (more: Partial<PooledCall> = {}): Call => ownRead({ method: 'eth_call', params: [1], deadline: 1000, ...more })
const asked = { method: 'eth_chainId', params: [] }

test('a question for a call waits and ends as the call does', () => {
  const { signal } = new AbortController()
  const same: Partial<Call> = { signal, attempts: 4, timeoutMs: 5, whilePaused: 'fail', tried: ['a'], stalls: 2 }
  expect(questionFor(call(same), asked)).toMatchObject({ ...asked, ...same, deadline: 1000 })
})

test('it stays with its call', () => {
  expect(questionFor(call(), asked)).toMatchObject({ isBound: false, staysPut: false })
  expect(questionFor(call({ pin: new Pin() }), asked)).toMatchObject({ isBound: true })
  expect(questionFor(stayingPut(call({ pin: new Pin() })), asked)).toMatchObject({ isBound: false, staysPut: true })
  expect(questionFor(stayingPut(call({ isBound: true })), asked)).toMatchObject({ isBound: true, staysPut: true })
})

test('it has nothing of how the result of its call is read', () => {
  const own: Partial<PooledCall> = { as: 'bytes', isUnread: true, decode: () => ({}), alone: 'always', required: true, safe: false, priority: 'bulk' }
  const question = questionFor(call({ ...own, pin: new Pin() }), asked)
  expect(question).toMatchObject({ as: 'value', required: false, safe: true, priority: 'interactive' })
  for (const field of ['isUnread', 'decode', 'alone', 'bodies', 'pin', 'record'] as const) expect(question[field]).toBeUndefined()
})
