import {
  type Address,
  createPublicClient,
  createWalletClient,
  defineChain,
  type Hash,
  type Hex,
  http,
  type PublicClient,
  parseEther,
  parseGwei,
  type TransactionReceipt,
  type Block as ViemBlock,
  type Transaction as ViemTransaction,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isHeavy } from '../../src/eth/methods.ts'
import { type BlockId, type Client, createClient, encodeArguments, type LogFilter, type MethodName, type Post, RpcError, replyOf } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { minedReceipt } from '../support/mined.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'
const account = (addressIndex: number) => mnemonicToAccount(MNEMONIC, { addressIndex })
const [deployer, alice, bob, carol, dave, erin] = [account(0), account(1), account(2), account(3), account(4), account(5)]

const TOPIC = '0x5707ed0000000000000000000000000000000000000000000000000000000000' as const
/** Stores the first word of its input in slot 0 and logs it under `TOPIC`; returns slot 0. */
const RUNTIME = `361560365760003580600055806000527f${TOPIC.slice(2)}60206000a25b60005460005260206000f3`
const INIT_CODE = `0x6042600c60003960426000f3${RUNTIME}` as const
/** Reverts with the four bytes 0xdeadbeef. */
const REVERTING = '0x63deadbeef60e01b60005260046000fd' as const

const ZERO_HASH: Hash = `0x${'00'.repeat(32)}`
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`

let anvil: Anvil
let client: Client
let viem: PublicClient
/**
 * The small chain: the contract in block 1; in block 2 a transaction of each type; a failed one in
 * block 3.
 */
let contract: Address
let crowded: ViemBlock<bigint, true, 'latest'>
const sent: Record<'deployment' | 'legacy' | 'accessList' | 'feeMarket' | 'setCode' | 'failed', Hash> = {
  deployment: '0x',
  legacy: '0x',
  accessList: '0x',
  feeMarket: '0x',
  setCode: '0x',
  failed: '0x',
}

beforeAll(async () => {
  anvil = await startAnvil()
  client = createClient(anvil.url)
  const chain = defineChain({
    id: 31337,
    name: 'anvil',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [anvil.url] } },
  })
  viem = createPublicClient({ chain, transport: http(anvil.url), pollingInterval: 20, cacheTime: 0 }) as PublicClient
  const wallet = createWalletClient({ chain, transport: http(anvil.url) })

  sent.deployment = await wallet.sendTransaction({ account: deployer, data: INIT_CODE })
  const deployed = await minedReceipt(viem, sent.deployment)
  contract = deployed.contractAddress as Address

  await client.request({ method: 'evm_setAutomine', params: [false] })
  const gas = 200_000n
  sent.legacy = await wallet.sendTransaction({ account: alice, type: 'legacy', to: contract, data: word(0xa11ce), gas, gasPrice: parseGwei('5') })
  sent.accessList = await wallet.sendTransaction({
    account: bob,
    type: 'eip2930',
    to: contract,
    data: word(0xb0b),
    gas,
    gasPrice: parseGwei('4'),
    accessList: [{ address: contract, storageKeys: [word(0)] }],
  })
  sent.feeMarket = await wallet.sendTransaction({
    account: carol,
    type: 'eip1559',
    to: dave.address,
    value: parseEther('1.5'),
    gas,
    maxFeePerGas: parseGwei('9'),
    maxPriorityFeePerGas: parseGwei('3'),
  })
  const authorization = await wallet.signAuthorization({ account: erin, contractAddress: contract, nonce: 0 })
  sent.setCode = await wallet.sendTransaction({
    account: deployer,
    type: 'eip7702',
    authorizationList: [authorization],
    to: erin.address,
    data: word(0x7702),
    gas,
    maxFeePerGas: parseGwei('7'),
    maxPriorityFeePerGas: parseGwei('2'),
  })
  await client.request({ method: 'evm_mine' })
  sent.failed = await wallet.sendTransaction({ account: dave, data: REVERTING, gas })
  await client.request({ method: 'evm_mine' })
  await client.request({ method: 'evm_setAutomine', params: [true] })
  crowded = await viem.getBlock({ blockNumber: 2n, includeTransactions: true })
})

afterAll(async () => {
  await client?.close()
  await anvil?.stop()
})

/** viem's name of a transaction type -> the type. */
const TYPES: Record<string, number> = { legacy: 0, eip2930: 1, eip1559: 2, eip4844: 3, eip7702: 4 }

/**
 * The expected result of hexline for viem's `transaction`: viem names types, and adds its own
 * fields.
 */
function ofTransaction({ type, typeHex: _, ...transaction }: ViemTransaction) {
  return { ...transaction, type: TYPES[type] }
}

function ofBlock({ transactions, ...block }: ViemBlock<bigint, boolean>) {
  return { ...block, transactions: transactions.map((each) => (typeof each === 'string' ? each : ofTransaction(each))) }
}

function ofReceipt({ type, status, ...receipt }: TransactionReceipt) {
  return { ...receipt, type: TYPES[type], status: status === 'success' ? 1 : 0 }
}

/** viem's values for fields that the node did not send. */
function withoutAbsent<T extends object>(value: T, sample: object): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([key, item]) => key in sample || (item !== null && item !== undefined))) as Partial<T>
}

const raw = (method: string, params: unknown[] = []) => viem.request({ method, params } as never) as Promise<unknown>

test('methods that take long share no POST with the others', () => {
  const long = ['eth_getLogs', 'eth_simulateV1', 'txpool_content', 'txpool_inspect', 'debug_traceCall', 'trace_block', 'arbtrace_call']
  expect([...long, 'eth_call', 'txpool_contentFrom', 'debug_getRawBlock', 'x_trace_block', 'eth_getLogsX'].filter(isHeavy)).toEqual(long)
})

describe('the small chain', () => {
  test('has transactions of the types 0, 1, 2 and 4, a contract, logs and a failure', async () => {
    expect(crowded.transactions.map(({ type }) => TYPES[type]).sort()).toEqual([0, 1, 2, 4])
    expect((await viem.getLogs({ fromBlock: 0n })).length).toBeGreaterThanOrEqual(2)
    expect((await viem.getTransactionReceipt({ hash: sent.failed })).status).toBe('reverted')
  })
})

describe('quantities of the head', () => {
  test('eth_blockNumber', async () => {
    expect(await client.call('eth_blockNumber')).toBe(await viem.getBlockNumber())
    expect(await client.call('eth_blockNumber')).toBe(3n)
  })

  test('eth_chainId is a number', async () => {
    expect(await client.call('eth_chainId')).toBe(31337)
  })

  test('eth_gasPrice', async () => {
    expect(await client.call('eth_gasPrice')).toBe(await viem.getGasPrice())
  })

  test('eth_maxPriorityFeePerGas', async () => {
    expect(await client.call('eth_maxPriorityFeePerGas')).toBe(await viem.estimateMaxPriorityFeePerGas())
    expect(await client.call('eth_maxPriorityFeePerGas')).toBe(BigInt((await raw('eth_maxPriorityFeePerGas')) as Hex))
  })

  test('eth_feeHistory', async () => {
    const ours = await client.call('eth_feeHistory', 3, 'latest', [25, 75])
    const theirs = await viem.getFeeHistory({ blockCount: 3, blockTag: 'latest', rewardPercentiles: [25, 75] })
    expect(ours).toMatchObject(theirs)
    expect(ours.oldestBlock).toBe(1n)
    expect(ours.baseFeePerGas).toHaveLength(4)
    expect(ours.reward).toHaveLength(3)
    expect(ours.reward?.[1]).toHaveLength(2)
    const wire = (await raw('eth_feeHistory', ['0x3', 'latest', [25, 75]])) as { baseFeePerBlobGas: Hex[]; blobGasUsedRatio: number[] }
    expect(ours.baseFeePerBlobGas).toEqual(wire.baseFeePerBlobGas.map(BigInt))
    expect(ours.blobGasUsedRatio).toEqual(wire.blobGasUsedRatio)
  })
})

describe('accounts', () => {
  test('eth_getBalance', async () => {
    const balance = await client.call('eth_getBalance', dave.address)
    expect(balance).toBe(await viem.getBalance({ address: dave.address }))
    expect(await client.call('eth_getBalance', dave.address, 1n)).toBe(parseEther('10000'))
    expect(await client.call('eth_getBalance', dave.address, 2n)).toBe(parseEther('10001.5'))
  })

  test('eth_getTransactionCount is a number', async () => {
    expect(await client.call('eth_getTransactionCount', deployer.address)).toBe(2)
    expect(await client.call('eth_getTransactionCount', deployer.address, 'earliest')).toBe(0)
    expect(await client.call('eth_getTransactionCount', deployer.address)).toBe(await viem.getTransactionCount({ address: deployer.address }))
  })

  test('eth_getCode', async () => {
    expect(await client.call('eth_getCode', contract)).toBe(`0x${RUNTIME}`)
    expect(await client.call('eth_getCode', contract, 0n)).toBe('0x')
    expect(await client.call('eth_getCode', erin.address)).toBe(`0xef0100${contract.slice(2)}`)
  })

  test('eth_getStorageAt', async () => {
    expect(await client.call('eth_getStorageAt', contract, 0)).toBe(await viem.getStorageAt({ address: contract, slot: '0x0' }))
    expect(BigInt(await client.call('eth_getStorageAt', contract, 0n))).toBe(0xb0bn)
    expect(await client.call('eth_getStorageAt', contract, '0x0', 1n)).toBe(word(0))
  })

  test('eth_getProof', async () => {
    const ours = await client.call('eth_getProof', contract, [0, 1n, '0x02'], 'latest')
    const theirs = await viem.getProof({ address: contract, storageKeys: [word(0), word(1), word(2)] })
    const { key: _, ...slot } = ours.storageProof[0] ?? {}
    const { key: __, ...theirSlot } = theirs.storageProof[0] ?? {}
    expect({ ...ours, storageProof: [] }).toEqual({ ...theirs, storageProof: [] })
    expect(slot).toEqual(theirSlot)
    expect(slot).toMatchObject({ value: 0xb0bn, proof: [expect.stringMatching(/^0x/)] })
    expect(ours.storageProof.map(({ key }) => BigInt(key))).toEqual([0n, 1n, 2n])
    expect(ours.nonce).toBe(1)
    expect(ours.balance).toBe(0n)
  })
})

describe('blocks', () => {
  test('eth_getBlockByNumber with whole transactions', async () => {
    const ours = await client.call('eth_getBlockByNumber', 2n, true)
    if (ours === null) throw new Error('no block')
    expect(ours).toEqual(withoutAbsent(ofBlock(crowded), ours))
    expect(ours.transactions.map(({ type }) => type).sort()).toEqual([0, 1, 2, 4])
    expect(ours.transactions.find(({ type }) => type === 4)?.authorizationList).toEqual([
      { chainId: 31337, address: contract, nonce: 0, yParity: expect.any(Number), r: expect.stringMatching(/^0x/), s: expect.stringMatching(/^0x/) },
    ])
  })

  test('eth_getBlockByNumber with hashes', async () => {
    const ours = await client.call('eth_getBlockByNumber', '0x2', false)
    expect(ours?.transactions).toEqual(crowded.transactions.map(({ hash }) => hash))
    expect(ours).toEqual(withoutAbsent(ofBlock(await viem.getBlock({ blockNumber: 2n })), ours as object))
  })

  test.each(['latest', 'earliest', 'safe', 'finalized'] as const)('eth_getBlockByNumber, %s', async (blockTag) => {
    const ours = await client.call('eth_getBlockByNumber', blockTag, true)
    expect(ours).toEqual(withoutAbsent(ofBlock(await viem.getBlock({ blockTag, includeTransactions: true })), ours as object))
  })

  test('eth_getBlockByNumber, pending', async () => {
    const ours = await client.call('eth_getBlockByNumber', 'pending', false)
    expect(ours).toMatchObject({ number: 4n, transactions: [] })
  })

  test('eth_getBlockByHash', async () => {
    expect(await client.call('eth_getBlockByHash', crowded.hash, true)).toEqual(await client.call('eth_getBlockByNumber', 2, true))
    expect(await client.call('eth_getBlockByHash', crowded.hash, false)).toEqual(await client.call('eth_getBlockByNumber', 2, false))
  })

  test('every field that the node sends is present, and no other', async () => {
    const wire = (await raw('eth_getBlockByNumber', ['0x2', true])) as { transactions: object[] }
    const ours = await client.call('eth_getBlockByNumber', 2n, true)
    expect(Object.keys(ours as object)).toEqual(Object.keys(wire))
    expect(ours?.transactions.map((each) => Object.keys(each))).toEqual(wire.transactions.map((each) => Object.keys(each)))
  })

  test('eth_getBlockTransactionCountByNumber and ByHash are numbers', async () => {
    expect(await client.call('eth_getBlockTransactionCountByNumber', 2n)).toBe(4)
    expect(await client.call('eth_getBlockTransactionCountByHash', crowded.hash)).toBe(4)
    expect(await viem.getBlockTransactionCount({ blockNumber: 2n })).toBe(4)
  })

  test('uncles: none on this chain', async () => {
    expect(await client.call('eth_getUncleCountByBlockNumber', 2n)).toBe(0)
    expect(await client.call('eth_getUncleCountByBlockHash', crowded.hash)).toBe(0)
    expect(await client.call('eth_getUncleByBlockNumberAndIndex', 2n, 0)).toBeNull()
    expect(await client.call('eth_getUncleByBlockHashAndIndex', crowded.hash, 0)).toBeNull()
  })
})

describe('transactions, receipts and logs', () => {
  test.each(['deployment', 'legacy', 'accessList', 'feeMarket', 'setCode', 'failed'] as const)('eth_getTransactionByHash: %s', async (name) => {
    const ours = await client.call('eth_getTransactionByHash', sent[name])
    const theirs = await viem.getTransaction({ hash: sent[name] })
    expect(ours).toEqual(withoutAbsent(ofTransaction(theirs), ours as object))
  })

  test('eth_getTransactionByBlockNumberAndIndex and ByBlockHashAndIndex', async () => {
    for (const [index, { hash }] of crowded.transactions.entries()) {
      const byHash = await client.call('eth_getTransactionByHash', hash)
      expect(byHash).toMatchObject({ hash, transactionIndex: index, blockNumber: 2n, blockHash: crowded.hash })
      expect(await client.call('eth_getTransactionByBlockNumberAndIndex', 2n, index)).toEqual(byHash)
      expect(await client.call('eth_getTransactionByBlockHashAndIndex', crowded.hash, BigInt(index))).toEqual(byHash)
    }
  })

  test.each(['deployment', 'legacy', 'accessList', 'feeMarket', 'setCode', 'failed'] as const)('eth_getTransactionReceipt: %s', async (name) => {
    const ours = await client.call('eth_getTransactionReceipt', sent[name])
    const theirs = await viem.getTransactionReceipt({ hash: sent[name] })
    expect(ours).toEqual(withoutAbsent(ofReceipt(theirs), ours as object))
    expect(ours?.status).toBe(name === 'failed' ? 0 : 1)
    expect(ours?.contractAddress).toBe(name === 'deployment' ? contract : theirs.contractAddress)
  })

  test('eth_getBlockReceipts, by number, tag and hash', async () => {
    const ours = await client.call('eth_getBlockReceipts', 2n)
    expect(ours).toEqual(await Promise.all(crowded.transactions.map(({ hash }) => client.call('eth_getTransactionReceipt', hash))))
    expect(await client.call('eth_getBlockReceipts', crowded.hash)).toEqual(ours)
    expect(await client.call('eth_getBlockReceipts', 'earliest')).toEqual([])
  })

  test('eth_getLogs', async () => {
    const ours = await client.call('eth_getLogs', { fromBlock: 0, toBlock: 'latest' })
    const theirs = await viem.getLogs({ fromBlock: 0n, toBlock: 'latest' })
    expect(ours.length).toBe(3)
    expect(ours).toEqual(theirs.map((each, i) => withoutAbsent(each, ours[i] as object)))
    expect(ours.map(({ logIndex }) => logIndex)).toEqual([0, 1, 2])
  })

  test('eth_getLogs by address, topics and block hash', async () => {
    const of = async (filter: LogFilter) => (await client.call('eth_getLogs', filter)).map(({ data }) => BigInt(data))
    expect(await of({ fromBlock: 0n, address: erin.address })).toEqual([0x7702n])
    expect((await of({ fromBlock: 0n, address: [contract] })).sort()).toEqual([0xb0bn, 0xa11cen])
    expect(await of({ fromBlock: 0n, topics: [TOPIC, word(0xb0b)] })).toEqual([0xb0bn])
    expect((await of({ fromBlock: '0x0', topics: [null, [word(0xb0b), word(0x7702)]] })).sort()).toEqual([0xb0bn, 0x7702n])
    expect((await of({ blockHash: crowded.hash })).length).toBe(3)
    expect(await of({ fromBlock: 3n, toBlock: 3n })).toEqual([])
  })
})

describe('calls', () => {
  test('eth_call', async () => {
    expect(await client.call('eth_call', { to: contract })).toBe(word(0xb0b))
    expect(await client.call('eth_call', { to: contract, data: word(5) })).toBe(word(5))
    expect(await client.call('eth_call', { to: contract, input: word(6) })).toBe(word(6))
    expect(await client.call('eth_call', { to: contract, from: alice.address, gas: 100_000, gasPrice: 10n ** 10n, value: '0x0' }, 1n)).toBe(word(0))
    expect((await viem.call({ to: contract, data: word(5) })).data).toBe(word(5))
  })

  test('eth_call with state and block overrides', async () => {
    expect(await client.call('eth_call', { to: contract }, 'latest', { [contract]: { stateDiff: { [word(0)]: word(77) } } })).toBe(word(77))
    // NUMBER, and return it.
    const code = '0x4360005260206000f3'
    expect(await client.call('eth_call', { to: carol.address }, 'latest', { [carol.address]: { code } }, { number: 1234n })).toBe(word(1234))
  })

  test('eth_call that reverts', async () => {
    const thrown = await client.call('eth_call', { data: REVERTING }).catch((caught: unknown) => caught)
    expect(thrown).toBeInstanceOf(RpcError)
    expect(thrown).toMatchObject({ kind: 'execution', code: 3, data: '0xdeadbeef', method: 'eth_call' })
  })

  test('eth_estimateGas', async () => {
    const transfer = { from: alice.address, to: bob.address, value: 1n } as const
    expect(await client.call('eth_estimateGas', { from: alice.address, to: carol.address, value: 1n })).toBe(21_000n)
    expect(await client.call('eth_estimateGas', transfer)).toBe(BigInt((await raw('eth_estimateGas', [{ ...transfer, value: '0x1' }])) as Hex))
    expect(await client.call('eth_estimateGas', { from: alice.address, data: INIT_CODE }, 'latest')).toBe(
      await viem.estimateGas({ account: alice.address, data: INIT_CODE }),
    )
  })

  test('eth_createAccessList', async () => {
    const ours = await client.call('eth_createAccessList', { from: alice.address, to: contract, data: word(9) })
    const theirs = await viem.createAccessList({ account: alice.address, to: contract, data: word(9) })
    expect(ours).toEqual(theirs)
    expect(ours.accessList).toEqual([{ address: contract, storageKeys: [word(0)] }])
    expect(typeof ours.gasUsed).toBe('bigint')
  })

  test('eth_sendRawTransaction gives the hash', async () => {
    const before = await client.call('eth_getTransactionCount', alice.address)
    const serialized = await alice.signTransaction({ chainId: 31337, nonce: before, to: carol.address, gas: 21_000n, gasPrice: parseGwei('5'), type: 'legacy' })
    const hash = await client.call('eth_sendRawTransaction', serialized)
    expect(await viem.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', transactionHash: hash })
    expect(await client.call('eth_getTransactionCount', alice.address)).toBe(before + 1)
  })
})

describe('a missing object', () => {
  test('is null', async () => {
    expect(await client.call('eth_getBlockByNumber', 10_000n, true)).toBeNull()
    expect(await client.call('eth_getBlockByHash', ZERO_HASH, false)).toBeNull()
    expect(await client.call('eth_getBlockReceipts', 10_000n)).toBeNull()
    expect(await client.call('eth_getBlockTransactionCountByHash', ZERO_HASH)).toBeNull()
    expect(await client.call('eth_getTransactionByHash', ZERO_HASH)).toBeNull()
    expect(await client.call('eth_getTransactionByBlockHashAndIndex', crowded.hash, 99)).toBeNull()
    expect(await client.call('eth_getTransactionByBlockNumberAndIndex', 2n, 99)).toBeNull()
    expect(await client.call('eth_getTransactionReceipt', ZERO_HASH)).toBeNull()
  })

  test('stays null inside objects', async () => {
    expect(await client.call('eth_getTransactionByHash', sent.deployment)).toMatchObject({ to: null })
    expect(await client.call('eth_getTransactionReceipt', sent.feeMarket)).toMatchObject({ contractAddress: null })
  })

  test('is null for a pending transaction: its block, number and index', async () => {
    await client.request({ method: 'evm_setAutomine', params: [false] })
    const hash = (await client.request({ method: 'eth_sendTransaction', params: [{ from: dave.address, to: alice.address, value: '0x1' }] })) as Hash
    const pending = await client.call('eth_getTransactionByHash', hash)
    await client.request({ method: 'evm_mine' })
    await client.request({ method: 'evm_setAutomine', params: [true] })
    expect(pending).toMatchObject({ hash, blockHash: null, blockNumber: null, transactionIndex: null, value: 1n })
  })
})

describe('a block is given', () => {
  const ways: [string, () => BlockId][] = [
    ['by bigint', () => 1n],
    ['by number', () => 1],
    ['by hex', () => '0x1'],
    ['by hex with leading zeros', () => '0x0001'],
    ['by an EIP-1898 number', () => ({ blockNumber: 1n })],
  ]
  test.each(ways)('%s', async (_, block) => {
    expect(await client.call('eth_getBalance', dave.address, block())).toBe(parseEther('10000'))
  })

  test('by hash and by EIP-1898 hash', async () => {
    expect(await client.call('eth_getBalance', dave.address, { blockHash: crowded.hash })).toBe(parseEther('10001.5'))
    expect(await client.call('eth_getBalance', dave.address, { blockHash: crowded.hash, requireCanonical: true })).toBe(parseEther('10001.5'))
    expect(await client.call('eth_getBalance', dave.address, crowded.hash)).toBe(parseEther('10001.5'))
  })

  test.each(['latest', 'earliest', 'pending', 'safe', 'finalized'] as const)('by the tag %s', async (tag) => {
    expect(typeof (await client.call('eth_getBalance', dave.address, tag))).toBe('bigint')
  })
})

describe('the request', () => {
  const A: Address = '0x00000000000000000000000000000000000000a1'
  const H: Hash = `0x${'ab'.repeat(32)}`

  /** A reply that decodes, for methods whose result is never null. */
  const replies: Partial<Record<MethodName, unknown>> = {
    eth_createAccessList: { accessList: [], gasUsed: '0x1' },
    eth_feeHistory: { oldestBlock: '0x1', baseFeePerGas: [], gasUsedRatio: [] },
    eth_getLogs: [],
    eth_getProof: { address: A, accountProof: [], balance: '0x0', nonce: '0x0', storageProof: [] },
  }
  const neverNull = /Number$|chainId|[gG]as|Price|Balance|Code|StorageAt|TransactionCount$|call|Raw/

  async function whatIsSent(method: MethodName, args: readonly unknown[]): Promise<unknown> {
    let params: unknown
    const node: Post = async (calls) =>
      calls.map((call) => {
        params = JSON.parse(JSON.stringify(call.params))
        return replyOf(structuredClone(replies[method]) ?? (neverNull.test(method) && !/By/.test(method) ? '0x1' : null))
      })
    const spied = createClient(node, { retry: false })
    await (spied.call as (method: MethodName, ...args: unknown[]) => Promise<unknown>)(method, ...args)
    await spied.close()
    return params
  }

  const table: [MethodName, unknown[], unknown[]][] = [
    ['eth_blockNumber', [], []],
    ['eth_call', [{ to: A }], [{ to: A }, 'latest']],
    ['eth_call', [{ to: A, data: '0x1234', gas: 21_000n, value: 0n }, 255n], [{ to: A, data: '0x1234', gas: '0x5208', value: '0x0' }, '0xff']],
    ['eth_call', [{ to: A }, 'safe', { [A]: { balance: 16n } }], [{ to: A }, 'safe', { [A]: { balance: '0x10' } }]],
    ['eth_call', [{ to: A }, undefined, undefined, { number: '0x1' }], [{ to: A }, 'latest', {}, { number: '0x1' }]],
    ['eth_call', [{ to: A }, null], [{ to: A }, 'latest']],
    ['eth_chainId', [], []],
    ['eth_createAccessList', [{ from: A, to: A }], [{ from: A, to: A }, 'latest']],
    ['eth_estimateGas', [{ to: A }], [{ to: A }]],
    ['eth_estimateGas', [{ to: A }, undefined], [{ to: A }]],
    ['eth_estimateGas', [{ to: A }, 'pending'], [{ to: A }, 'pending']],
    ['eth_estimateGas', [{ to: A }, undefined, { [A]: {} }], [{ to: A }, 'latest', { [A]: {} }]],
    ['eth_feeHistory', [4, 'latest'], ['0x4', 'latest', []]],
    ['eth_feeHistory', ['0x04', 100n, [0, 12.5, 100]], ['0x4', '0x64', [0, 12.5, 100]]],
    ['eth_gasPrice', [], []],
    ['eth_getBalance', [A], [A, 'latest']],
    ['eth_getBalance', [A, undefined], [A, 'latest']],
    ['eth_getBalance', [A, '0x00FF'], [A, '0xff']],
    ['eth_getBalance', [A, H], [A, H]],
    ['eth_getBalance', [A, { blockHash: H, requireCanonical: true }], [A, { blockHash: H, requireCanonical: true }]],
    ['eth_getBalance', [A, { blockNumber: 7 }], [A, { blockNumber: '0x7' }]],
    ['eth_getBlockByHash', [H, true], [H, true]],
    ['eth_getBlockByNumber', [0, false], ['0x0', false]],
    ['eth_getBlockByNumber', ['finalized', true], ['finalized', true]],
    ['eth_getBlockTransactionCountByHash', [H], [H]],
    ['eth_getBlockTransactionCountByNumber', ['pending'], ['pending']],
    ['eth_getBlockReceipts', [H], [H]],
    ['eth_getBlockReceipts', [1n], ['0x1']],
    ['eth_getCode', [A], [A, 'latest']],
    ['eth_getLogs', [{}], [{}]],
    ['eth_getLogs', [{ fromBlock: 1n, toBlock: 2, topics: [null, H, [H, H]] }], [{ fromBlock: '0x1', toBlock: '0x2', topics: [null, H, [H, H]] }]],
    ['eth_getLogs', [{ blockHash: H, address: [A] }], [{ blockHash: H, address: [A] }]],
    ['eth_getProof', [A, [1n]], [A, [word(1)], 'latest']],
    ['eth_getStorageAt', [A, 1], [A, word(1), 'latest']],
    ['eth_getTransactionByHash', [H], [H]],
    ['eth_getTransactionByBlockHashAndIndex', [H, 10], [H, '0xa']],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x0A'], ['latest', '0xa']],
    ['eth_getTransactionCount', [A], [A, 'latest']],
    ['eth_getTransactionReceipt', [H], [H]],
    ['eth_getUncleByBlockHashAndIndex', [H, 0n], [H, '0x0']],
    ['eth_getUncleByBlockNumberAndIndex', [16n, 0], ['0x10', '0x0']],
    ['eth_getUncleCountByBlockHash', [H], [H]],
    ['eth_getUncleCountByBlockNumber', ['earliest'], ['earliest']],
    ['eth_maxPriorityFeePerGas', [], []],
    ['eth_sendRawTransaction', ['0x02c0'], ['0x02c0']],
  ]

  const inWords = (value: unknown) => JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}n` : item))

  for (const [method, args, wire] of table) {
    test(`${method} ${inWords(args)}`, async () => {
      expect(await whatIsSent(method, args)).toEqual(wire)
    })
  }

  test('the table above has all 28 methods', () => {
    expect(new Set(table.map(([method]) => method)).size).toBe(28)
  })

  test('only eth_sendRawTransaction must not run twice', async () => {
    const safe: Record<string, boolean> = {}
    const node: Post = async (calls) =>
      calls.map((call) => {
        safe[call.method] = call.safe
        return replyOf(null)
      })
    const spied = createClient(node, { retry: false })
    const argsOf = new Map(table.map(([method, args]) => [method, args]))
    for (const [method, args] of argsOf) await spied.request({ method, params: encodeArguments(method, args) })
    await spied.request({ method: 'eth_sendTransaction', params: [] })
    await spied.close()
    expect(
      Object.keys(safe)
        .filter((method) => !safe[method])
        .sort(),
    ).toEqual(['eth_sendRawTransaction', 'eth_sendTransaction'])
    expect(Object.keys(safe)).toHaveLength(29)
  })
})

/** Service specification, "Block object"; quantities are bigints. */
test.each([
  ['bigint', ['number', 'size', 'gasLimit', 'gasUsed', 'timestamp', 'difficulty']],
  ['string', ['hash', 'parentHash', 'nonce', 'sha3Uncles', 'logsBloom', 'transactionsRoot', 'stateRoot', 'receiptsRoot', 'miner', 'extraData']],
  ['object', ['transactions', 'uncles']],
] as const)('of a block are %s: %j', async (type, fields) => {
  const block = await client.call('eth_getBlockByNumber', 2, false)
  for (const field of fields) {
    expect(typeof block?.[field], field).toBe(type)
    // viem reads the same from the same node.
    expect(block?.[field], field).toEqual(
      type !== 'object' ? crowded[field] : (crowded[field] as readonly unknown[]).map((item) => (item as ViemTransaction).hash ?? item),
    )
  }
})
