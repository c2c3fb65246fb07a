import { Block, JsonRpcProvider, Network } from 'ethers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agreesWithEthers, BlockFormat, isSameBlock } from '../../../../adapters/ethers/format/format-block.ts'
import { sampleBlock } from '../../../../adapters/ethers/format/samples.ts'
import { hasCorpus, noCorpus, readBlocks } from '../../../support/corpus.ts'
import { runs } from '../../../support/runs.ts'

const provider = new JsonRpcProvider('http://127.0.0.1:1', 1, { staticNetwork: true })
const mainnet = Network.from(1)
const format = new BlockFormat()

const byEthers = (raw: unknown) => provider._wrapBlock(structuredClone(raw) as never, mainnet)
const byHexline = (raw: unknown) => new Block(format.block(raw), provider)

/** The result of a formatter, or that it throws. */
function attempt(make: () => Block): Block | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

it('agrees with the installed ethers; otherwise the fast formatter is never used', () => {
  expect(agreesWithEthers(byHexline as never, byEthers as never)).toBe(true)
})

it('disagrees if ethers shows something else, or refuses the block', () => {
  const hidden = (raw: never) => byEthers({ ...(raw as object), nonce: '0x0000000000000001' } as never)
  expect(agreesWithEthers(byHexline as never, hidden as never)).toBe(false)
  const refused = () => expect.fail('refused')
  expect(agreesWithEthers(byHexline as never, refused)).toBe(false)
})

it('detects a difference in any field that ethers shows', () => {
  const before = byEthers(sampleBlock())
  for (const key of Object.keys(sampleBlock()).filter((key) => key !== 'logsBloom' && key !== 'transactions')) {
    const changed = {
      ...sampleBlock(),
      [key]: key === 'miner' ? `0x${'11'.repeat(20)}` : key === 'extraData' || key === 'nonce' ? '0xff' : `0x${'77'.repeat(32)}`,
    }
    const other = attempt(() => byEthers(changed))
    if (other !== undefined) expect(isSameBlock(before, other), key).toBe(false)
  }
  const transactions = (sampleBlock().transactions as object[]).map((each, i) => (i === 4 ? { ...each, s: `0x${'2c'.repeat(32)}` } : each))
  expect(isSameBlock(before, byEthers({ ...sampleBlock(), transactions }))).toBe(false)
})

it('does not change its input', () => {
  const raw = sampleBlock()
  byHexline(raw)
  expect(raw).toEqual(sampleBlock())
})

describe('real blocks', () => {
  const files = readBlocks()
  it.skipIf(!hasCorpus)(`there are some (otherwise ${noCorpus})`, () => expect(files.length).toBeGreaterThan(10))
  it.each(files)('$name: the same as by ethers', ({ block }) => {
    expect(isSameBlock(byHexline(block), byEthers(block))).toBe(true)
  })
})

const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => `0x${value.toString(16)}`)
const small = fc.nat(2 ** 31 - 1).map((value) => `0x${value.toString(16)}`)
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((value) => `0x${Buffer.from(value).toString('hex')}`)
const hash = bytes(32)
const address = bytes(20)
const perhaps = <T>(field: fc.Arbitrary<T>) => fc.option(fc.option(field, { nil: null }), { nil: undefined, freq: 8 })
/** A field as nodes send it, and sometimes another value. */
const mostly = <T>(field: fc.Arbitrary<T>) =>
  fc.oneof(
    { weight: 30, arbitrary: field as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: fc.constantFrom<unknown>('0x', '0xzz', 1, null, undefined, '0xABCDEF') },
  )
const present = (record: Record<string, unknown>) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
const accessList = fc.array(
  fc.record({
    address,
    storageKeys: fc.array(
      fc.oneof(
        hash,
        hash.map((each) => `0x${each.slice(2).toUpperCase()}`),
      ),
      { maxLength: 2 },
    ),
  }),
  { maxLength: 2 },
)
const authorization = fc.record({ chainId: quantity, address, nonce: quantity, yParity: fc.constantFrom('0x0', '0x1', '0x1b', '0x1c'), r: hash, s: hash })

const transaction = fc
  .record({
    hash: mostly(hash),
    blockHash: fc.oneof(hash, fc.constant(`0x${'0'.repeat(64)}`)),
    blockNumber: mostly(small),
    transactionIndex: mostly(small),
    from: mostly(address),
    to: perhaps(fc.oneof(address, fc.constant('0x0'))),
    type: perhaps(fc.constantFrom('0x0', '0x1', '0x2', '0x3', '0x4', '0x7e', '0x')),
    chainId: perhaps(small),
    nonce: mostly(small),
    gas: mostly(quantity),
    gasPrice: perhaps(quantity),
    maxFeePerGas: perhaps(quantity),
    maxPriorityFeePerGas: perhaps(quantity),
    maxFeePerBlobGas: perhaps(quantity),
    value: mostly(quantity),
    input: mostly(bytes(5)),
    v: mostly(fc.constantFrom('0x0', '0x1', '0x1b', '0x1c', '0x25', '0x26')),
    r: hash,
    s: mostly(hash),
    accessList: perhaps(accessList),
    blobVersionedHashes: perhaps(fc.array(hash, { maxLength: 2 })),
    authorizationList: perhaps(fc.array(authorization, { maxLength: 2 })),
  })
  .map(present)

const block = fc
  .record({
    number: mostly(small),
    hash: perhaps(hash),
    parentHash: mostly(hash),
    parentBeaconBlockRoot: perhaps(hash),
    nonce: perhaps(bytes(8)),
    mixHash: perhaps(hash),
    stateRoot: perhaps(hash),
    receiptsRoot: perhaps(hash),
    transactionsRoot: perhaps(hash),
    miner: mostly(address),
    difficulty: mostly(quantity),
    gasLimit: mostly(quantity),
    gasUsed: mostly(quantity),
    timestamp: mostly(small),
    extraData: mostly(bytes(3)),
    baseFeePerGas: perhaps(quantity),
    blobGasUsed: perhaps(quantity),
    excessBlobGas: perhaps(quantity),
    transactions: fc.array(transaction, { maxLength: 3 }),
  })
  .map(present)

it('returns what ethers returns, or leaves the block to ethers, for any fields', () => {
  let read = 0
  fc.assert(
    fc.property(block, (raw) => {
      const mine = attempt(() => byHexline(raw))
      if (mine === undefined) return
      read++
      expect(isSameBlock(mine, byEthers(raw))).toBe(true)
    }),
    runs(1000),
  )
  expect(read).toBeGreaterThan(100)
})

it('makes the checksums of addresses, also after more addresses than it caches', () => {
  const one = { ...sampleBlock(), transactions: [] }
  const before = byHexline(one).miner
  for (let i = 0; i < 45_000; i++) format.block({ ...one, miner: `0x${i.toString(16).padStart(40, '0')}` })
  expect(byHexline(one).miner).toBe(before)
  expect(before).toBe('0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045')
})
