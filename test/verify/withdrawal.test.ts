import { RLP } from '@ethereumjs/rlp'
import { hexToBytes } from 'viem'
import { expect, test } from 'vitest'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { writeWithdrawal } from '../../src/verify/withdrawal.ts'
import { written } from '../support/written.ts'

const writer = new RlpWriter()
const address = `0x${'a1'.repeat(20)}` as const
const withdrawal = { index: 70_000, validatorIndex: 0, address, amount: 2n ** 64n - 1n }

test('a withdrawal is the list of EIP-4895', () => {
  writer.clear()
  writeWithdrawal(writer, withdrawal)
  const expected = RLP.encode([70_000, 0, hexToBytes(address), 2n ** 64n - 1n])
  expect(written(writer)).toBe(`0x${Buffer.from(expected).toString('hex')}`)
})

test.each([
  [null, 'expected an object, received null'],
  ['0x', 'expected an object'],
  [{ ...withdrawal, address: '0x12' }, 'address: expected 20 bytes in hex, received "0x12"'],
  [{ ...withdrawal, amount: undefined }, 'amount: expected a quantity'],
])('refuses %o', (value, message) => expect(() => writeWithdrawal(writer, value)).toThrow(message))
