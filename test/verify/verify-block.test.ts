import { describe, expect, test } from 'vitest'
import { IntegrityError, OptionError, type Transaction } from '../../src/index.ts'
import { verifyBlock } from '../../src/index-bulk.ts'
import { hasCorpus, noCorpus } from '../support/corpus.ts'
import { decodedBlocks, madeBlock } from '../support/decoded-blocks.ts'

describe.skipIf(!hasCorpus)(`every block of the corpus${hasCorpus ? '' : ` (${noCorpus})`}`, () => {
  const blocks = decodedBlocks()

  test.each(blocks.filter(({ chainId }) => chainId === 1))('$name: hash and all roots fit', async ({ block, receipts, chainId }) => {
    const { checks, skipped } = await verifyBlock(block, receipts, { senders: true, chainId })
    const without = [
      ...(receipts === undefined ? [{ check: 'receipts', reason: 'there are no receipts' }] : []),
      ...(block.uncles.length > 0 ? ['uncles', 'size'].map((check) => ({ check, reason: 'the headers of uncles are not part of a block' })) : []),
    ]
    expect([...skipped].sort((a, b) => a.check.localeCompare(b.check))).toEqual(without.sort((a, b) => a.check.localeCompare(b.check)))
    const all = ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size', 'senders']
    expect(checks).toEqual(all.filter((name) => !without.some(({ check }) => check === name)))
  })

  test('a block with uncles that are left out: the reason why neither they nor the size can be checked', async () => {
    const { block, receipts } = blocks.find((each) => each.block.uncles.length > 0) as (typeof blocks)[number]
    const { uncles, ...rest } = block
    const { skipped } = await verifyBlock(rest as typeof block, receipts)
    expect(skipped).toEqual(
      expect.arrayContaining([
        { check: 'uncles', reason: 'the block has no list of uncles' },
        { check: 'size', reason: 'the headers of uncles are not part of a block' },
      ]),
    )
  })

  test.each([
    ['arbitrum-150000000', ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'size'], ['prices: this chain may have other prices than Ethereum']],
    ['base-goerli-1041847', ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size'], []],
    ['polygon-38102393', ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size'], []],
    [
      'cronos-11446765',
      ['uncles', 'withdrawals', 'prices'],
      [
        'hash: its blocks have the hashes of CometBFT',
        'transactions: its blocks have the hashes of CometBFT',
        'receipts: its blocks have the hashes of CometBFT',
        'size: not all of the block can be encoded',
      ],
    ],
  ])('%s: what the chain allows', async (name, expected, reasons) => {
    const { block, receipts } = blocks.find((each) => each.name === name) as (typeof blocks)[number]
    const { checks, skipped } = await verifyBlock(block, receipts)
    expect(checks).toEqual(expected)
    expect(skipped.map(({ check, reason }) => `${check}: ${reason}`)).toEqual(reasons)
  })

  test('with hashes in place of transactions, the receipts are still proven', async () => {
    const { block, receipts } = blocks.find((each) => each.name === 'mainnet-18500000') as (typeof blocks)[number]
    const hashes = { ...block, transactions: block.transactions.map(({ hash }) => hash) }
    const { checks, skipped } = await verifyBlock(hashes, receipts)
    expect(checks).toEqual(['hash', 'uncles', 'withdrawals', 'receipts'])
    expect(skipped).toEqual([{ check: 'transactions', reason: 'the block has only the hashes of its transactions' }])
  })

  test('the header alone', async () => {
    const { block } = blocks.find((each) => each.name === 'mainnet-18500000') as (typeof blocks)[number]
    expect(await verifyBlock(block, undefined, { level: 'header' })).toEqual({ checks: ['hash', 'uncles', 'withdrawals'], skipped: [], uncovered: ['size'] })
  })
})

describe('verifyBlock', () => {
  test('proves a block that viem signed and encoded', async () => {
    const { block, receipts } = await madeBlock()
    const { checks, skipped, uncovered } = await verifyBlock(block, receipts, { senders: true })
    expect(checks).toEqual(['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size', 'senders'])
    expect({ skipped, uncovered }).toEqual({ skipped: [], uncovered: [] })
  })

  test('names the sender that did not sign, not the receipts that have the right one', async () => {
    const { block, receipts } = await madeBlock()
    const [first, ...rest] = block.transactions as Transaction[]
    const forged = { ...block, transactions: [{ ...(first as Transaction), from: `0x${'1'.repeat(40)}` as const }, ...rest] }
    await expect(verifyBlock(forged as typeof block, receipts, { senders: true })).rejects.toMatchObject({
      field: 'transactions[0].from',
      expected: first?.from.toLowerCase(),
      found: `0x${'1'.repeat(40)}`,
    })
  })

  test('names the block, the field, what was expected and what was found', async () => {
    const { block, receipts } = await madeBlock()
    const error: unknown = await verifyBlock({ ...block, gasUsed: block.gasUsed + 1n }, receipts).catch((reason) => reason)
    expect(error).toBeInstanceOf(IntegrityError)
    const { field, expected, found, message, kind } = error as IntegrityError
    expect({ field, expected, kind }).toEqual({ field: 'hash', expected: block.hash, kind: 'integrity' })
    expect(found).toMatch(/^0x[0-9a-f]{64}$/)
    expect(message).toBe(`block ${block.number}: hash: expected ${block.hash}, found ${found}, which the fields of the header make`)
  })

  test.each([
    [{ level: 'link' }, "level: expected 'header' or 'full', received \"link\""],
    [{ senders: 1 }, 'senders: expected true or false, received 1'],
    [{ chainId: '1' }, 'chainId: expected a whole number of at least 1, received "1"'],
    [{ sender: true }, 'options: expected only level, senders, chainId, received "sender" (did you mean `senders`?)'],
  ])('refuses %o', async (options, message) => {
    const { block } = await madeBlock()
    const error: unknown = await verifyBlock(block, undefined, options as object).catch((reason) => reason)
    expect(error).toBeInstanceOf(OptionError)
    expect((error as Error).message).toBe(message)
  })

  test.each<[unknown, unknown, string]>([
    [null, undefined, 'block: expected an object, received null'],
    ['0x1', undefined, 'block: expected an object, received a string'],
    [{}, {}, 'receipts: expected an array, received an object'],
  ])('refuses %o with receipts %o', async (block, receipts, message) => {
    const error: unknown = await verifyBlock(block as never, receipts as never).catch((reason) => reason)
    expect(error).toBeInstanceOf(OptionError)
    expect((error as Error).message).toBe(message)
  })
})
