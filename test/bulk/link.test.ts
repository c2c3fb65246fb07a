import { describe, expect, it, test } from 'vitest'
import { Link, type LinkedReceipt, linkedFields, receiptsFault } from '../../src/bulk/link.ts'
import { IntegrityError } from '../../src/errors.ts'

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const block = (n: number, more: object = {}) => ({ number: BigInt(n), hash: hash(n), parentHash: hash(n - 1), transactions: [], ...more })

/** The error of `check`. */
function faultOf(check: () => void): string {
  try {
    check()
  } catch (error) {
    expect(error).toBeInstanceOf(IntegrityError)
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

describe('a block that follows another', () => {
  it('has the requested number and the hash of the one before as its parent; the first may have any parent', () => {
    const link = new Link()
    for (const n of [7, 8, 9]) link.follow(BigInt(n), block(n))
  })

  it.each<[string, object, string]>([
    ['another number', { number: 9n }, 'requested block 8, but received block 9'],
    ['no hash', { hash: null }, 'block 8 has no hash'],
    ['another parent', { parentHash: hash(5) }, `block 8 names ${hash(5)} as its parent, but block 7 came as ${hash(7)}`],
    ['anything as its parent', { parentHash: 'k'.repeat(5000) }, 'block 8 names an invalid hash (5000 characters) as its parent'],
    ['no parent', { parentHash: undefined }, 'block 8 names undefined as its parent'],
  ])('is refused with %s', (_, wrong, message) => {
    const link = new Link()
    link.follow(7n, block(7))
    expect(faultOf(() => link.follow(8n, block(8, wrong)))).toContain(message)
  })
})

describe('receipts', () => {
  const receipt = (n: number, blockHash = hash(7)): LinkedReceipt => ({ transactionHash: hash(n), blockHash })
  const transactions = [hash(101), { hash: hash(102) }]

  it.each<[string, LinkedReceipt[], string | undefined]>([
    ['one for each transaction', [receipt(101), receipt(102)], undefined],
    ['too few', [receipt(101)], 'block 7 has 2 transactions, but 1 receipts'],
    ['too many', [receipt(101), receipt(102), receipt(103)], 'block 7 has 2 transactions, but 3 receipts'],
    ['in another order', [receipt(102), receipt(101)], 'block 7: receipt 0 is not of transaction 0'],
    ['of another block', [receipt(101), receipt(102, hash(8))], `block 7: receipt 1 is of block ${hash(8)}, not of ${hash(7)}`],
  ])('%s', (_, receipts, message) => {
    const fault = receiptsFault(block(7, { transactions }), receipts)
    expect(fault?.message).toBe(message)
    if (message !== undefined) expect(fault).toBeInstanceOf(IntegrityError)
  })
})

describe('the fields that link a raw block', () => {
  test('are its number, hashes and transactions', () => {
    const raw = { number: '0x7', hash: hash(7), parentHash: hash(6), transactions: [hash(101)], gasUsed: '0x1' }
    expect(linkedFields(raw)).toEqual({ number: 7n, hash: hash(7), parentHash: hash(6), transactions: [hash(101)] })
  })

  test.each<[unknown, string]>([
    [null, 'transactions: expected an array, received undefined'],
    [{ transactions: {} }, 'transactions: expected an array, received an object'],
    [{ transactions: [hash(1), 5] }, 'transactions[1]: expected a transaction, received 5'],
    [{ transactions: [null] }, 'transactions[0]: expected a transaction, received null'],
    [{ transactions: [], number: '7' }, 'number: expected a hex quantity, received "7"'],
  ])('%j is not a block', (raw, message) => {
    expect(() => linkedFields(raw)).toThrow(message)
  })
})
