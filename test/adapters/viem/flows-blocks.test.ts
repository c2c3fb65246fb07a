import { createPublicClient, type Hash, http, keccak256, pad, parseEther, type Transport, toHex } from 'viem'
import { describe, expect } from 'vitest'
import { hexline } from '../../../adapters/viem/index.ts'
import { alice, bob, carol, chain, closeHexline, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { type History, makeHistory, putContracts, token } from '../../support/viem-flows-contracts.ts'

let history: History
const flow = viemFlows(async (bed) => {
  await putContracts(bed)
  // The same over both transports, as the first test checks.
  history = await makeHistory(bed)
})

const unknown: Hash = keccak256(toHex('nothing has this hash'))

describe('blocks', () => {
  flow(
    'are the same on both nodes, down to the last hash',
    async ({ reader }) => Promise.all([0n, 1n, 2n, 3n].map((blockNumber) => reader.getBlock({ blockNumber }))),
    (blocks) => {
      expect(blocks.map((block) => block.timestamp)).toEqual([0n, 1n, 2n, 3n].map((i) => 1_700_000_000n + 12n * i))
      expect(blocks[1]?.transactions).toEqual([history.plain, history.first])
    },
  )

  flow(
    'getBlock by number, hash and tag',
    async ({ reader }) => {
      const byNumber = await reader.getBlock({ blockNumber: 3n })
      const byHash = await reader.getBlock({ blockHash: byNumber.hash })
      const byTag = await Promise.all((['latest', 'earliest', 'safe', 'finalized'] as const).map((blockTag) => reader.getBlock({ blockTag })))
      return { byNumber, byHash, byTag, byDefault: await reader.getBlock() }
    },
    ({ byNumber, byHash, byTag, byDefault }) => {
      expect(byNumber).toMatchObject({ number: 3n, transactions: expect.arrayContaining([history.second]) })
      expect([byHash, byTag[0], byDefault]).toEqual([byNumber, byNumber, byNumber])
      expect(byTag[1]?.number).toBe(0n)
    },
  )

  flow(
    'getBlock of the pending block',
    async ({ reader, unlocked }) => {
      const hash = await unlocked.sendTransaction({ to: carol, value: 9n })
      return { hash, block: await reader.getBlock({ blockTag: 'pending', includeTransactions: true }) }
    },
    ({ hash, block }) => {
      expect(block.transactions).toMatchObject([{ hash, value: 9n }])
    },
  )

  flow(
    'getBlock with its transactions',
    async ({ reader }) => reader.getBlock({ blockNumber: 3n, includeTransactions: true }),
    ({ transactions }) => {
      expect(transactions.map((each) => each.hash)).toEqual([history.minted, history.second, history.reverted])
      expect(transactions[1]).toMatchObject({ type: 'eip1559', from: bob.address.toLowerCase(), to: token, nonce: 0, blockNumber: 3n, transactionIndex: 1 })
    },
  )

  flow(
    'getBlock of an unknown block fails with BlockNotFoundError',
    async (bed) => [await failureOf(bed, bed.reader.getBlock({ blockNumber: 99n })), await failureOf(bed, bed.reader.getBlock({ blockHash: unknown }))],
    ([byNumber, byHash]) => {
      expect(byNumber?.message).toContain('Block at number "99" could not be found.')
      expect(byHash?.errors).toMatchObject([{ name: 'BlockNotFoundError' }])
    },
  )

  flow(
    'getBlockNumber, getChainId and getBlockTransactionCount',
    async ({ reader }) => [
      await reader.getBlockNumber(),
      await reader.getChainId(),
      await reader.getBlockTransactionCount(),
      await reader.getBlockTransactionCount({ blockNumber: 2n }),
    ],
    (answers) => expect(answers).toEqual([3n, 31_337, 3, 0]),
  )
})

describe('transactions', () => {
  flow(
    'getTransaction by hash, by block and index, and by a tag and index',
    async ({ reader }) => {
      const byHash = await reader.getTransaction({ hash: history.first })
      const byNumber = await reader.getTransaction({ blockNumber: 1n, index: 1 })
      const byBlockHash = await reader.getTransaction({ blockHash: byHash.blockHash as Hash, index: 1 })
      return { byHash, byNumber, byBlockHash, last: await reader.getTransaction({ blockTag: 'latest', index: 2 }) }
    },
    ({ byHash, byNumber, byBlockHash, last }) => {
      expect(byHash).toMatchObject({ hash: history.first, from: alice.toLowerCase(), nonce: 1, chainId: 31_337 })
      expect([byNumber, byBlockHash]).toEqual([byHash, byHash])
      expect(last.hash).toBe(history.reverted)
    },
  )

  flow(
    'getTransactionReceipt of a success with logs and of a revert',
    async ({ reader }) => Promise.all([history.first, history.reverted].map((hash) => reader.getTransactionReceipt({ hash }))),
    ([success, revert]) => {
      expect(success).toMatchObject({ status: 'success', logs: [{ address: token, logIndex: 0 }], transactionIndex: 1 })
      expect(revert).toMatchObject({ status: 'reverted', logs: [], blockNumber: 3n })
    },
  )

  flow(
    'getBlockReceipts and getRawTransaction',
    async ({ reader }) => ({
      receipts: await reader.getBlockReceipts({ blockNumber: 3n }),
      raw: await reader.getRawTransaction({ hash: history.second }),
    }),
    ({ receipts, raw }) => {
      expect(receipts.map((each) => each.transactionHash)).toEqual([history.minted, history.second, history.reverted])
      expect(keccak256(raw as Hash)).toBe(history.second)
    },
    { needsNew: true },
  )

  flow(
    'getTransactionConfirmations, by hash and by receipt',
    async ({ reader }) => {
      const transactionReceipt = await reader.getTransactionReceipt({ hash: history.plain })
      return [await reader.getTransactionConfirmations({ hash: history.plain }), await reader.getTransactionConfirmations({ transactionReceipt })]
    },
    (confirmations) => expect(confirmations).toEqual([3n, 3n]),
  )

  flow(
    'an unknown hash fails with the action’s own error',
    async (bed) => [
      await failureOf(bed, bed.reader.getTransaction({ hash: unknown })),
      await failureOf(bed, bed.reader.getTransactionReceipt({ hash: unknown })),
      await failureOf(bed, bed.reader.getTransaction({ blockNumber: 2n, index: 0 })),
    ],
    (failures) => {
      expect(failures.map(({ errors }) => errors)).toMatchObject([
        [{ name: 'TransactionNotFoundError' }],
        [{ name: 'TransactionReceiptNotFoundError' }],
        [{ name: 'TransactionNotFoundError' }],
      ])
    },
  )

  flow(
    'a pending transaction has no block',
    async ({ reader, unlocked }) => {
      const hash = await unlocked.sendTransaction({ to: carol, value: 1n })
      return { transaction: await reader.getTransaction({ hash }), confirmations: await reader.getTransactionConfirmations({ hash }) }
    },
    ({ transaction, confirmations }) => {
      expect(transaction).toMatchObject({ blockHash: null, blockNumber: null, transactionIndex: null, value: 1n })
      expect(confirmations).toBe(0n)
    },
  )
})

describe('state', () => {
  flow(
    'getBalance now, before and pending',
    async ({ reader, unlocked }) => {
      await unlocked.sendTransaction({ to: carol, value: 1n })
      const at = (where: object) => reader.getBalance({ address: carol, ...where })
      return [await at({}), await at({ blockNumber: 0n }), await at({ blockTag: 'pending' })]
    },
    (balances) => expect(balances).toEqual([parseEther('10001'), parseEther('10000'), parseEther('10001') + 1n]),
  )

  flow(
    'getTransactionCount now, before and pending',
    async ({ reader, unlocked }) => {
      await unlocked.sendTransaction({ to: carol, value: 1n })
      const at = (where: object) => reader.getTransactionCount({ address: alice, ...where })
      return [await at({}), await at({ blockNumber: 1n }), await at({ blockTag: 'pending' })]
    },
    (counts) => expect(counts).toEqual([3, 2, 4]),
  )

  flow(
    'getCode of a contract and of an account',
    async ({ reader }) => [await reader.getCode({ address: token }), await reader.getCode({ address: carol })],
    ([ofToken, ofCarol]) => {
      expect(ofToken).toMatch(/^0x60243580156048/)
      expect(ofCarol).toBeUndefined()
    },
  )

  flow(
    'getStorageAt now and before',
    async ({ reader }) => [
      await reader.getStorageAt({ address: token, slot: '0x0' }),
      await reader.getStorageAt({ address: token, slot: '0x0', blockNumber: 1n }),
      await reader.getStorageAt({ address: token, slot: toHex(77) }),
    ],
    (words) => expect(words).toEqual([2, 1, 0].map((n) => pad(toHex(n), { size: 32 }))),
  )

  flow(
    'getProof of an account and its storage',
    async ({ reader }) => reader.getProof({ address: token, storageKeys: [pad('0x00', { size: 32 })] }),
    (proof) => {
      expect(proof.address).toBe(token)
      expect(proof.accountProof.length).toBeGreaterThan(0)
      expect(proof.storageProof).toMatchObject([{ value: 2n, proof: [expect.stringMatching(/^0x/)] }])
    },
  )
})

describe('at request level', () => {
  flow(
    'null stays null',
    async ({ reader }) => [
      await reader.request({ method: 'eth_getTransactionByHash', params: [unknown] }),
      await reader.request({ method: 'eth_getTransactionReceipt', params: [unknown] }),
      await reader.request({ method: 'eth_getBlockByHash', params: [unknown, false] }),
      await reader.request({ method: 'eth_getBlockByNumber', params: ['0x63', false] }),
    ],
    (answers) => expect(answers).toEqual([null, null, null, null]),
  )

  flow(
    'a result is what the node sent',
    async ({ reader }) => [
      await reader.request({ method: 'eth_blockNumber' }),
      await reader.request({ method: 'web3_clientVersion' } as never),
      await reader.request({ method: 'eth_getTransactionByHash', params: [history.plain] }),
    ],
    ([number, version, transaction]) => {
      expect(number).toBe('0x3')
      expect(version).toMatch(/^anvil\//)
      expect(transaction).toMatchObject({ hash: history.plain, nonce: '0x0', value: toHex(parseEther('1')) })
    },
  )

  flow(
    "params may hold bigints, and methods may be none of viem's",
    async ({ reader }) => ({
      block: await reader.request({ method: 'eth_getBlockByNumber', params: [3n, false] } as never),
      trace: await reader.request({ method: 'debug_traceTransaction', params: [history.first, { tracer: 'callTracer' }] } as never),
      node: await reader.request({ method: 'anvil_nodeInfo' } as never),
    }),
    ({ block, trace, node }) => {
      expect(block).toMatchObject({ number: '0x3' })
      expect(trace).toMatchObject({ type: 'CALL', from: alice.toLowerCase(), to: token })
      expect(node).toMatchObject({ currentBlockNumber: '0x3', environment: { chainId: 31_337 } })
    },
  )

  flow(
    'an unknown method fails with viem’s error',
    async (bed) => failureOf(bed, bed.reader.request({ method: 'eth_madeUp', params: [1] } as never)),
    ({ errors, message }) => {
      expect(errors[0]).toMatchObject({ name: 'MethodNotFoundRpcError', code: -32601 })
      expect(message).toContain('Request body: {"method":"eth_madeUp","params":[1]}')
    },
    { isWorded: true },
  )

  flow(
    'an error of a call without params shows a body without params',
    async (bed) => failureOf(bed, bed.reader.request({ method: 'eth_madeUp' } as never)),
    ({ message }) => expect(message).toContain('Request body: {"method":"eth_madeUp"}'),
    { isWorded: true },
  )

  flow(
    'refused params fail with viem’s error',
    async (bed) => failureOf(bed, bed.reader.request({ method: 'eth_getBalance', params: ['0x12', 'latest'] } as never)),
    ({ errors }) => expect(errors[0]).toMatchObject({ name: 'InvalidParamsRpcError', code: -32602 }),
    { isWorded: true },
  )

  flow(
    'identical calls with dedupe, and many calls of one turn, each get their own answer',
    async ({ reader }) => {
      const blocks = await Promise.all(Array.from({ length: 40 }, (_, i) => reader.getBlock({ blockNumber: BigInt(i % 4) })))
      const ids = await Promise.all([1, 2, 3].map(() => reader.request({ method: 'eth_chainId' }, { dedupe: true })))
      return { numbers: blocks.map((block) => block.number), ids }
    },
    ({ numbers, ids }) => {
      expect(numbers).toEqual(Array.from({ length: 40 }, (_, i) => BigInt(i % 4)))
      expect(ids).toEqual(['0x7a69', '0x7a69', '0x7a69'])
    },
  )
})

describe('clients', () => {
  flow(
    'work without a chain, and with the URL of their chain',
    async ({ url, transport }) => {
      const ownChain = { ...chain, rpcUrls: { default: { http: [url] } } }
      const ofChain: Transport = transport({}).config.type === 'hexline' ? hexline() : http()
      const chainless = createPublicClient({ transport })
      const byChain = createPublicClient({ transport: ofChain, chain: ownChain })
      const answers = { chainless: await chainless.getBlock(), id: await chainless.getChainId(), byChain: await byChain.getBlock() }
      await closeHexline(ofChain, ownChain)
      return answers
    },
    ({ chainless, id, byChain }) => {
      expect(chainless.number).toBe(3n)
      expect(id).toBe(chain.id)
      expect(byChain).toEqual(chainless)
    },
  )
})
