import { describe, expect, test } from 'vitest'
import { methods } from '../../src/eth/methods.ts'
import { nodeMethods } from '../../src/eth/node-methods.ts'
import { traceFilter } from '../../src/eth/node-params.ts'
import { block, blockNumber, filter, type Param } from '../../src/eth/params.ts'
import { ethereum } from '../../src/eth/protocol.ts'
import { RpcError } from '../../src/index.ts'
import { HEAD } from '../../src/rpc/route/protocol.ts'

const needs = (method: string, ...params: unknown[]) => ethereum.traitOf(method)?.needs?.(params)
const tells = (method: string, result: unknown, ...params: unknown[]) => ethereum.traitOf(method)?.tells?.(result, params)
const hash = `0x${'ab'.repeat(32)}`

describe('the block that a call needs', () => {
  test.each([
    ['eth_blockNumber', [], HEAD],
    ['eth_gasPrice', [], HEAD],
    ['eth_call', [{}, 'latest'], HEAD],
    ['eth_call', [{}], HEAD],
    ['eth_call', [{}, 'pending'], HEAD],
    ['eth_call', [{}, '0x10'], 16],
    ['eth_call', [{}, 'finalized'], undefined],
    ['eth_call', [{}, 'earliest'], undefined],
    ['eth_call', [{}, { blockNumber: '0x10' }], 16],
    ['eth_call', [{}, { blockHash: hash }], undefined],
    ['eth_getBlockByNumber', ['0x0', true], 0],
    ['eth_getStorageAt', ['0x1', '0x2', '0x3'], 3],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x2' }], 2],
    ['eth_getLogs', [{}], HEAD],
    ['eth_getLogs', [{ blockHash: hash }], undefined],
    ['eth_getTransactionReceipt', [hash], undefined],
    ['web3_clientVersion', [], undefined],
    ['constructor', [], undefined],
    // An invalid block needs none; the node refuses it.
    ['eth_getBlockByNumber', ['0xzz'], undefined],
    ['eth_getBlockByNumber', [-1], undefined],
    ['eth_getBlockByNumber', [`0x${'f'.repeat(40)}`], undefined],
  ])('%s %j', (method, params, block) => {
    expect(needs(method, ...params)).toBe(block)
  })
})

describe('the newest block that a result proves', () => {
  test.each([
    ['eth_blockNumber', '0x10', [], 16],
    ['eth_getBlockByNumber', { number: '0x10' }, ['latest', false], 16],
    ['eth_getBlockByNumber', { number: '0x11' }, ['pending', false], undefined],
    ['eth_getBlockByNumber', null, ['0x99', false], undefined],
    ['eth_getTransactionReceipt', { blockNumber: '0x10' }, [hash], 16],
    ['eth_getTransactionByHash', { blockNumber: null }, [hash], undefined],
    ['eth_getLogs', [{ blockNumber: '0x1' }, { blockNumber: '0x2' }], [{}], 2],
    ['eth_getLogs', [], [{}], undefined],
    ['eth_getFilterChanges', [hash], ['0x1'], undefined],
    ['eth_blockNumber', 'nonsense', [], undefined],
    ['eth_getBlockByNumber', 'nonsense', ['latest', false], undefined],
  ])('%s %j', (method, result, params, block) => {
    expect(tells(method, result, ...params)).toBe(block)
  })
})

test('every method with a block among its params needs that block', () => {
  const all: Readonly<Record<string, { readonly params: { readonly codecs: readonly Param<never>[] } }>> = { ...methods, ...nodeMethods }
  const isAt = (codec: Param<never>, ...ofBlocks: readonly Param<never>[]) => ofBlocks.some(({ encode }) => encode === codec.encode)
  const rows = Object.entries(all).flatMap(([method, { params }]) =>
    params.codecs.flatMap((codec, index) => {
      const before: unknown[] = Array(index).fill(null)
      if (isAt(codec, block, blockNumber)) return [[method, needs(method, ...before, '0x10')] as const]
      return isAt(codec, filter, traceFilter) ? [[method, needs(method, ...before, { toBlock: '0x10' })] as const] : []
    }),
  )
  expect(rows.length).toBeGreaterThan(25)
  // It has no block of its own: its filter is told of new ones.
  expect(rows.filter(([, needed]) => needed !== 16)).toEqual([['eth_newFilter', undefined]])
})

test('a decoded result gives the same block', () => {
  expect(tells('eth_getLogs', [{ blockNumber: 1n }, { blockNumber: 2n }], {})).toBe(2)
  expect(tells('eth_getBlockByNumber', { number: 16n }, 'latest', false)).toBe(16)
  expect(tells('eth_getBlockByNumber', { number: 2n ** 60n }, 'latest', false)).toBeUndefined()
})

test.each([
  ['pruned history unavailable: requested block 1, earliest available 61234', 61_234],
  ['requested height 3 has been pruned; earliest available is 100', 100],
  ['old data not available due to pruning: requested block 25609173, history is available from block 25735899', 25_735_899],
  ['Block with such an ID is pruned; the first retained block is 100', 100],
  ['height 1 is not available, lowest height is 2', 2],
  ['missing trie node', undefined],
])('the oldest block of a node that says: %s', (message, oldest) => {
  expect(ethereum.oldestIn(new RpcError({ code: -32000, message }))).toBe(oldest)
})

test('named params give no block, and break nothing', () => {
  for (const method of ['eth_getLogs', 'eth_getBlockByNumber', 'eth_getBalance']) {
    const trait = ethereum.traitOf(method)
    const byName = { filter: {}, fromBlock: '0x1' } as never
    expect(() => trait?.needs?.(byName)).not.toThrow()
    expect(() => trait?.tells?.(null, byName)).not.toThrow()
  }
})
