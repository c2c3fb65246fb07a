import { createClient } from 'hexline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RpcError } from '../../src/index.ts'
import { estimatorFor, type Header, missingOf, type SampledBlock, settled, takeSample, until } from '../../src/plan/sample.ts'
import { type ChainOptions, startChain } from '../support/chain-server.ts'
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

describe('a node that sends what it should not', () => {
  /** A sample of one block, whose replies are changed. */
  async function sampleOf(changed: (json: string, whole: number) => string, answer?: ChainOptions['answer']) {
    let whole = 0
    const isWhole = ({ params }: { params: readonly unknown[] }) => params[1] === true
    const chain = await startChain({
      head: 9,
      reply: ({ calls, json }) => ({ body: calls.some(isWhole) ? changed(json, ++whole) : json }),
      ...(answer && { answer }),
    })
    const client = createClient(chain.url, { retry: { baseDelayMs: 1, maxDelayMs: 1 } })
    onTestFinished(async () => {
      await client.close()
      await chain.close()
    })
    const sample = await takeSample(client, 5, 1, 20, { ...options, receipts: false }).catch((error: unknown) => error)
    return { sample, whole }
  }
  const broken = (json: string) => json.replace('"number":', '"x":01,"number":')

  it('is asked again for what is no JSON, four times', async () => {
    const { sample, whole } = await sampleOf((json, attempt) => (attempt < 4 ? broken(json) : json))
    expect([whole, sample]).toMatchObject([4, { blocks: [{ number: 5 }] }])
    const bad = await sampleOf(broken)
    expect([bad.whole, bad.sample]).toMatchObject([4, { name: 'MalformedReplyError', message: 'block 5: received invalid JSON 4 times' }])
  })

  it('has figures of 0 in place of what is not in a header', async () => {
    const { sample } = await sampleOf(
      (json) => json,
      ({ method }) => (method === 'eth_getBlockByNumber' ? { result: { gasUsed: 'much', logsBloom: '0x12' } } : undefined),
    )
    expect(sample).toMatchObject({ headers: [{ number: 5, transactions: 0, gasUsed: 0, logsBloom: undefined }] })
  })
})

it('what is estimated follows the gas, where transactions do not tell', () => {
  const headers = Array.from({ length: 40 }, (_, i): Header => ({ number: i, transactions: 3, gasUsed: 100 * (i + 1), logsBloom: undefined }))
  const blocks = headers.filter(({ number }) => number < 20 && number % 2 === 0).map((header) => ({ header }) as SampledBlock)
  const { value, low, high } = estimatorFor(40, { headers, blocks })(blocks.map(({ header }) => header.gasUsed * 2))
  const total = headers.reduce((sum, { gasUsed }) => sum + gasUsed * 2, 0)
  for (const each of [value, low, high]) expect(each).toBeCloseTo(total)
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

  it.each(['pruned', 'not-found', 'lagging'])('is a gap where a block is %s', async (kind) => {
    expect((await settled([7], Number, () => Promise.reject(absent(kind)))).gaps).toMatchObject([{ number: 7 }])
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
