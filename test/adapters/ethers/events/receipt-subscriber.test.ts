import type { TransactionReceipt } from 'ethers'
import { describe, expect, it } from 'vitest'
import { ReceiptSubscriber } from '../../../../adapters/ethers/events/receipt-subscriber.ts'
import { node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { failed, serve } from '../../../support/server.ts'

const hash = `0x${'1b'.repeat(32)}`
const receipt = {
  ...{ transactionHash: hash, transactionIndex: '0x0', blockNumber: '0xa', blockHash: hash, from: `0x${'11'.repeat(20)}`, to: null },
  ...{ contractAddress: null, gasUsed: '0x1', cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1', status: '0x1', type: '0x0', logs: [], logsBloom: '0x' },
}

/** A node that may not have the receipt, or refuse a call, and a subscriber. */
async function setUp() {
  const chain = { head: 9, isMined: false, refused: '' }
  const server = await serve(
    node({
      head: () => chain.head,
      answer(entry) {
        if (entry.method === chain.refused) return failed(entry, -32000, 'no')
        return entry.method === 'eth_getTransactionReceipt' ? { jsonrpc: '2.0', id: entry.id, result: chain.isMined ? receipt : null } : undefined
      },
    }),
  )
  const provider = new RecordingProvider(server.url)
  const announce = provider.blocksByHand()
  const subscriber = new ReceiptSubscriber(provider, hash)
  subscriber.start()
  await server.received(2)
  /** The receipt that is emitted at this block. */
  const receiptAt = async (block: number) => {
    const before = provider.emitted.length
    chain.head = block
    announce(block)
    await provider.hasEmitted(before + 1)
    return provider.emitted[before]?.[1] as TransactionReceipt
  }
  return { chain, provider, server, subscriber, announce, receiptAt }
}

describe('a subscriber of a transaction', () => {
  it('emits its receipt at each block', async () => {
    const { chain, provider, receiptAt } = await setUp()
    chain.isMined = true
    expect(await receiptAt(10)).toMatchObject({ hash })
    expect(await (await receiptAt(12)).confirmations()).toBe(3)
    expect(provider.emitted.map(([event]) => event)).toEqual([hash, hash])
  })

  it('reports a failed request, and makes it again at the next block', async () => {
    const { chain, receiptAt } = await setUp()
    Object.assign(chain, { isMined: true, refused: 'eth_getTransactionReceipt' })
    expect(await receiptAt(10)).toMatchObject({ error: { message: 'no' } })
    chain.refused = ''
    expect(await receiptAt(11)).toMatchObject({ hash })
  })

  it('emits nothing once it is stopped, also where its request is answered after that', async () => {
    const { chain, provider, server, subscriber, announce } = await setUp()
    chain.isMined = true
    const { length } = server.requests
    announce(10)
    await server.received(length + 1)
    subscriber.stop()
    for (let i = 0; i < 3; i++) await provider.getTransactionReceipt(hash)
    expect(provider.emitted).toEqual([])
  })
})

describe("confirmations of an emitted receipt, which ethers' wait() requests where nobody handles a failure", () => {
  it('are 1 where the request fails, which is reported', async () => {
    const { chain, provider, receiptAt } = await setUp()
    chain.isMined = true
    const emitted = await receiptAt(11)
    chain.refused = 'eth_blockNumber'
    expect(await emitted.confirmations()).toBe(1)
    expect(provider.emitted.slice(1)).toEqual([['error', expect.objectContaining({ error: expect.objectContaining({ message: 'no' }) })]])
  })

  it('are 1 where the provider is destroyed meanwhile', async () => {
    const { chain, provider, receiptAt } = await setUp()
    chain.isMined = true
    const emitted = await receiptAt(11)
    const confirmations = emitted.confirmations()
    provider.destroy()
    expect(await confirmations).toBe(1)
    expect(provider.emitted).toHaveLength(1)
  })
})
