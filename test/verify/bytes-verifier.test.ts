import { beforeAll, expect, test } from 'vitest'
import { CodecError, IntegrityError } from '../../src/index.ts'
import { type BytesVerifierOptions, createBytesVerifier } from '../../src/verify/bytes-verifier.ts'
import { type MadeBlock, madeBlock, madeJson } from '../support/decoded-blocks.ts'

let made: MadeBlock
beforeAll(async () => {
  made = await madeJson()
})

const FULL: BytesVerifierOptions = { isFull: true, level: 'full', senders: false, chainId: 1 }
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))

test('a block is proven by its JSON, with senders if they are wanted', async () => {
  const json = { block: bytesOf(made.block), receipts: bytesOf(made.receipts) }
  const checks = ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size']
  const uncovered = ['transactions.from', 'receipts.from', 'receipts.contractAddress']
  expect((await createBytesVerifier(FULL))(json)).toEqual({ checks, skipped: [], uncovered })
  expect((await createBytesVerifier({ ...FULL, senders: true }))(json).checks).toEqual([...checks, 'senders'])
})

test('a block with hashes is read as such, and without receipts has none', async () => {
  const verify = await createBytesVerifier({ ...FULL, isFull: false })
  const block = bytesOf({ ...made.block, transactions: made.block.transactions.map(({ hash }) => hash) })
  expect(verify({ block, receipts: undefined }).skipped).toEqual([
    { check: 'transactions', reason: 'the block has only the hashes of its transactions' },
    { check: 'receipts', reason: 'there are no receipts' },
  ])
  expect(() => verify({ block: bytesOf(made.block), receipts: undefined })).toThrow(CodecError)
})

test('level and chain are those of the options', async () => {
  const json = { block: bytesOf({ ...made.block, gasLimit: '0x1' }), receipts: undefined }
  const [header, cronos] = await Promise.all([
    createBytesVerifier({ ...FULL, level: 'header' }),
    createBytesVerifier({ ...FULL, level: 'header', chainId: 25 }),
  ])
  expect(() => header(json)).toThrow(IntegrityError)
  expect(cronos(json).skipped).toEqual([{ check: 'hash', reason: 'its blocks have the hashes of CometBFT' }])
})

test('what was decoded before is not decoded again', async () => {
  const verify = await createBytesVerifier(FULL)
  const whole = await madeBlock()
  expect(verify({ block: Buffer.from('not JSON'), receipts: undefined }, whole).skipped).toEqual([])
})
