import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alice } from './contracts.ts'
import { all, hex, kindOf, LOGS, type LoggedChain, limited, rpc, startLoggedChain } from './limited.ts'

let chain: LoggedChain

beforeAll(async () => {
  chain = await startLoggedChain()
})
afterAll(() => chain?.whole.stop())

const noHeader = [-32000, 'header not found']
const pruned = [4444, 'pruned history unavailable']

describe('lag', () => {
  it('makes an older block the newest one, by its number and by each tag', async () => {
    await using sandbox = await limited(chain, { lag: 3 })
    const head = hex(chain.head - 3)
    expect(await rpc(sandbox, 'eth_blockNumber')).toBe(head)
    expect((await rpc(sandbox, 'eth_getBlockByNumber', 'latest', false)).number).toBe(head)
    const { oldestBlock, gasUsedRatio } = await rpc(sandbox, 'eth_feeHistory', '0x2', 'latest', [])
    expect([oldestBlock, gasUsedRatio.length]).toEqual([hex(chain.head - 4), 2])
    await using behind = await limited(chain, { lag: chain.head - 1 })
    for (const tag of ['latest', 'safe', 'finalized']) expect([tag, (await rpc(behind, 'eth_getBlockByNumber', tag, false)).number]).toEqual([tag, '0x1'])
    await using young = await limited(chain, { lag: 1_000_000 })
    expect(await rpc(young, 'eth_blockNumber')).toBe('0x0')
  })

  it('makes newer blocks unknown, by number and by hash', async () => {
    const lag = chain.head - chain.last + 1
    await using sandbox = await limited(chain, { lag })
    const { hash, transactions } = await rpc(chain.whole, 'eth_getBlockByNumber', hex(chain.last), false)
    for (const call of [
      ['eth_getBlockByNumber', hex(chain.last), false],
      ['eth_getBlockByHash', hash, false],
      ['eth_getBlockReceipts', hex(chain.last)],
      ['eth_getBlockTransactionCountByHash', hash],
      ['eth_getTransactionByBlockNumberAndIndex', hex(chain.last), '0x0'],
      ['eth_getTransactionByHash', transactions[0]],
      ['eth_getTransactionReceipt', transactions[0]],
    ] as const) {
      const [method, ...params] = call
      expect([method, await rpc(sandbox, method, ...params)]).toEqual([method, null])
      expect([method, await rpc(chain.whole, method, ...params)]).not.toEqual([method, null])
    }
    const before = await rpc(sandbox, 'eth_getBlockByNumber', hex(chain.last - 1), false)
    expect(await rpc(sandbox, 'eth_getTransactionReceipt', before.transactions[0])).toMatchObject({ blockNumber: before.number })
  })

  it('has no state of newer blocks, and the state of its newest one by default', async () => {
    await using sandbox = await limited(chain, { lag: chain.head - 1 })
    expect(await rpc(sandbox, 'eth_getBalance', alice, '0x2')).toEqual(noHeader)
    expect(await rpc(sandbox, 'eth_getStorageAt', chain.address, '0x0', { blockNumber: '0x2' })).toEqual(noHeader)
    expect(await kindOf(sandbox, 'eth_getBalance', alice, '0x2')).toBe('lagging')
    const balance = await rpc(chain.whole, 'eth_getBalance', alice, '0x1')
    expect(balance).not.toBe(await rpc(chain.whole, 'eth_getBalance', alice, 'latest'))
    expect([await rpc(sandbox, 'eth_getBalance', alice), await rpc(sandbox, 'eth_getBalance', alice, 'latest')]).toEqual([balance, balance])
    // The pool does not lag: the next nonce is the right one.
    const nonce = await rpc(chain.whole, 'eth_getTransactionCount', alice, 'pending')
    expect(await rpc(sandbox, 'eth_getTransactionCount', alice, 'pending')).toBe(nonce)
    expect(await rpc(sandbox, 'eth_getTransactionCount', alice, 'latest')).toBe('0x1')
  })

  it('ends logs at its newest block, and does not say so', async () => {
    await using sandbox = await limited(chain, { lag: chain.head - chain.first })
    const { first, last, head, address } = chain
    const logs = (fromBlock: unknown, toBlock: unknown) => rpc(sandbox, 'eth_getLogs', { address, fromBlock, toBlock })
    expect(await logs('0x0', 'latest')).toHaveLength(LOGS)
    expect(await logs(hex(first), hex(last))).toHaveLength(LOGS)
    expect([await logs(hex(last), hex(head)), await logs(hex(last), 'latest')]).toEqual([[], []])
    const { hash } = await rpc(chain.whole, 'eth_getBlockByNumber', hex(last), false)
    expect(await rpc(sandbox, 'eth_getLogs', { blockHash: hash })).toEqual([-32000, 'unknown block'])
    expect(await kindOf(sandbox, 'eth_getLogs', { blockHash: hash })).toBe('lagging')
  })
})

describe('prunedBelow', () => {
  it('refuses older blocks, receipts and logs with 4444, by number and by hash', async () => {
    await using sandbox = await limited(chain, { prunedBelow: chain.last })
    const { hash, transactions } = await rpc(chain.whole, 'eth_getBlockByNumber', hex(chain.first), false)
    for (const call of [
      ['eth_getBlockByNumber', hex(chain.last - 1), false],
      ['eth_getBlockByHash', hash, false],
      ['eth_getBlockReceipts', hex(chain.first)],
      ['eth_getBlockReceipts', { blockHash: hash }],
      ['eth_getLogs', { fromBlock: hex(chain.last - 1), toBlock: 'latest' }],
      ['eth_getLogs', { blockHash: hash }],
    ] as const) {
      const [method, ...params] = call
      expect([method, await rpc(sandbox, method, ...params)]).toEqual([method, pruned])
      expect([method, await kindOf(sandbox, method, ...params)]).toEqual([method, 'pruned'])
    }
    expect(await rpc(sandbox, 'eth_getTransactionReceipt', transactions[0])).toBeNull()
  })

  it('refuses older state with "missing trie node", and names the block', async () => {
    await using sandbox = await limited(chain, { prunedBelow: chain.last })
    const refusal = [-32000, expect.stringMatching(/^missing trie node [0-9a-f]{64} \(path \) state 0x[0-9a-f]{64} is not available, not found$/)]
    expect(await rpc(sandbox, 'eth_getBalance', alice, hex(chain.last - 1))).toEqual(refusal)
    expect(await rpc(sandbox, 'eth_call', { to: chain.address }, { blockNumber: '0x1' })).toEqual(refusal)
    expect(await kindOf(sandbox, 'eth_getBalance', alice, '0x1')).toBe('lagging')
  })

  it('has the block itself and all after it; `earliest` is the oldest block', async () => {
    await using sandbox = await limited(chain, { prunedBelow: chain.last })
    const { last, address } = chain
    expect((await rpc(sandbox, 'eth_getBlockByNumber', hex(last), false)).number).toBe(hex(last))
    expect((await rpc(sandbox, 'eth_getBlockByNumber', 'earliest', false)).number).toBe(hex(last))
    expect(await rpc(sandbox, 'eth_getLogs', { address, fromBlock: 'earliest' })).toHaveLength(LOGS)
    expect(await rpc(sandbox, 'eth_getBalance', alice, hex(last))).toMatch(/^0x/)
    // A node has its newest block, whatever else it drops.
    await using empty = await limited(chain, { prunedBelow: 1_000_000 })
    expect((await rpc(empty, 'eth_getBlockByNumber', 'latest', false)).number).toBe(hex(chain.head))
    expect(await rpc(empty, 'eth_getBlockByNumber', hex(chain.head - 1), false)).toEqual(pruned)
  })

  it('is no obstacle to a pool with a whole node', async () => {
    await using sandbox = await limited(chain, { prunedBelow: chain.last })
    await using client = createClient([sandbox.nodeUrl(), chain.whole.nodeUrl()])
    const balance = BigInt(await rpc(chain.whole, 'eth_getBalance', alice, '0x1'))
    const balances = await Promise.all(Array.from({ length: 20 }, () => client.call('eth_getBalance', alice, 1n)))
    expect(balances).toEqual(Array(20).fill(balance))
    const blocks = await all(getBlocks(client, { from: 100, to: chain.head, receipts: true }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: chain.head - 99 }, (_, i) => 100 + i))
  })

  it('ends a job that has no other node, with the reason', async () => {
    await using sandbox = await limited(chain, { prunedBelow: 100 })
    await using client = createClient(sandbox.nodeUrl())
    await expect(all(getBlocks(client, { from: 90, to: 110 }))).rejects.toMatchObject({ kind: 'pruned', code: 4444 })
  })
})
