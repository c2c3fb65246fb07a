import { describe, expect, it } from 'vitest'
import { CodecError } from '../../../src/errors.ts'
import { fault, moved, receivedBy, under } from '../../../src/eth/codec/codec-path.ts'

const quantity = () => fault('a hex quantity', '0x')

describe('the path of a fault', () => {
  it.each<[(string | number)[], string]>([
    [[], ''],
    [['value'], 'value'],
    [['value', 3, 'transactions'], 'transactions[3].value'],
    [[2, 1, 'reward'], 'reward[1][2]'],
    [['gas', 0], '[0].gas'],
  ])('%j, from the inside out, is %j', (steps, path) => {
    const error = steps.reduce<unknown>((inner, step) => under(inner, step), quantity()) as CodecError
    expect(error).toBeInstanceOf(CodecError)
    expect(error).toMatchObject({ path, expected: 'a hex quantity', received: '"0x"' })
  })

  it('keeps the method and the kind, unless a step names the method', () => {
    const inner = fault('an array', 5, { method: 'eth_getLogs', kind: 'malformed' })
    expect(under(inner, 'logs')).toMatchObject({ method: 'eth_getLogs', kind: 'malformed' })
    expect(under(inner, 'logs', 'eth_getBlockReceipts')).toMatchObject({ method: 'eth_getBlockReceipts', kind: 'malformed' })
    expect(moved(inner, 'a.b', { method: 'eth_call', kind: 'invalid' })).toMatchObject({ path: 'a.b', method: 'eth_call', kind: 'invalid' })
  })

  it('leaves any other error unchanged', () => {
    const other = new RangeError('no')
    expect(under(other, 'value')).toBe(other)
  })
})

describe('what was received', () => {
  it('is kept complete when the error is moved, although the message shortens it', () => {
    const long = 'x'.repeat(500)
    const error = under(under(fault('a hash', long), 0), 'topics') as CodecError
    expect(error.received.length).toBeLessThan(100)
    expect(receivedBy(error)).toEqual({ text: long, note: '' })
  })

  it('is kept only if it was a string', () => {
    expect(fault('each name once', 'a', undefined, ' twice').message).toBe('expected each name once, received "a" twice')
    expect(receivedBy(fault('each name once', 'a', undefined, ' twice'))).toEqual({ text: 'a', note: ' twice' })
    expect(receivedBy(fault('a hash', 5))).toBeUndefined()
    expect(receivedBy(fault('a hash', ['secret']))).toBeUndefined()
  })
})
