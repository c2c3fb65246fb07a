import { describe, expect, it } from 'vitest'
import { type BlockField, decodersOf } from '../../../src/bulk/blocks/fields.ts'
import { OptionError } from '../../../src/errors.ts'

const keysOf = (value: object | undefined) => Object.keys(value ?? {}).sort()
const transaction = { hash: '0x1', nonce: '0x2', value: '0x3' }
const block = () => ({ number: '0x1', hash: '0xa', parentHash: '0xb', gasUsed: '0x2', timestamp: '0x3', transactions: [{ ...transaction }] })
const receipts = () => [{ transactionHash: '0x1', blockHash: '0xa', status: '0x1', gasUsed: '0x2', logs: [] }]
const both = { full: true, receipts: true }

describe('the selected fields, and those that link a block', () => {
  it.each<[BlockField[] | undefined, string[], string[], string[]]>([
    [undefined, keysOf(block()), keysOf(transaction), keysOf(receipts()[0])],
    [['gasUsed'], ['gasUsed', 'hash', 'number', 'parentHash', 'transactions'], ['hash'], ['blockHash', 'transactionHash']],
    [['transactions.nonce'], ['hash', 'number', 'parentHash', 'transactions'], ['hash', 'nonce'], ['blockHash', 'transactionHash']],
    [['receipts.status'], ['hash', 'number', 'parentHash', 'transactions'], ['hash'], ['blockHash', 'status', 'transactionHash']],
    [['transactions', 'receipts'], ['hash', 'number', 'parentHash', 'transactions'], keysOf(transaction), keysOf(receipts()[0])],
  ])('%j', (fields, ofBlock, ofTransaction, ofReceipt) => {
    const decoders = decodersOf(fields, both)
    const decoded = decoders.block(block())
    expect(keysOf(decoded)).toEqual(ofBlock)
    expect(keysOf(decoded.transactions[0] as object)).toEqual(ofTransaction)
    expect(keysOf(decoders.receipts(receipts())[0])).toEqual(ofReceipt)
  })

  it('transactions are omitted if no field of theirs is selected', () => {
    expect(keysOf(decodersOf(['gasUsed'], { full: true, receipts: false }).block(block()))).toEqual(['gasUsed', 'hash', 'number', 'parentHash'])
  })
})

describe('refused', () => {
  it.each<[unknown, { full: boolean; receipts: boolean }, string]>([
    ['gasUsed', both, 'fields: expected an array of paths'],
    [[], both, 'fields: expected an array of paths'],
    [[5], both, 'fields: expected an array of paths'],
    [['gasUsd'], both, 'received "gasUsd"'],
    [['transactions.hsah'], both, 'received "transactions.hsah"'],
    [['receipts.hash'], both, 'received "receipts.hash"'],
    [['receipts.status'], { full: true, receipts: false }, 'receipts: true with fields of receipts'],
    [['receipts'], { full: true, receipts: false }, 'receipts: true with fields of receipts'],
    [['transactions.hash'], { full: false, receipts: true }, "transactions: 'full' with fields of transactions"],
  ])('%j with %j', (fields, what, message) => {
    const check = () => decodersOf(fields as BlockField[], what)
    expect(check).toThrow(OptionError)
    expect(check).toThrow(message)
  })
})
