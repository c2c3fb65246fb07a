import { expect, test } from 'vitest'
import { type Call, mayLeave, ownRead, type PooledCall, patienceAfter, patienceOf } from '../../src/rpc/call.ts'
import { decodedOf, decodedReply, takeDecoded } from '../../src/rpc/decoded-reply.ts'
import { asBuffer, movedReply, releasableReply, releaseReply, replyOf } from '../../src/rpc/reply.ts'

test('a reply gives its value once, and then holds nothing', () => {
  const value = { number: '0x1' }
  const reply = replyOf(value, 40)
  expect(reply.bytes).toBe(40)
  expect(reply.take()).toBe(value)
  expect(reply.take()).toBeUndefined()
})

test('a reply is released once, by the first caller or by the reply that it was moved to', () => {
  let released = 0
  const release = () => void released++
  const twice = releasableReply('0x1', 4, release)
  releaseReply(twice)
  releaseReply(twice)
  expect(released).toBe(1)
  const first = releasableReply('0x1', 4, release)
  const moved = movedReply(first, first.take())
  releaseReply(first)
  expect(released).toBe(1)
  releaseReply(moved)
  expect([released, moved.take(), moved.bytes]).toEqual([2, '0x1', 4])
  releaseReply(replyOf('0x1'))
})

test('a decoded reply gives the decoded result or the parsed one, once', () => {
  const decoded = { number: 1n }
  const make = () => decodedReply(decoded, Buffer.from('{"number":"0x1"}'), 16)
  const first = make()
  expect([first.bytes, decodedOf(first), takeDecoded(first), takeDecoded(first), first.take()]).toEqual([16, decoded, decoded, undefined, undefined])
  const second = make()
  expect([second.take(), second.take(), takeDecoded(second)]).toEqual([{ number: '0x1' }, undefined, undefined])
  expect(takeDecoded(replyOf('0x1'))).toBeUndefined()
})

test('hexline’s own read is a safe call with one attempt by default', () => {
  const read = { method: 'eth_chainId', params: [], deadline: 1000 }
  expect(ownRead(read)).toMatchObject({ ...read, safe: true, attempts: 1, priority: 'interactive', as: 'value', required: false, tried: [] })
  expect(ownRead({ ...read, attempts: 3 }).attempts).toBe(3)
})

test('patience doubles with each reply that stopped in the middle, from the second one on', () => {
  expect([0, 1, 2, 3, Number.POSITIVE_INFINITY].map(patienceAfter)).toEqual([1, 1, 2, 4, Number.POSITIVE_INFINITY])
})

test.each<[string, Partial<Call>[], number]>([
  ['calls that never stopped', [{}, {}], 1],
  ['a call that stopped three times among others', [{}, { stalls: 3 }, { stalls: 1 }], 4],
  ['a call that must not run twice', [{}, { safe: false }], Number.POSITIVE_INFINITY],
  ['a call with one attempt', [{}, { attempts: 1 }], Number.POSITIVE_INFINITY],
])('a POST has the patience of its most patient call: %s', (_, calls, patience) => {
  const whole = calls.map((call) => ownRead({ method: 'eth_call', params: [], deadline: 1000, attempts: 4, ...call }))
  expect(patienceOf(whole)).toBe(patience)
})

test('bytes of any type become a Buffer on the same memory', () => {
  const whole = new Uint8Array([1, 2, 3, 4])
  const part = asBuffer(whole.subarray(1, 3))
  expect([...part]).toEqual([2, 3])
  whole[1] = 9
  expect(part[0]).toBe(9)
  expect(asBuffer(part)).toBe(part)
})

test.each<[string, Partial<PooledCall>, string]>([
  ['with no ties may always leave', {}, 'line: sooner, given up; flight: given up, still'],
  [
    'with a pin leaves a line only if its endpoint is given up',
    { pin: { endpoint: undefined, newest: -1, sees() {} } },
    'line: given up; flight: given up, still',
  ],
  ['that is bound does, too, and leaves a POST only when that happens', { isBound: true }, 'line: given up; flight: given up'],
  ['that stays put leaves a line', { staysPut: true }, 'line: sooner, given up; flight: '],
  ['that is bound and stays put never leaves', { isBound: true, staysPut: true }, 'line: ; flight: '],
])('a call %s', (_, more, leaves) => {
  const call: Call = { ...ownRead({ method: 'eth_call', params: [], deadline: 1 }), ...more }
  const whys = { sooner: 'another can answer', 'given up': 'given up', still: 'still given up' } as const
  const list = (from: 'line' | 'flight', names: readonly (keyof typeof whys)[]) => names.filter((name) => mayLeave(call, from, whys[name])).join(', ')
  expect(`line: ${list('line', ['sooner', 'given up'])}; flight: ${list('flight', ['sooner', 'given up', 'still'])}`).toBe(leaves)
})
