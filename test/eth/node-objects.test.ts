import { describe, expect, it } from 'vitest'
import { decodeResult } from '../../src/eth/methods.ts'

/*
 * The results that the corpus and anvil lack; test/eth/node-methods.test.ts has the others.
 */

const address = `0x${'ab'.repeat(20)}` as const
const hash = `0x${'cd'.repeat(32)}` as const
const decode = (method: string, value: unknown) => decodeResult(method, structuredClone(value), [])

describe('eth_capabilities', () => {
  const wire = {
    head: { number: '0x13f8e3a', hash },
    state: { disabled: false, oldestBlock: '0x13e022a', deleteStrategy: { type: 'window', retentionBlocks: '0x15f90' } },
    logs: { disabled: true },
    blocks: { disabled: false, oldestBlock: '0x0', deleteStrategy: { type: 'none' } },
    blobs: { disabled: false },
  }

  it('has numbers of blocks as bigints', () => {
    expect(decode('eth_capabilities', wire)).toEqual({
      ...wire,
      head: { number: 20_942_394n, hash },
      state: { disabled: false, oldestBlock: 20_841_002n, deleteStrategy: { type: 'window', retentionBlocks: 90_000n } },
      blocks: { disabled: false, oldestBlock: 0n, deleteStrategy: { type: 'none' } },
    })
  })

  it('is refused with the path of a wrong number', () => {
    expect(() => decode('eth_capabilities', { ...wire, logs: { oldestBlock: 'all' } })).toThrow('logs.oldestBlock: expected a hex quantity, received "all"')
  })
})

describe('eth_config', () => {
  const fork = {
    activationTime: 1_764_165_761,
    blobSchedule: { baseFeeUpdateFraction: 5_007_716, max: 9, target: 6 },
    chainId: '0x1',
    forkId: '0x485d50fa',
    precompiles: { ECREC: address },
    systemContracts: {},
  }

  it('has a fork, and null for those that are not scheduled', () => {
    const decoded = { ...fork, activationTime: 1_764_165_761n, chainId: 1 }
    expect(decode('eth_config', { current: fork, next: null, last: { ...fork, blobSchedule: null } })).toEqual({
      ...{ current: decoded, next: null, last: { ...decoded, blobSchedule: null } },
    })
  })

  it('is refused without the current fork', () => {
    expect(() => decode('eth_config', { next: null })).toThrow('current: expected the current of a configuration')
  })
})

describe('eth_getBlockAccessList', () => {
  it('has balances as bigints, indices and nonces as numbers', () => {
    const wire = [
      {
        address,
        storageChanges: [{ key: hash, changes: [{ index: '0x1', value: hash }] }],
        storageReads: [hash],
        balanceChanges: [{ index: '0x2', value: '0xde0b6b3a7640000' }],
        nonceChanges: [{ index: '0x2', value: '0x7' }],
        codeChanges: [{ index: '0x3', code: '0x60' }],
      },
      { address },
    ]
    expect(decode('eth_getBlockAccessList', wire)).toEqual([
      {
        ...wire[0],
        storageChanges: [{ key: hash, changes: [{ index: 1, value: hash }] }],
        balanceChanges: [{ index: 2, value: 10n ** 18n }],
        nonceChanges: [{ index: 2, value: 7 }],
        codeChanges: [{ index: 3, code: '0x60' }],
      },
      { address },
    ])
    expect(decode('eth_getBlockAccessList', null)).toBeNull()
    const wrong = [{ address, balanceChanges: [{ index: 'first', value: '0x1' }] }]
    expect(() => decode('eth_getBlockAccessList', wrong)).toThrow('[0].balanceChanges[0].index: expected a hex quantity, received "first"')
  })
})

describe('eth_syncing', () => {
  it('is false, or has numbers of blocks and what the client adds', () => {
    expect(decode('eth_syncing', false)).toBe(false)
    expect(decode('eth_syncing', { startingBlock: '0x0', currentBlock: '0x10', highestBlock: '0x20', healedBytes: '0x1' })).toEqual({
      ...{ startingBlock: 0n, currentBlock: 16n, highestBlock: 32n, healedBytes: '0x1' },
    })
    expect(() => decode('eth_syncing', true)).toThrow('result: expected a sync status, or false, received true')
  })
})

describe('eth_getFilterChanges', () => {
  it('has hashes or logs', () => {
    expect(decode('eth_getFilterChanges', [hash, { address, topics: [], blockNumber: '0x1' }])).toEqual([hash, { address, topics: [], blockNumber: 1n }])
    expect(() => decode('eth_getFilterChanges', [{ address }])).toThrow('[0].topics: expected the topics of a log')
  })
})

describe('a pool', () => {
  const transaction = { hash, from: address, nonce: '0x3', gas: '0x5208', type: '0x2' }

  it('has transactions by sender and nonce, or by nonce', () => {
    const decoded = { ...transaction, nonce: 3, gas: 21_000n, type: 2 }
    expect(decode('txpool_content', { pending: { [address]: { 3: transaction } }, queued: {} })).toEqual({ pending: { [address]: { 3: decoded } }, queued: {} })
    expect(decode('txpool_contentFrom', { pending: {}, queued: { 3: transaction } })).toEqual({ pending: {}, queued: { 3: decoded } })
    const wrong = { pending: { [address]: { 3: { ...transaction, gas: 'much' } } }, queued: {} }
    expect(() => decode('txpool_content', wrong)).toThrow(`pending.${address}.3.gas: expected a hex quantity, received "much"`)
  })

  it('is also text, and counts in hex or as numbers', () => {
    const text = { pending: { [address]: { 3: '0x…: 1 wei + 21000 gas × 1 wei' } }, queued: {} }
    expect(decode('txpool_inspect', text)).toEqual(text)
    expect(() => decode('txpool_inspect', { pending: { [address]: { 3: 7 } }, queued: {} })).toThrow(`pending.${address}.3: expected a string, received 7`)
    expect(decode('txpool_status', { pending: '0x10', queued: 7 })).toEqual({ pending: 16, queued: 7 })
  })
})

it('eth_fillTransaction has a transaction, also without a hash', () => {
  expect(decode('eth_fillTransaction', { raw: '0x02', tx: { type: '0x2', gas: '0x5208', nonce: '0x1' } })).toEqual({
    raw: '0x02',
    tx: { type: 2, gas: 21_000n, nonce: 1 },
  })
})

it('rpc_modules has versions by namespace', () => {
  expect(decode('rpc_modules', { eth: '1.0', debug: '1.0' })).toEqual({ eth: '1.0', debug: '1.0' })
  expect(() => decode('rpc_modules', { eth: 1 })).toThrow('eth: expected a string, received 1')
})

it.each([
  ['eth_baseFee', null, null],
  ['eth_baseFee', '0x7', 7n],
  ['eth_sendRawTransactionSync', { transactionHash: hash, gasUsed: '0x5208' }, { transactionHash: hash, gasUsed: 21_000n }],
  ['trace_block', null, null],
  ['trace_get', null, null],
  ['debug_getRawReceipts', ['0x', '0x02'], ['0x', '0x02']],
  ['net_listening', true, true],
  ['web3_clientVersion', 'Geth/v1.16.7', 'Geth/v1.16.7'],
])('%s: %j becomes %o', (method, wire, decoded) => expect(decode(method, wire)).toEqual(decoded))

it.each([
  ['eth_accounts', [1], '[0]: expected bytes in hex, received 1'],
  ['net_listening', 'yes', 'result: expected true or false, received "yes"'],
  ['web3_clientVersion', 7, 'result: expected a string, received 7'],
  ['debug_getRawReceipts', ['0x', null], '[1]: expected bytes in hex, received null'],
  ['eth_getStorageValues', { [address]: [7] }, `${address}[0]: expected bytes in hex, received 7`],
  ['eth_newFilter', 7, 'result: expected bytes in hex, received 7'],
])('%s: %j is refused', (method, wire, message) => expect(() => decode(method, wire)).toThrow(message))

describe('what tells one result from another', () => {
  const call = { status: '0x1', returnData: '0x' }
  const block = { number: '0x1', calls: [call] }
  const account = (fields: object) => [{ address, ...fields }]
  const without = (value: object, key: string) => ({ ...value, [key]: undefined })

  it.each<[missing: string, method: string, value: unknown]>([
    ['head.number', 'eth_capabilities', { head: { hash } }],
    ['current.activationTime', 'eth_config', { current: { chainId: '0x1' } }],
    ['[0].number', 'eth_simulateV1', [without(block, 'number')]],
    ['[0].calls', 'eth_simulateV1', [without(block, 'calls')]],
    ['[0].calls[0].status', 'eth_simulateV1', [{ ...block, calls: [without(call, 'status')] }]],
    ['[0].calls[0].returnData', 'eth_simulateV1', [{ ...block, calls: [without(call, 'returnData')] }]],
    ['raw', 'eth_fillTransaction', { tx: {} }],
    ['tx', 'eth_fillTransaction', { raw: '0x' }],
    ['[0].address', 'eth_getBlockAccessList', [{}]],
    ['[0].storageChanges[0].key', 'eth_getBlockAccessList', account({ storageChanges: [{ changes: [] }] })],
    ['[0].storageChanges[0].changes[0].index', 'eth_getBlockAccessList', account({ storageChanges: [{ key: hash, changes: [{ value: hash }] }] })],
    ...['balanceChanges', 'nonceChanges', 'codeChanges'].map((key): [string, string, unknown] => [
      ...([`[0].${key}[0].index`, 'eth_getBlockAccessList', account({ [key]: [{}] })] as const),
    ]),
    ...['txpool_status', 'txpool_content', 'txpool_contentFrom', 'txpool_inspect'].flatMap((method): [string, string, unknown][] => [
      ['pending', method, { queued: method === 'txpool_status' ? 0 : {} }],
      ['queued', method, { pending: method === 'txpool_status' ? 0 : {} }],
    ]),
  ])('is not absent: %s of %s', (missing, method, value) =>
    expect(() => decode(method, value)).toThrow(`${missing}: expected the ${missing.replace(/^.*\./, '')} of a`),
  )
})
