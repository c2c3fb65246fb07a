import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recipientByStart, recipientOf, recipientOfPart } from '../../src/ws/recipient.ts'
import { runs } from '../support/runs.ts'

const known = (id: number) => id >= 5 && id <= 9
const of = (text: string) => recipientOf(Buffer.from(text), known)

test.each<[string, unknown]>([
  ['{"jsonrpc":"2.0","id":7,"result":1}', 7],
  ['[{"jsonrpc":"2.0","id":7,"result":1},{"jsonrpc":"2.0","id":8,"result":1}]', 7],
  ['{"jsonrpc":"2.0","method":"eth_subscription","params":{}}', 'subscription'],
  ['{"jsonrpc":"2.0","result":{"id":6,"method":"eth_subscription"},"id":7}', 7],
  [' \n{ "id" : "7" , "result" : null}', 7],
  ['{"method":"eth_subscription","jsonrpc":"2.0","params":{}}', 'subscription'],
  ['[{"jsonrpc":"2.0","id":null,"error":{}},{"id":8,"result":1}]', 8],
  ['{"jsonrpc":"2.0","id":70,"result":1}', undefined],
  ['{"jsonrpc":"2.0","id":null,"error":{}}', undefined],
  ['[{"jsonrpc":"2.0","method":"eth_subscription","params":{}},{"id":8,"result":1}]', 8],
  ['{"jsonrpc":"2.0","method":"other","params":[7]}', 'notification'],
  ['{"jsonrpc":"2.0","id":null,"method":"keep-alive"}', 'notification'],
  ['{"jsonrpc":"2.0","id":70,"method":"ping"}', 'notification'],
  ['[{"jsonrpc":"2.0","method":"other"},{"jsonrpc":"2.0","method":"other"}]', 'notification'],
  ['{"jsonrpc":"2.0","id":null,"method":"eth_call","error":{}}', undefined],
  ['{"jsonrpc":"2.0","method":"eth_call","result":1}', undefined],
  ['{"jsonrpc":"2.0","method":7}', undefined],
  ['{"jsonrpc":"2.0","method":"other","id":7}', 7],
  ['{"id":7', undefined],
  ['{"id":7} x', 7],
  ['[7]', undefined],
  ['"id"', undefined],
  ['', undefined],
])('%s', (text, recipient) => {
  expect(of(text)).toBe(recipient)
})

test('the start alone says nothing about unusual messages', () => {
  expect(recipientByStart(Buffer.from('{"jsonrpc":"2.0","id":7,'))).toBe(7)
  expect(recipientByStart(Buffer.from('{"jsonrpc":"2.0","id":7'))).toBeUndefined()
  // No comma among the first bytes, and what is no number in JSON.
  for (const id of [`${' '.repeat(40)}10,`, '10', '0x10,', '+12,', '007,', '\u00a012,', ','])
    expect(recipientByStart(Buffer.from(`{"jsonrpc":"2.0","id":${id}`, 'latin1'))).toBeUndefined()
  expect(recipientByStart(Buffer.from('{"id":7,"jsonrpc":"2.0"}'))).toBeUndefined()
})

test.each<[string, unknown]>([
  ['{"jsonrpc":"2.0","id":7,"res', 7],
  [' [ { "id" : "7", "jso', 7],
  ['{"id":7', undefined],
  ['{"jsonrpc":"2.0","result":"0x', undefined],
  ['{"jsonrpc":"2.0","id":null,"error":{"m', undefined],
  ['{"method": "eth_subscription", "params": {', 'subscription'],
  ['{"jsonrpc":"2.0","method":"debug_subscription","params":{', 'notification'],
  ['{"jsonrpc":"2.0","method":"debug_subscr', undefined],
  ['upstream', undefined],
  ['', undefined],
])('the start %s', (text, recipient) => {
  expect(recipientOfPart(Buffer.from(text))).toBe(recipient)
})

test('any bytes have a recipient or none', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect([undefined, 'subscription', 'notification', 5, 6, 7, 8, 9]).toContain(recipientOf(Buffer.from(bytes), known))
      expect(() => recipientOfPart(Buffer.from(bytes))).not.toThrow()
    }),
    runs(2000),
  )
})
