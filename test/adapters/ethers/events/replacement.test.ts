import { expect, onTestFinished, test } from 'vitest'
import { replacementOf } from '../../../../adapters/ethers/events/replacement.ts'
import { HexlineProvider } from '../../../../adapters/ethers/index.ts'
import { hex } from '../../../support/node.ts'
import { each, serve } from '../../../support/server.ts'

const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const from = `0x${'11'.repeat(20)}`
const sent = {
  ...{ hash: word(1), from, to: from, nonce: '0x7', value: '0x0', input: '0x', gas: '0x5208', gasPrice: '0x1', type: '0x0', chainId: '0x1' },
  ...{ v: '0x25', r: word(1), s: word(2), blockNumber: null, blockHash: null, transactionIndex: null },
}
const blockOf = (number: number) => ({
  ...{ number: hex(number), hash: word(number), parentHash: word(number - 1), timestamp: hex(number), nonce: '0x0000000000000000', difficulty: '0x0' },
  ...{ gasLimit: '0x1', gasUsed: '0x0', miner: from, extraData: '0x', transactions: [] },
})

test('a replacement that is not found is searched in only a few blocks each time, however long the wait', async () => {
  const asked: number[] = []
  const results: Record<string, (params: readonly unknown[]) => unknown> = {
    eth_getTransactionByHash: () => sent,
    eth_getTransactionCount: () => '0x8',
    eth_getBlockByNumber: ([number]) => {
      asked.push(Number(number))
      return blockOf(Number(number))
    },
  }
  const server = await serve(each(({ id, method, params }) => ({ jsonrpc: '2.0', id, result: results[method]?.(params as unknown[]) })))
  const provider = new HexlineProvider(server.url, 1, { staticNetwork: true, cacheTimeout: -1 })
  onTestFinished(() => provider.destroy())
  const look = replacementOf(provider, sent.hash, 1)
  for (let block = 100; block < 120; block++) await look(block)
  expect(asked.slice(0, 4)).toEqual([97, 98, 99, 100])
  expect(asked.slice(-5)).toEqual([115, 116, 117, 118, 119])
  expect(asked).toHaveLength(4 + 19 * 5)
})
