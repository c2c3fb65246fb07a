import { keccak_256 } from '@noble/hashes/sha3.js'
import { expect, test } from 'vitest'
import { stateSyncHash } from '../../src/verify/state-sync.ts'

const hash = `0x${'ab'.repeat(32)}`
const expected = (key: string) => `0x${Buffer.from(keccak_256(Buffer.from(key, 'hex'))).toString('hex')}`
const prefix = Buffer.from('matic-bor-receipt-').toString('hex')

test.each([
  [0n, '0000000000000000'],
  [38_102_393n, '0000000002456579'],
  [2n ** 64n - 1n, 'ffffffffffffffff'],
])('the hash of the transaction of block %d: prefix, number in 8 bytes, and hash', (number, key) => {
  expect(stateSyncHash(number, hash)).toBe(expected(prefix + key + 'ab'.repeat(32)))
})

test.each([[null], [`0X${'ab'.repeat(32)}`], [`0x${'ab'.repeat(31)}`], [`0x${'ab'.repeat(31)}a\u0162`]])('a block with the hash %s has none', (blockHash) => {
  expect(stateSyncHash(5n, blockHash)).toBeUndefined()
})
