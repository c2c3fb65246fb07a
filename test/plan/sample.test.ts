import { createClient } from 'hexline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RpcError } from '../../src/index.ts'
import { missingOf, settled, takeSample, until } from '../../src/plan/sample.ts'
import { type GrowingChainOptions, startGrowingChain } from '../support/growing-chain.ts'

async function start(options: Partial<GrowingChainOptions> = {}) {
  const chain = await startGrowingChain({ head: 100, transactions: (number) => (number % 5 === 0 ? 3 : 1), ...options })
  const client = createClient(chain.url)
  onTestFinished(async () => {
    await client.close()
    await chain.close()
  })
  return { chain, client }
}
const options = { full: true, receipts: true, signal: undefined }

describe('a sample', () => {
  it('has headers from all over the range, and some of these blocks whole, with what they took', async () => {
    const { client } = await start()
    const { headers, blocks, missing, counts, headerCounts } = await takeSample(client, 10, 80, 4, options)
    expect([headers.length, blocks.length, missing]).toEqual([40, 4, null])
    expect(headerCounts.calls).toBe(40)
    expect(counts.calls).toBe(8)
    const numbers = headers.map(({ number }) => number)
    for (const { number, header, block, receipts, bytes, logs, calls } of blocks) {
      expect(numbers).toContain(number)
      const { transactions } = JSON.parse(block.toString())
      const given = JSON.parse(String(receipts)) as { logs: unknown[] }[]
      expect(header).toMatchObject({ number, transactions: transactions.length })
      expect(transactions[0]).toHaveProperty('input')
      expect(bytes).toBe(block.length + (receipts?.length ?? 0))
      expect(logs.count).toBe(given.flatMap((each) => each.logs).length)
      expect(calls).toEqual({ eth_getBlockByNumber: 1, eth_getBlockReceipts: 1 })
    }
  })

  it('is fetched as the job does: hashes, no receipts, or receipts one by one', async () => {
    const { client } = await start({ lacks: ['eth_getBlockReceipts'] })
    const hashes = await takeSample(client, 0, 3, 20, { ...options, full: false, receipts: false })
    expect(hashes.blocks.map(({ receipts, calls, logs }) => [receipts, calls, logs])).toEqual(
      Array(3).fill([undefined, { eth_getBlockByNumber: 1 }, { count: 0, bytes: 0 }]),
    )
    const [first] = (await takeSample(client, 0, 1, 20, options)).blocks
    expect(first?.calls).toEqual({ eth_getBlockByNumber: 1, eth_getTransactionReceipt: first?.header.transactions })
  })

  it('says which blocks are missing, and rejects if all are', async () => {
    const { client } = await start({ prunedBelow: 50 })
    const { blocks, missing } = await takeSample(client, 0, 100, 5, options)
    expect(blocks.every(({ number }) => number >= 50)).toBe(true)
    expect(missing?.to).toBeLessThan(50n)
    await expect(takeSample(client, 0, 40, 5, options)).rejects.toMatchObject({ kind: 'pruned' })
  })
})

describe('what is settled', () => {
  const absent = (kind: string) => new RpcError({ code: 1, message: `no ${kind}` }, { kind: kind as 'pruned' })

  it('is found, or a gap in the order of numbers', async () => {
    const { found, gaps } = await settled([5, 3, 8, 1], Number, async (number) => {
      if (number === 5) throw absent('pruned')
      if (number === 1) throw absent('not-found')
      return 10 * number
    })
    expect(found).toEqual([30, 80])
    expect(gaps.map(({ number }) => number)).toEqual([1, 5])
    expect(missingOf(gaps)).toMatchObject({ blocks: 2, from: 1n, to: 5n, why: gaps[1]?.error.message })
    expect(missingOf([])).toBeNull()
  })

  it('is nothing where anything else fails', async () => {
    await expect(settled([1], Number, () => Promise.reject(absent('throttled')))).rejects.toThrow('no throttled')
    await expect(settled([1], Number, () => Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError)
  })
})

describe('a task', () => {
  it('has its requests aborted when it fails, when it ends, and by the signal', async () => {
    let stop: AbortSignal | undefined
    const end = (outcome: Promise<number>) => (signal: AbortSignal) => {
      stop = signal
      return outcome
    }
    await expect(until(undefined, end(Promise.reject(new Error('no'))))).rejects.toThrow('no')
    expect(stop?.aborted).toBe(true)
    expect(await until(undefined, end(Promise.resolve(5)))).toBe(5)
    expect(stop?.aborted).toBe(true)
    const outer = new AbortController()
    const waiting = until(outer.signal, (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))
    outer.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(until(outer.signal, async () => 5)).rejects.toThrow('enough')
  })
})
