import { RLP } from '@ethereumjs/rlp'
import { type Hex, hexToBytes } from 'viem'
import { describe, expect, test } from 'vitest'
import { hasRoot, type RootedReceipt, receiptFields, writeReceipt } from '../../src/verify/receipt.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { written } from '../support/written.ts'

const writer = new RlpWriter()
const encoded = (receipt: object, type: number): Hex => {
  writer.clear()
  writeReceipt(writer, receipt as RootedReceipt, type)
  return written(writer)
}
const hexOf = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

const address: Hex = `0x${'a1'.repeat(20)}`
const topic: Hex = `0x${'b2'.repeat(32)}`
const logsBloom: Hex = `0x${'00'.repeat(255)}01`
const logs = [
  { address, topics: [topic, topic], data: '0x1234' },
  { address, topics: [], data: '0x' },
]
const receipt = { status: 1, cumulativeGasUsed: 300n, logsBloom, logs }
const ofLogs = [
  [hexToBytes(address), [hexToBytes(topic), hexToBytes(topic)], hexToBytes('0x1234')],
  [hexToBytes(address), [], new Uint8Array()],
]
const content = [300, hexToBytes(logsBloom), ofLogs]

describe('writeReceipt', () => {
  test.each([0, 1, 2, 3, 4, 0x6a, 0x7f])('of type %i: the type, unless it is 0, and a list', (type) => {
    const payload = RLP.encode([1, ...content] as never)
    expect(encoded(receipt, type)).toBe(hexOf(type === 0 ? payload : Uint8Array.of(type, ...payload)))
  })

  test('writes an empty string for the status of a transaction that failed', () => {
    expect(encoded({ ...receipt, status: 0 }, 0)).toBe(hexOf(RLP.encode([0, ...content] as never)))
  })

  test('before Byzantium, writes the state root in place of the status, which some nodes add', () => {
    const expected = hexOf(RLP.encode([hexToBytes(topic), ...content] as never))
    expect(encoded({ ...receipt, root: topic, status: undefined }, 0)).toBe(expected)
    expect(encoded({ ...receipt, root: topic }, 0)).toBe(expected)
    expect([hasRoot({ root: topic }), hasRoot({ root: '0x' }), hasRoot({}), hasRoot({ root: null } as never)]).toEqual([true, false, false, false])
  })

  test('of a deposit of the OP Stack: nonce and version, since Canyon', () => {
    const deposit = { ...receipt, depositNonce: 4, depositReceiptVersion: 1 }
    expect(encoded(deposit, 0x7e)).toBe(hexOf(Uint8Array.of(0x7e, ...RLP.encode([1, ...content, 4, 1] as never))))
    expect(encoded({ ...deposit, depositReceiptVersion: undefined }, 0x7e)).toBe(encoded(receipt, 0x7e))
    expect(() => encoded({ ...deposit, depositNonce: undefined }, 0x7e)).toThrow('depositNonce: expected')
  })

  test.each([
    [{ status: undefined }, 'status: expected a quantity'],
    [{ logsBloom: '0x' }, 'logsBloom: expected 256 bytes'],
    [{ logs: [{ address, topics: ['0x12'], data: '0x' }] }, 'logs[0].topics[0]: expected 32 bytes'],
    [{ logs: [...logs, null] }, 'logs[2]: expected an object'],
    [{ logs: [{ ...logs[0], address: topic }] }, 'logs[0].address: expected 20 bytes'],
  ])('refuses %o', (change, message) => expect(() => encoded({ ...receipt, ...change }, 0)).toThrow(message))

  test('covers these fields', () => {
    expect([...receiptFields].sort()).toEqual(
      ['cumulativeGasUsed', 'depositNonce', 'depositReceiptVersion', 'logs', 'logsBloom', 'root', 'status', 'type'].sort(),
    )
  })
})
