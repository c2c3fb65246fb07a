import { Block, type BlockTag, FeeData, id, Log, parseEther, TransactionReceipt, TransactionResponse, toBeHex, ZeroAddress, zeroPadValue } from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, ethersFlows, failureOf, network } from '../../support/ethers-flows.ts'
import { collectible, type History, makeHistory, putContracts, token } from '../../support/ethers-flows-contracts.ts'
import { isNewEthers } from '../../support/peers.ts'

let history: History
const flow = ethersFlows(async (bed) => {
  await putContracts(bed)
  history = await makeHistory(bed)
})

const transferred = id('Transfer(address,address,uint256)')
const topicOf = (address: string) => zeroPadValue(address, 32).toLowerCase()
const none = id('nothing has this hash')

describe('the node', () => {
  flow(
    'getNetwork, getBlockNumber, and _detectNetwork',
    async ({ provider }) => ({ network: await provider.getNetwork(), detected: await provider._detectNetwork(), number: await provider.getBlockNumber() }),
    ({ network: { chainId }, number }) => {
      expect(chainId).toBe(31337n)
      expect(number).toBe(3)
    },
  )

  flow(
    'getFeeData',
    ({ provider }) => provider.getFeeData(),
    (fees) => {
      expect(fees).toBeInstanceOf(FeeData)
      expect(fees.maxPriorityFeePerGas).toBe(1_000_000_000n)
      expect(fees.maxFeePerGas).toBeGreaterThan(1_000_000_000n)
    },
  )

  flow(
    'send of any method, with any kind of result, and of an unknown method',
    async ({ provider }) => ({
      id: await provider.send('net_version', []),
      object: await provider.send('eth_getBlockByNumber', ['0x1', false]),
      null: await provider.send('eth_getTransactionByHash', [none]),
      flag: await provider.send('eth_syncing', []),
    }),
    (told) => expect(told).toMatchObject({ id: '31337', object: { number: '0x1' }, null: null, flag: false }),
  )

  flow(
    'listAccounts, getSigner by index and by address, and of an unknown one',
    async ({ provider }) => ({
      accounts: (await provider.listAccounts()).map(({ address }) => address),
      first: (await provider.getSigner()).address,
      second: (await provider.getSigner(1)).address,
      named: (await provider.getSigner(carol)).address,
      beyond: await failureOf(provider.getSigner(99)),
      foreign: await failureOf(provider.getSigner(token)),
    }),
    ({ accounts, first, second, named, beyond }) => {
      expect(accounts).toHaveLength(10)
      expect([first, second, named]).toEqual([alice, bob.address, carol])
      expect(beyond.message).toBe('no such account')
    },
  )

  flow(
    'many calls at once',
    async ({ provider }) => {
      const numbers = Array.from({ length: 250 }, (_, i) => i)
      return Promise.all(numbers.map((i) => provider.getStorage(token, i, i % 2 === 0 ? 'latest' : 1)))
    },
    (values) => {
      expect(values).toHaveLength(250)
      expect(values.slice(0, 2)).toEqual([toBeHex(2, 32), toBeHex(0, 32)])
    },
  )
})

describe('accounts', () => {
  flow(
    'getBalance, getTransactionCount, getCode, getStorage, now and at a past block',
    async ({ provider }) => {
      const block1 = await provider.getBlock(1)
      return {
        balances: await Promise.all([provider.getBalance(carol), provider.getBalance(carol, 0), provider.getBalance(carol, block1?.hash ?? '')]),
        counts: await Promise.all([undefined, 'latest', 'pending', 1, 0n, '0x1', -2].map((tag) => provider.getTransactionCount(alice, tag))),
        codes: await Promise.all([provider.getCode(token), provider.getCode(carol), provider.getCode(token, 'latest')]),
        slots: await Promise.all([provider.getStorage(token, 0), provider.getStorage(token, 0n, 1), provider.getStorage(token, '0x5', 'latest')]),
      }
    },
    ({ balances, counts, codes, slots }) => {
      expect(balances).toEqual([parseEther('10001'), parseEther('10000'), parseEther('10001')])
      expect(counts).toEqual([3, 3, 3, 2, 0, 2, 2])
      expect(codes[1]).toBe('0x')
      expect(slots.map(BigInt)).toEqual([2n, 1n, 0n])
    },
  )

  flow(
    "one reply serves simultaneous identical calls, with ethers' default cache",
    async ({ make }) => {
      const provider = make({ cacheTimeout: 250, staticNetwork: network })
      const asked: unknown[] = []
      await provider.on('debug', ({ action, payload }) => {
        if (action === 'sendRpcPayload') asked.push(...[payload].flat().map(({ method }: { method: string }) => method))
      })
      const balances = await Promise.all(Array.from({ length: 4 }, () => provider.getBalance(carol)))
      const blocks = await Promise.all([provider.getBlock(1), provider.getBlock(1), provider.getBlock('0x1')])
      return { balances, blocks, asked }
    },
    ({ balances, asked }) => {
      expect(new Set(balances)).toEqual(new Set([parseEther('10001')]))
      expect(asked).toEqual(['eth_getBalance', 'eth_getBlockByNumber'])
    },
  )

  flow(
    'names, on a network without ENS',
    async ({ provider }) => ({
      resolver: await failureOf(provider.getResolver('vitalik.eth')),
      resolved: await failureOf(provider.resolveName('vitalik.eth')),
      balance: await failureOf(provider.getBalance('vitalik.eth')),
      address: await provider._getAddress(carol.toLowerCase()),
      lookedUp: await failureOf(provider.lookupAddress(carol)),
      avatar: await failureOf(provider.getAvatar('vitalik.eth')),
    }),
    ({ resolved, address }) => {
      expect(resolved).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'getEnsAddress' })
      expect(address).toBe(carol)
    },
  )
})

describe('getBlock', () => {
  const tags: [string, BlockTag][] = [
    ['a number', 1],
    ['a bigint', 3n],
    ['a hex number', '0x2'],
    ['latest', 'latest'],
    ['earliest', 'earliest'],
    ['safe', 'safe'],
    ['finalized', 'finalized'],
    ['-1, the one before the last', -1],
    ['-3', -3],
    ['a future number', 1000],
  ]
  for (const [name, tag] of tags)
    flow(
      `by ${name}, with hashes and with transactions`,
      async ({ provider }) => [await provider.getBlock(tag), await provider.getBlock(tag, true)],
      ([hashes, full]) => {
        if (tag === 1000) return expect([hashes, full]).toEqual([null, null])
        expect(hashes).toBeInstanceOf(Block)
        expect(full?.hash).toBe(hashes?.hash)
        expect(full?.prefetchedTransactions).toHaveLength(hashes?.transactions.length ?? -1)
      },
    )

  flow(
    'pending',
    async (bed) => {
      await bed.ask('eth_sendTransaction', { from: alice, to: carol, value: '0x1', gas: toBeHex(21_000) })
      const whole = (await bed.provider.getBlock('pending', true)) as Block
      const { timestamp, ...block } = whole
      // anvil fills in the current time for a pending block, which changes its hash.
      return { ...block, hash: null, hasTime: timestamp > 0, sent: whole.prefetchedTransactions }
    },
    (block) => expect(block).toMatchObject({ number: 4, hasTime: true, sent: [{ from: alice, to: carol, value: 1n }] }),
  )

  flow(
    'by hash, and by an unknown hash',
    async ({ provider }) => {
      const hash = (await provider.getBlock(3))?.hash as string
      return [await provider.getBlock(hash), await provider.getBlock(hash, true), await provider.getBlock(none)]
    },
    ([hashes, full, unknown]) => {
      expect([hashes?.number, full?.number, unknown]).toEqual([3, 3, null])
      expect(full?.prefetchedTransactions[0]).toBeInstanceOf(TransactionResponse)
    },
  )

  flow(
    "and a Block's methods: getTransaction, getPrefetchedTransaction, iteration, toJSON",
    async ({ provider }) => {
      const [hashes, full] = [(await provider.getBlock(3)) as Block, (await provider.getBlock(3, true)) as Block]
      return {
        asked: await hashes.getTransaction(1),
        byHash: await full.getTransaction(history.minted),
        prefetched: full.getPrefetchedTransaction(0),
        missing: await failureOf(hashes.getTransaction(none)),
        notPrefetched: await failureOf((async () => hashes.prefetchedTransactions)()),
        hashes: [...hashes],
        json: full.toJSON(),
        says: [full.isMined(), full.isLondon(), full.length, full.date?.toISOString()],
      }
    },
    ({ byHash, hashes, says }) => {
      // The block of an old ethers finds any transaction but this one.
      if (isNewEthers) expect(byHash.hash).toBe(history.minted)
      expect(hashes).toEqual([history.minted, history.second, history.reverted])
      expect(says).toEqual([true, true, 3, new Date((1_700_000_000 + 36) * 1000).toISOString()])
    },
  )

  flow(
    'waitForBlock is not implemented by ethers',
    ({ provider }) => failureOf(provider.waitForBlock(1)),
    (error) => expect(error).toMatchObject({ code: 'NOT_IMPLEMENTED', operation: 'waitForBlock' }),
  )
})

describe('transactions', () => {
  flow(
    'getTransaction and getTransactionReceipt, and the methods of their results',
    async ({ provider }) => {
      const hashes = Object.values(history)
      const transactions = await Promise.all(hashes.map((hash) => provider.getTransaction(hash)))
      const receipts = await Promise.all(hashes.map((hash) => provider.getTransactionReceipt(hash)))
      const [transaction, receipt] = [transactions[1] as TransactionResponse, receipts[1] as TransactionReceipt]
      return {
        transactions,
        receipts,
        around: [await transaction.confirmations(), await receipt.confirmations(), await transaction.getBlock(), await receipt.getBlock()],
        back: [await receipt.getTransaction(), receipt.fee, [...receipt], receipt.toJSON(), transaction.toJSON(), receipt.logs[0]?.toJSON()],
        ofLog: [await receipt.logs[0]?.getBlock(), await receipt.logs[0]?.getTransactionReceipt()],
      }
    },
    ({ transactions, receipts }) => {
      expect(transactions[0]).toMatchObject({ from: alice, to: carol, value: parseEther('1'), blockNumber: 1 })
      expect(receipts.map((receipt) => receipt?.status)).toEqual([1, 1, 1, 1, 0])
      expect(receipts[3]).toBeInstanceOf(TransactionReceipt)
      expect(receipts[1]?.logs).toMatchObject([{ address: token, blockNumber: 1 }])
    },
  )

  flow(
    'of an unknown hash are null',
    async ({ provider }) => [await provider.getTransaction(none), await provider.getTransactionReceipt(none), await provider.waitForTransaction(none, 0)],
    (nothing) => expect(nothing).toEqual([null, null, null]),
  )

  flow(
    'getTransactionResult, which ethers requests from no JSON-RPC node',
    ({ provider }) => failureOf(provider.getTransactionResult(history.first)),
    (error) => expect(error).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'getTransactionResult' }),
  )

  flow(
    'a pending one',
    async ({ ask, provider }) => {
      const hash = await ask<string>('eth_sendTransaction', { from: alice, to: carol, value: '0x1', gas: toBeHex(21_000) })
      return [await provider.getTransaction(hash), await provider.getTransactionReceipt(hash), await provider.getTransactionCount(alice, 'pending')]
    },
    ([transaction, receipt, count]) => {
      expect(transaction).toMatchObject({ blockNumber: null, blockHash: null, from: alice })
      expect([receipt, count]).toEqual([null, 4])
    },
  )
})

describe('getLogs', () => {
  const filters: [string, (bed: Bed) => object | Promise<object>, number][] = [
    ['of the last block', () => ({}), 2],
    ['of a range', () => ({ fromBlock: 0, toBlock: 'latest' }), 3],
    ['of a range of negative tags', () => ({ fromBlock: -2, toBlock: -1 }), 1],
    ['of an address', () => ({ address: token, fromBlock: 0 }), 2],
    ['of several addresses', () => ({ address: [token, collectible], fromBlock: 0n, toBlock: 3n }), 3],
    ['of a topic', () => ({ fromBlock: 0, topics: [transferred] }), 3],
    ['of topics at places', () => ({ fromBlock: 0, topics: [null, topicOf(bob.address), topicOf(alice)] }), 1],
    [
      'of one topic or another',
      () => ({
        fromBlock: 0,
        topics: [
          [transferred, none],
          [topicOf(alice), topicOf(ZeroAddress)],
        ],
      }),
      2,
    ],
    ['of a block by hash', async ({ provider }) => ({ blockHash: (await provider.getBlock(1))?.hash, address: token }), 1],
    ['of a block without logs', () => ({ fromBlock: 2, toBlock: 2 }), 0],
  ]
  for (const [name, filterOf, count] of filters)
    flow(
      name,
      async (bed) => bed.provider.getLogs(await filterOf(bed)),
      (logs) => {
        expect(logs).toHaveLength(count)
        for (const log of logs) expect(log).toBeInstanceOf(Log)
      },
    )

  flow(
    'refused by anvil, and refused by ethers',
    async ({ provider }) => ({
      unknown: await failureOf(provider.getLogs({ blockHash: none })),
      topic: await failureOf(provider.getLogs({ topics: ['0x12'] })),
      tag: await failureOf(provider.getLogs({ fromBlock: 'yesterday' })),
    }),
    ({ unknown, tag }) => {
      expect(unknown).toMatchObject({ code: 'UNKNOWN_ERROR', error: { message: 'unknown block' } })
      expect(tag).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'blockTag' })
    },
    // anvil has other words over a WebSocket.
    { needsHttp: true },
  )
})
