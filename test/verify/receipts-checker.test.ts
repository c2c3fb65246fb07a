import { beforeAll, describe, expect, test } from 'vitest'
import { type Block, IntegrityError, type Log, type Receipt, type Transaction } from '../../src/index.ts'
import { ListRoot } from '../../src/verify/list-root.ts'
import { ReceiptsChecker, type ReceiptsToCheck } from '../../src/verify/receipts-checker.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { madeBlock } from '../support/decoded-blocks.ts'

/*
 * Every alteration is found: alterations.test.ts. Here: what is found first, and what is not a
 * fault.
 */

const writer = new RlpWriter()
const checker = new ReceiptsChecker(writer, new ListRoot(writer))

let made: { readonly block: Block<true>; readonly receipts: Receipt[] }
beforeAll(async () => {
  made = await madeBlock()
})

type Parts = Omit<ReceiptsToCheck, 'transactions'> & { transactions: Transaction[] | undefined; receipts: Receipt[] }

/** What is wrong once `change` has changed a copy; undefined if nothing is. */
function faultOf(change: (parts: Parts) => void): string | undefined {
  const { block, receipts } = structuredClone(made)
  const parts: Parts = { block, receipts, count: receipts.length, transactions: block.transactions, chainId: 1 }
  change(parts)
  try {
    return checker.check(parts)
  } catch (error) {
    if (error instanceof IntegrityError) return error.message
    throw error
  }
}
const at = <T>(list: readonly T[], index: number) => list[index] as T
/** The transaction that makes a contract, and its receipt. */
const CREATION = 1

test('right receipts pass, with or without their transactions', () => {
  expect(faultOf(() => {})).toBeUndefined()
  expect(
    faultOf((parts) => {
      parts.transactions = undefined
    }),
  ).toBeUndefined()
})

describe('is found and named', () => {
  test.each<[string, (parts: Parts) => void, string]>([
    ['a receipt too few', ({ receipts }) => receipts.pop(), 'block 7: receipts: expected 7, found 6'],
    ['no receipt', ({ receipts }) => receipts.splice(2, 1, null as never), 'receipts[2]: expected a receipt, found null'],
    ['another transaction', ({ receipts }) => (at(receipts, 2).transactionHash = at(receipts, 3).transactionHash), 'receipts[2].transactionHash: expected 0x'],
    ['no cumulative gas', ({ receipts }) => (at(receipts, 3).cumulativeGasUsed = 5 as never), 'receipts[3].cumulativeGasUsed: expected a quantity, found 5'],
    ['gas that is not the difference', ({ receipts }) => (at(receipts, 3).gasUsed += 1n), 'receipts[3].gasUsed: expected 21001n, found 21002n'],
    [
      'gas that is not of the block, before Amsterdam',
      ({ block }) => {
        ;(block as Block).blockAccessListHash = null as never
        ;(block as Block).gasUsed += 1n
      },
      `receipts[6].cumulativeGasUsed: expected ${21_000 * 7 + 7}n, found ${21_000 * 7 + 6}n`,
    ],
    ['another sender', ({ receipts }) => (at(receipts, 3).from = at(receipts, 3).to as never), 'receipts[3].from: expected 0x'],
    ['a receiver of none', ({ receipts }) => (at(receipts, CREATION).to = at(receipts, 0).from), 'receipts[1].to: expected null, found 0x'],
    ['a contract of none', ({ receipts }) => (at(receipts, 0).contractAddress = at(receipts, 0).from), 'receipts[0].contractAddress: expected null, found 0x'],
    ['no contract', ({ receipts }) => (at(receipts, CREATION).contractAddress = null), 'receipts[1].contractAddress: expected 0x'],
    [
      'a sender who can make no contract',
      ({ receipts, transactions }) => {
        at(transactions as Transaction[], CREATION).from = '0x12'
        at(receipts, CREATION).from = '0x12'
      },
      'receipts[1].from: expected 20 bytes in hex, found "0x12"',
    ],
    ['blob gas', ({ receipts }) => (at(receipts, 4).blobGasUsed = 1n), 'receipts[4].blobGasUsed: expected 131072n, found 1n'],
    ['no logs', ({ receipts }) => (at(receipts, 1).logs = null as never), 'receipts[1].logs: expected an array, found null'],
    ['no log', ({ receipts }) => at(receipts, 1).logs.splice(0, 1, null as never), 'receipts[1].logs[0]: expected a log, found null'],
    ['a log of another place', ({ receipts }) => (at(at(receipts, 2).logs, 1).logIndex = 1), 'receipts[2].logs[1].logIndex: expected 2, found 1'],
    ['a removed log', ({ receipts }) => (at(at(receipts, 1).logs, 0).removed = true), 'receipts[1].logs[0].removed: expected false, found true'],
    [
      'a log of nobody',
      ({ receipts }) => (at(at(receipts, 1).logs, 0).address = null as never),
      'receipts[1].logs[0].address: expected bytes in hex, found null',
    ],
    [
      'a topic of nothing',
      ({ receipts }) => (at(at(receipts, 1).logs, 0).topics = [null] as never),
      'receipts[1].logs[0].topics[0]: expected bytes in hex, found null',
    ],
    ['no topics', ({ receipts }) => (at(at(receipts, 1).logs, 0).topics = null as never), 'receipts[1].logs[0].topics: expected an array, found null'],
    ['logs that are left out', ({ receipts }) => (at(receipts, 2).logs = []), 'receipts[2].logsBloom: expected "0x0000'],
    ['data of a log', ({ receipts }) => (at(at(receipts, 1).logs, 0).data = '0x00'), 'receiptsRoot: expected 0x'],
    ['data that is not hex', ({ receipts }) => (at(at(receipts, 1).logs, 0).data = '0xz0'), 'receipts[1].logs[0].data: expected bytes in hex'],
    ['the bloom of the block', ({ block }) => ((block as Block).logsBloom = `0x${'00'.repeat(256)}`), 'block 7: logsBloom: expected "0x0000'],
  ])('%s', (_, change, message) => expect(faultOf(change)).toContain(message))
})

describe('is not a fault', () => {
  test.each<[string, (parts: Parts) => void]>([
    [
      'a type that is absent, where the transaction has one',
      ({ receipts }) => {
        for (const receipt of receipts) delete (receipt as Partial<Receipt>).type
      },
    ],
    [
      'capitals of a checksum',
      ({ receipts }) => (at(receipts, CREATION).contractAddress = `0x${at(receipts, CREATION).contractAddress?.slice(2).toUpperCase()}`),
    ],
    [
      'no contract of a transaction that failed',
      ({ receipts }) => {
        expect(at(receipts, 6)).toMatchObject({ status: 0, to: null })
        at(receipts, 6).contractAddress = null
      },
    ],
    ['blob gas that is absent', ({ receipts }) => (at(receipts, 4).blobGasUsed = null as never)],
    ['gas that the header counts in another way, since Amsterdam', ({ block }) => ((block as Block).gasUsed += 1n)],
  ])('%s', (_, change) => expect(faultOf(change)).toBeUndefined())

  test('without transactions, what follows from them alone', () => {
    expect(
      faultOf((parts) => {
        parts.transactions = undefined
        at(parts.receipts, 3).from = '0x12'
        at(parts.receipts, 0).contractAddress = '0x12'
      }),
    ).toBeUndefined()
  })
})

describe('without transactions and types', () => {
  const untyped = (change: (parts: Parts) => void = () => {}) =>
    faultOf((parts) => {
      parts.transactions = undefined
      delete (at(parts.receipts, 3) as Partial<Receipt>).type
      change(parts)
    })

  test('a root that does not fit proves nothing, with the reason', () => {
    expect(untyped()).toBe('a receipt has no type, and the block has only the hashes of its transactions')
  })

  test('a root that fits is proven, since a receipt of type 0 has none in it', () => {
    const fault = faultOf((parts) => {
      parts.transactions = undefined
      for (const receipt of parts.receipts) if (receipt.type === 0) delete (receipt as Partial<Receipt>).type
    })
    expect(fault).toBeUndefined()
  })

  test('what is wrong without the root is found', () => {
    expect(untyped(({ receipts }) => (at(receipts, 3).gasUsed += 1n))).toContain('receipts[3].gasUsed: expected')
    expect(untyped(({ block }) => ((block as Block).logsBloom = `0x${'00'.repeat(256)}`))).toContain('block 7: logsBloom: expected')
  })
})

describe('before Byzantium, without the state root of a receipt', () => {
  /** A block whose root covers a state in place of each status. */
  const early = (change: (parts: Parts) => void = () => {}) =>
    faultOf((parts) => {
      const block = { ...parts.block, number: 4_369_999n, difficulty: 10n ** 10n, receiptsRoot: `0x${'e1'.repeat(32)}` }
      for (const each of [...parts.receipts, ...(parts.transactions as Transaction[])]) Object.assign(each, { type: 0, blockNumber: block.number })
      for (const log of parts.receipts.flatMap(({ logs }) => logs)) Object.assign(log, { blockNumber: block.number })
      Object.assign(parts, { block })
      change(parts)
    })
  const REASON = 'the node gives a receipt from before Byzantium without its state root'

  test('a root that does not fit proves nothing, with the reason', () => {
    expect(early()).toBe(REASON)
    expect(early((parts) => (parts.transactions = undefined))).toBe(REASON)
  })

  test('what is wrong without the root is found', () => {
    expect(early(({ receipts }) => (at(receipts, 3).gasUsed += 1n))).toContain('receipts[3].gasUsed: expected')
    expect(early(({ block }) => ((block as Block).logsBloom = `0x${'00'.repeat(256)}`))).toContain('logsBloom: expected')
  })

  test.each<[string, (parts: Parts) => void]>([
    ['on another chain', (parts) => Object.assign(parts, { chainId: 10 })],
    ['with the difficulty of a test network', ({ block }) => Object.assign(block, { difficulty: 131_072n })],
    ['on an unknown chain', (parts) => Object.assign(parts, { chainId: undefined })],
    ['where each receipt has its state root', ({ receipts }) => receipts.map((receipt) => Object.assign(receipt, { root: `0x${'ab'.repeat(32)}` }))],
    ['with a type of a later fork', ({ receipts, transactions }) => [at(receipts, 3), at(transactions as Transaction[], 3)].map((each) => (each.type = 2))],
    [
      'in a later block',
      ({ block, receipts }) => {
        ;(block as Block).number = 4_370_000n
        for (const each of [...receipts, ...receipts.flatMap(({ logs }) => logs)]) Object.assign(each, { blockNumber: 4_370_000n })
      },
    ],
  ])('it is a failure %s', (_, change) => expect(early(change)).toContain('receiptsRoot: expected'))
})

test('a receipt after those that the roots cover is not looked at', () => {
  const after = (parts: Parts) => {
    parts.receipts.push({ logs: [{} as Log] } as unknown as Receipt)
    parts.block.transactions.push('0x' as never)
  }
  expect(faultOf(after)).toBeUndefined()
})

test('no receipts have used no gas', () => {
  const none = (gasUsed: bigint) => (parts: Parts) => {
    const block = {
      ...parts.block,
      blockAccessListHash: undefined,
      transactions: [],
      gasUsed,
      receiptsRoot: EMPTY,
      logsBloom: `0x${'00'.repeat(256)}`,
    } as unknown as Block
    Object.assign(parts, { block, receipts: [], count: 0, transactions: [] })
  }
  expect(faultOf(none(0n))).toBeUndefined()
  expect(faultOf(none(1n))).toBe('block 7: receipts: expected 1n, found 0n')
})
const EMPTY = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
