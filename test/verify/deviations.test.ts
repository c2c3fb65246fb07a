import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { hexToBytes } from 'viem'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Block, createClient, IntegrityError, type MinedTransaction, type Receipt } from '../../src/index.ts'
import { verifyBlock } from '../../src/index-bulk.ts'
import { ListRoot } from '../../src/verify/list-root.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { writeTransaction } from '../../src/verify/transaction.ts'
import { startAnvil } from '../support/anvil.ts'
import { mineAnvilBlock, mineBlobBlock } from '../support/anvil-blocks.ts'
import { madeBlock } from '../support/decoded-blocks.ts'
import { nightly } from '../support/runs.ts'

/** When what does not fit is skipped, and when it is a failure none the less. */

interface Made {
  block: Block<true>
  receipts: Receipt[]
}

let made: Made
beforeAll(async () => {
  made = (await madeBlock()) as Made
})

const copy = (): Made => structuredClone(made)
const fieldOf = (pair: Made, options = {}) =>
  verifyBlock(pair.block, pair.receipts, options).then(
    () => 'nothing',
    (error) => (error instanceof IntegrityError ? error.field : error),
  )
const skipsOf = async (pair: Made, options = {}) => {
  const { checks, skipped } = await verifyBlock(pair.block, pair.receipts, options)
  return { checks, skipped: skipped.map(({ check, reason }) => `${check}: ${reason}`) }
}

const address = (digit: string) => `0x${digit.repeat(40)}` as const
const bytes = (text: string) => hexToBytes(text as `0x${string}`)
const sourceHash = `0x${'5c'.repeat(32)}` as const
/** Fields of a deposit, and its items without the last one. */
const deposit = { type: 0x7e, sourceHash, from: address('a'), to: address('b'), mint: '0x0', value: 7n, gas: 9n, isSystemTx: false, input: '0xabcd' }
const ofDeposit = [bytes(sourceHash), bytes(address('a')), bytes(address('b')), 0, 7, 9, 0]
const input = bytes('0xabcd')

/** A block with another transaction in it, whose hash is that of this list. */
function withTransaction(fields: { readonly type: number }, list: readonly unknown[]): Made {
  const pair = copy()
  const hash = `0x${Buffer.from(keccak_256(Uint8Array.of(fields.type, ...RLP.encode(list as never)))).toString('hex')}` as const
  const { blockHash, blockNumber, transactionIndex, r, s } = pair.block.transactions[3] as MinedTransaction
  pair.block.transactions[3] = { blockHash, blockNumber, transactionIndex, nonce: 0, gasPrice: 0n, v: 0n, r, s, ...fields, hash } as never
  return pair
}

describe('a type number that chains use for different transactions', () => {
  test.each<[string, number, { readonly type: number }, readonly unknown[]]>([
    ['a deposit of Mantle', 5000, { ...deposit, ethValue: '0x3' } as never, [...ofDeposit, 3, input]],
    // Nodes leave out what is empty.
    ['a deposit of Mantle without ETH', 5000, deposit, [...ofDeposit, 0, input]],
    ['a deposit of Kroma', 255, { ...deposit, isSystemTx: null } as never, [...ofDeposit.slice(0, -1), input]],
    [
      'a message of Scroll',
      534352,
      { type: 0x7e, queueIndex: '0x5', gas: 9n, to: address('b'), value: 7n, input: '0xabcd', sender: address('a'), from: address('a') } as never,
      [5, 9, bytes(address('b')), 7, input, bytes(address('a'))],
    ],
    [
      'a sponsored transaction of Ronin',
      2020,
      {
        ...{ type: 0x64, chainId: 2020, nonce: 1, maxPriorityFeePerGas: 1n, maxFeePerGas: 2n, gas: 9n, from: address('a'), to: address('b'), value: 7n },
        ...{ input: '0xabcd', expiredTime: '0x270f', payerV: '0x0', payerR: '0x1', payerS: '0x2' },
      } as never,
      [2020, 1, 1, 2, 9, bytes(address('b')), 7, input, 9999, 0, 1, 2, 1, 3, 4],
    ],
  ])('%s is skipped, with the reason', async (_, chainId, fields, list) => {
    const { block } = withTransaction(fields, list)
    const { checks, skipped } = await verifyBlock(block, undefined, { chainId })
    expect(checks).not.toContain('transactions')
    expect(skipped).toContainEqual({ check: 'transactions', reason: `hexline does not know this chain's transactions of type 0x${fields.type.toString(16)}` })
  })

  test.each<[string, number, object, string]>([
    ['without a sign that it is another one', 7777777, {}, 'transactions[3].hash'],
    ['with a field that op-geth adds', 7777777, { depositReceiptVersion: '0x1' }, 'transactions[3].hash'],
    ['where the type is known', 10, { ethValue: '0x3' }, 'transactions[3].hash'],
    ['on Ethereum', 1, { ethValue: '0x3' }, 'transactions[3].hash'],
    ['with a field that is not what it has to be', 7777777, { sourceHash: '0x12' }, 'transactions[3].sourceHash'],
  ])('a deposit whose hash does not fit is wrong %s', async (_, chainId, fields, field) => {
    const pair = withTransaction({ ...deposit, ...fields, value: 8n } as never, [...ofDeposit, input])
    await expect(verifyBlock(pair.block, undefined, { chainId })).rejects.toMatchObject({ field })
  })

  const funds = { type: 0x64, chainId: 42161, requestId: sourceHash, from: address('a'), to: address('b'), value: 7n, input: '0x' }
  const ofFunds = (chainId: number) => [chainId, bytes(sourceHash), bytes(address('a')), bytes(address('b')), 8]

  test.each([42161, 42170, 421614])('a deposit of Arbitrum whose hash does not fit is wrong on chain %d, whatever else it has', async (chainId) => {
    const pair = withTransaction({ ...funds, chainId, madeUp: '0x1' } as never, ofFunds(chainId))
    await expect(verifyBlock(pair.block, undefined, { chainId })).rejects.toMatchObject({ field: 'transactions[3].hash' })
  })

  test('and is skipped on another chain', async () => {
    const { block } = withTransaction({ ...funds, chainId: 7777777, madeUp: '0x1' } as never, ofFunds(7777777))
    expect((await verifyBlock(block, undefined, { chainId: 7777777 })).skipped.map(({ check }) => check)).toContain('transactions')
  })

  test('a deposit whose hash fits is known by that, whatever else it has', async () => {
    const { block } = withTransaction({ ...deposit, ethValue: '0x3' } as never, [...ofDeposit, input])
    // The block is made for another transaction.
    for (const chainId of [5000, 7777777]) await expect(verifyBlock(block, undefined, { chainId })).rejects.toMatchObject({ field: 'transactionsRoot' })
  })

  test('a transaction of Ethereum that is said to have it is found', async () => {
    for (const i of made.block.transactions.keys()) {
      const pair = copy()
      Object.assign(pair.block.transactions[i] as MinedTransaction, { type: 0x7e, ethValue: '0x3' })
      expect(await fieldOf(pair, { chainId: 5000 })).toBe(`transactions[${i}].type`)
    }
  })
})

describe('a transaction of an unknown type', () => {
  test('is skipped, with the reason', async () => {
    const pair = copy()
    const [transaction, receipt] = [pair.block.transactions[3] as MinedTransaction, pair.receipts[3] as Receipt]
    Object.assign(transaction, { type: 0x55, hash: `0x${'55'.repeat(32)}` })
    Object.assign(receipt, { type: 0x55, transactionHash: transaction.hash })
    for (const log of receipt.logs) log.transactionHash = transaction.hash
    await expect(verifyBlock(pair.block)).resolves.toMatchObject({
      skipped: [
        { check: 'transactions', reason: "hexline does not know this chain's transactions of type 0x55" },
        { check: 'receipts', reason: 'there are no receipts' },
        { check: 'size', reason: 'not all of the block can be encoded' },
      ],
    })
    // The receipts of every type are alike, and their root does not fit.
    expect(await fieldOf(pair)).toBe('receiptsRoot')
  })

  test('is found to be of another type, if its hash fits that', async () => {
    for (const i of made.block.transactions.keys()) {
      const pair = copy()
      ;(pair.block.transactions[i] as MinedTransaction).type = 0x55
      expect(await fieldOf(pair)).toBe(`transactions[${i}].type`)
    }
  })

  test('does not hide a wrong hash of another one', async () => {
    const pair = copy()
    Object.assign(pair.block.transactions[3] as MinedTransaction, { type: 0x55, hash: `0x${'55'.repeat(32)}` })
    ;(pair.block.transactions[0] as MinedTransaction).value += 1n
    expect(await fieldOf(pair)).toBe('transactions[0].hash')
  })
})

describe('a header', () => {
  test('with an unknown field is proven if the hash fits, and the field is named', async () => {
    const pair = copy()
    Object.assign(pair.block, { author: '0x00', madeUp: '0x1' })
    const { checks, uncovered } = await verifyBlock(pair.block, pair.receipts)
    expect(checks).toContain('hash')
    expect(uncovered).toEqual(['author', 'madeUp', 'transactions.from', 'receipts.from', 'receipts.contractAddress'])
  })

  test('with an unknown field is skipped if the hash does not fit', async () => {
    const pair = copy()
    Object.assign(pair.block, { hash: `0x${'12'.repeat(32)}`, blockGasCost: '0x0' })
    const { skipped } = await verifyBlock(pair.block, undefined, { level: 'header' })
    expect(skipped).toEqual([{ check: 'hash', reason: 'the header has fields that hexline does not know (blockGasCost)' }])
  })

  test.each(['author', 'l1BlockNumber', 'sendRoot', 'milliTimestamp'])('with %s, which no chain hashes, is still a failure', async (name) => {
    const pair = copy()
    Object.assign(pair.block, { gasUsed: 1n, [name]: '0x1' })
    expect(await fieldOf(pair)).toBe('hash')
  })

  test('of a chain that hashes in another way is skipped, by the option or by its transactions', async () => {
    const pair = copy()
    pair.block.gasLimit += 1n
    expect(await fieldOf(pair)).toBe('hash')
    expect((await skipsOf(pair, { chainId: 25 })).skipped).toContain('hash: its blocks have the hashes of CometBFT')
    expect(await fieldOf(pair, { chainId: 1 })).toBe('hash')
  })

  test('is no better for a transaction that names another chain than it was signed for', async () => {
    const pair = copy()
    pair.block.gasLimit += 1n
    for (const transaction of pair.block.transactions) transaction.chainId = 25
    expect(await fieldOf(pair)).toBe('hash')
  })

  test('of IBFT is skipped', async () => {
    const pair = copy()
    pair.block.mixHash = '0x63746963616c2062797a616e74696e65206661756c7420746f6c6572616e6365'
    expect((await skipsOf(pair)).skipped).toContain('hash: IBFT and QBFT leave seals out of the hash of a block')
  })
})

describe('a header with a field of a later fork', () => {
  /** A block of Shanghai whose root of withdrawals has another name. */
  const renamed = async (): Promise<Made> => {
    const pair = (await madeBlock({ until: 'withdrawalsRoot' })) as Made
    expect((await verifyBlock(pair.block, pair.receipts)).skipped).toEqual([])
    const { withdrawalsRoot, withdrawals: _, ...rest } = pair.block
    return { block: { ...rest, parentBeaconBlockRoot: withdrawalsRoot as `0x${string}` }, receipts: pair.receipts }
  }

  test('in the place of another one fails, although it has the same hash without names', async () => {
    expect(await fieldOf(await renamed())).toBe('excessBlobGas')
    expect(await fieldOf(await renamed(), { chainId: 1 })).toBe('excessBlobGas')
  })

  test('is skipped on a chain that may have its own forks', async () => {
    const { checks, skipped } = await skipsOf(await renamed(), { chainId: 4242 })
    expect(checks).not.toContain('hash')
    expect(skipped).toContain('hash: the header has fields of a later fork without those of an earlier one')
  })
})

describe('withdrawals', () => {
  test('of the OP Stack, whose root is another one, are skipped by the extra data that the hash proves', async () => {
    const made = (await madeBlock({ header: { extraData: '0x000000003200000006', withdrawalsRoot: `0x${'0e'.repeat(32)}` } })) as Made
    made.block.withdrawals = []
    const { checks, skipped } = await verifyBlock(made.block, undefined, { level: 'header', chainId: 10 })
    expect(checks).toContain('hash')
    expect(skipped).toEqual([{ check: 'withdrawals', reason: 'the OP Stack keeps the storage root of a contract there' }])
    // Of Ethereum, any block may have such extra data.
    for (const chainId of [1, 100]) expect(await fieldOf(made, { chainId })).toBe('withdrawalsRoot')
  })

  test('that are missing are a failure on any other chain', async () => {
    const pair = copy()
    pair.block.withdrawals = []
    expect(await fieldOf(pair)).toBe('withdrawalsRoot')
  })
})

describe('anvil', () => {
  test.each(nightly('blobs'))('computes the root of %s in its own way, which is skipped', async () => {
    const { block, receipts } = await mineBlobBlock()
    const { checks, skipped } = await verifyBlock(block, receipts, { senders: true })
    expect(checks).toEqual(['hash', 'uncles', 'withdrawals', 'receipts', 'prices', 'senders'])
    expect(skipped).toEqual([
      { check: 'transactions', reason: 'anvil computes the root over the sidecars of blobs' },
      { check: 'size', reason: 'not all of the block can be encoded' },
    ])
  })

  test('computes everything else as Ethereum does', async () => {
    const { block, receipts } = await mineAnvilBlock()
    expect((await verifyBlock(block, receipts, { senders: true })).checks).toEqual([
      ...['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'senders'],
    ])
  })

  test('is known by its chain id where its blocks have withdrawals and no parentBeaconBlockRoot, as in Shanghai', async () => {
    const anvil = await startAnvil({ hardfork: 'Shanghai' })
    onTestFinished(() => anvil.stop())
    const client = createClient(anvil.url)
    await client.request({ method: 'anvil_mine', params: ['0x1'] })
    const block = await client.call('eth_getBlockByNumber', 1n, true)
    await client.close()
    const { skipped } = await verifyBlock(block as NonNullable<typeof block>, [], { chainId: 31337 })
    expect(skipped).toEqual([{ check: 'size', reason: 'anvil leaves the list of withdrawals out of the size' }])
  })

  test.each(['Shanghai', 'Prague'])(
    'hashes impersonated transactions in its own way, and leaves them without a signature, which is skipped: %s',
    async (hardfork) => {
      const anvil = await startAnvil({ hardfork: hardfork as 'Shanghai' })
      onTestFinished(() => anvil.stop())
      const client = createClient(anvil.url)
      onTestFinished(() => client.close())
      const [from, to] = [address('b'), address('c')]
      const [own] = await client.call('eth_accounts')
      await client.request({ method: 'anvil_setBalance', params: [from, '0xde0b6b3a7640000'] })
      await client.request({ method: 'anvil_impersonateAccount', params: [from] })
      await client.request({ method: 'evm_setAutomine', params: [false] })
      const common = { to, value: '0x1', gas: '0x5208' }
      for (const sent of [{ from }, { from, nonce: '0x1', gasPrice: '0x77359400', type: '0x0' }, { from: own }])
        await client.request({ method: 'eth_sendTransaction', params: [{ ...common, ...sent }] })
      await client.request({ method: 'evm_mine' })
      const pair = { block: await client.call('eth_getBlockByNumber', 1n, true), receipts: await client.call('eth_getBlockReceipts', 1n) } as Made
      expect(pair.block.transactions.map(({ r }) => r === '0x0').sort()).toEqual([false, true, true])
      const { checks, skipped, uncovered } = await verifyBlock(pair.block, pair.receipts, { senders: true, chainId: 31337 })
      expect(checks).toEqual(['hash', 'uncles', 'withdrawals', 'receipts', 'prices', 'senders'])
      expect(skipped).toEqual([
        { check: 'transactions', reason: 'anvil hashes impersonated transactions in its own way' },
        { check: 'size', reason: 'not all of the block can be encoded' },
      ])
      expect(uncovered).toContain('transactions.from')
      // Others of the block are held to their hashes and their senders.
      const signed = pair.block.transactions.findIndex(({ r }) => r !== '0x0')
      const changed = structuredClone(pair)
      ;(changed.block.transactions[signed] as MinedTransaction).value += 1n
      expect(await fieldOf(changed, { chainId: 31337 })).toBe(`transactions[${signed}].hash`)
      const stolen = structuredClone(pair)
      ;(stolen.block.transactions[signed] as MinedTransaction).from = to
      expect(await fieldOf(stolen, { senders: true, chainId: 31337 })).toBe(`transactions[${signed}].from`)
      // A header of Cancun proves that the chain is local; before, only its id does.
      if (hardfork === 'Prague') expect((await skipsOf(pair)).skipped).toContain('transactions: anvil hashes impersonated transactions in its own way')
      else expect(await fieldOf(pair, { chainId: 1 })).toMatch(/^transactions\[\d\]\.hash$/)
    },
  )

  test('is the only one that may do so', async () => {
    const pair = copy()
    Object.assign(pair.block.transactions[3] as MinedTransaction, { r: '0x0', s: '0x0' })
    for (const chainId of [1, 56, 10, 4242]) expect(await fieldOf(pair, { chainId })).toBe('transactions[3].hash')
  })

  test('is not taken for BNB Smart Chain, whose parentBeaconBlockRoot is zero, too', async () => {
    const zero = { parentBeaconBlockRoot: `0x${'0'.repeat(64)}` }
    const made = (await madeBlock({ header: zero })) as Made
    expect((await skipsOf(made, { chainId: 56 })).skipped).toEqual([])
    made.block.size += 1n
    expect(await fieldOf(made, { chainId: 56 })).toBe('size')
    expect((await skipsOf(made, { chainId: 31337 })).skipped).toEqual(['size: anvil leaves the list of withdrawals out of the size'])
    const other = (await madeBlock({ header: { ...zero, transactionsRoot: `0x${'0e'.repeat(32)}` } })) as Made
    expect(await fieldOf(other, { chainId: 56 })).toBe('transactionsRoot')
    expect((await skipsOf(other, { chainId: 31337 })).skipped).toContain('transactions: anvil computes the root over the sidecars of blobs')
  })

  test('a block of a real chain with blobs and another root is a failure', async () => {
    const made = (await madeBlock({ header: { transactionsRoot: `0x${'0e'.repeat(32)}` } })) as Made
    expect(await fieldOf(made)).toBe('transactionsRoot')
  })

  test('a block without blobs and another root is a failure, too', async () => {
    const mixed = await mineAnvilBlock()
    ;[mixed.block.transactions[0], mixed.block.transactions[1]] = [
      mixed.block.transactions[1] as MinedTransaction,
      mixed.block.transactions[0] as MinedTransaction,
    ]
    expect(await fieldOf(mixed)).toBe('transactions[0].transactionIndex')
    for (const [i, transaction] of mixed.block.transactions.entries()) transaction.transactionIndex = i
    await expect(verifyBlock(mixed.block)).rejects.toMatchObject({ field: 'transactionsRoot' })
  })
})

describe('a legacy transaction without a signature', () => {
  /** A block whose first transaction has zeros for a signature. Its hash and its root hold. */
  const unsigned = async (number: bigint, changed: object = {}) => {
    const { block } = await madeBlock({ number })
    const zeros = { v: 0n, r: '0x0', s: '0x0', chainId: null, yParity: null, ...changed }
    const transaction = { ...block.transactions[0], ...zeros } as unknown as MinedTransaction
    const writer = new RlpWriter()
    const transactions = [transaction, ...block.transactions.slice(1)]
    const transactionsRoot = new ListRoot(writer).of(transactions.length, (i) => writeTransaction(writer, transactions[i] as MinedTransaction))
    writer.clear()
    writeTransaction(writer, transaction)
    writer.hash()
    const hash = writer.digest() as `0x${string}`
    const made = (await madeBlock({ number, header: { transactionsRoot } })).block
    const first = { ...(made.transactions[0] as MinedTransaction), ...zeros, hash }
    return { ...made, size: undefined, transactions: [first, ...made.transactions.slice(1)] } as unknown as Block<true>
  }
  const BEDROCK = 105_235_063n
  const verified = async (chainId: number | undefined, number = BEDROCK - 1n, changed: object = {}) =>
    verifyBlock(await unsigned(number, changed), undefined, { senders: true, ...(chainId !== undefined && { chainId }) })

  test.each([10, 4242])('is left out of the senders on chain %d, which says that its sender is not proven', async (chainId) => {
    const { checks, uncovered } = await verified(chainId)
    expect(checks).toEqual(expect.arrayContaining(['hash', 'transactions', 'senders']))
    expect(uncovered).toEqual(['transactions.from'])
  })

  test.each<[string, number | undefined, (bigint | undefined)?, object?]>([
    ['on Ethereum', 1],
    ['on Base', 8453],
    ['on an unknown chain', undefined],
    ['on OP Mainnet since Bedrock', 10, BEDROCK],
    ['with a v', 10, undefined, { v: 27n }],
  ])('is refused %s', async (_, chainId, number, changed) => {
    await expect(verified(chainId, number, changed)).rejects.toMatchObject({ field: 'transactions[0].from', expected: 'the sender of a valid signature' })
  })
})

describe('Polygon', () => {
  test('adds a transaction for state sync, which is in no root, and is recognized by its hash', async () => {
    const pair = copy()
    const { block, receipts } = pair
    const key = Buffer.alloc(8)
    key.writeBigUInt64BE(block.number)
    const hash =
      `0x${Buffer.from(keccak_256(Buffer.concat([Buffer.from('matic-bor-receipt-'), key, Buffer.from(String(block.hash).slice(2), 'hex')]))).toString('hex')}` as const
    const zero = `0x${'0'.repeat(40)}` as const
    const place = { blockHash: block.hash as `0x${string}`, blockNumber: block.number, transactionIndex: receipts.length }
    block.transactions.push({ ...(block.transactions[0] as MinedTransaction), ...place, hash, from: zero, to: zero })
    receipts.push({ ...(receipts[0] as Receipt), ...place, transactionHash: hash, logs: [], gasUsed: 0n, cumulativeGasUsed: 0n })
    const { checks, skipped } = await skipsOf(pair, { chainId: 137 })
    expect(checks).toEqual(expect.arrayContaining(['transactions', 'receipts']))
    expect(skipped).toContain('transactions: a transaction of Polygon for state sync, and its receipt, are in no root')
    // On another chain, it was added.
    expect(await fieldOf(pair, { chainId: 1 })).toBe('transactions[7].hash')
    // What it is said to hold is proven by nothing, and may be anything.
    receipts[7] = null as never
    expect((await skipsOf(pair, { chainId: 137 })).checks).toEqual(checks)
    ;(block.transactions[7] as MinedTransaction).hash = `0x${'12'.repeat(32)}`
    expect(await fieldOf(pair, { chainId: 137 })).toBe('transactions[7].hash')
  })
})

describe('Hyperliquid', () => {
  test.each<[string, (pair: Made) => void]>([
    ['the root', ({ block }) => (block.receiptsRoot = `0x${'0e'.repeat(32)}`)],
    ['a receipt of the system', ({ receipts }) => receipts.push(receipts[0] as Receipt)],
    ['indexes of logs', ({ receipts }) => ((receipts[1] as Receipt).logs[0] as { logIndex: number }).logIndex++],
    ['gas', ({ receipts }) => ((receipts[0] as Receipt).cumulativeGasUsed += 1n)],
  ])('has transactions of its system that no root holds: %s', async (_, change) => {
    const { receiptsRoot } = made.block
    const pair = (await madeBlock({ header: { receiptsRoot } })) as Made
    change(pair)
    if (pair.block.receiptsRoot !== receiptsRoot) pair.block = (await madeBlock({ header: { receiptsRoot: pair.block.receiptsRoot } })).block
    expect((await skipsOf(pair, { chainId: 999 })).skipped).toEqual(['receipts: Hyperliquid has system transactions that no root holds'])
    expect(await fieldOf(pair, { chainId: 1 })).toMatch(/^receipts/)
  })

  test('has a transactions root without them', async () => {
    const pair = (await madeBlock({ header: { transactionsRoot: `0x${'0e'.repeat(32)}` } })) as Made
    expect((await skipsOf(pair, { chainId: 999 })).skipped).toContain('transactions: Hyperliquid has system transactions that no root holds')
    expect(await fieldOf(pair, { chainId: 1 })).toBe('transactionsRoot')
  })
})

test('prices and sizes of chains with their own rules are skipped, and are failures on Ethereum', async () => {
  const pair = copy()
  ;(pair.receipts[3] as Receipt).effectiveGasPrice = 1n
  expect(await fieldOf(pair, { chainId: 1 })).toBe('receipts[3].effectiveGasPrice')
  expect((await skipsOf(pair, { chainId: 5000 })).skipped).toEqual(['prices: this chain may have other prices than Ethereum'])
  pair.block.size += 1n
  expect((await skipsOf(pair, { chainId: 5000 })).skipped[1]).toBe('size: this chain may count the size of a block in another way')
})
