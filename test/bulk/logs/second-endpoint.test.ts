import { describe, expect, it } from 'vitest'
import { getLogs } from '../../../src/index-bulk.ts'
import { blockHash, blockOf, hexOf } from '../../support/chain-server.ts'
import { type Answer, cut, type Entry, each, failed } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/* In virtual time: nobody waits for what a second endpoint does not have. */
const { clock, serve, clientOf, deadPort } = virtualWorld()

const HEAD = 1_000_000
const EACH = 1000
const address = `0x${'a'.repeat(40)}` as const

interface Node {
  /** Oldest and newest block. Default: the whole chain. */
  readonly oldest?: number
  readonly head?: number
  /** Says that a range is beyond its head, in place of giving the logs below it. */
  readonly isHonest?: boolean
  /** Requests for logs that it cuts off before it answers. */
  readonly cuts?: number
  readonly chain?: number
}

/** A node of a chain with a log in every thousandth block, and the ranges that it was asked for. */
async function startNode({ oldest = 0, head = HEAD, isHonest = false, cuts = 0, chain = 1 }: Node = {}) {
  const ranges: [from: number, to: number][] = []
  const counts = { cut: 0 }
  let left = cuts
  const answer: Answer = (request, response) => {
    const isOfLogs = request.entries.some(({ method }) => method === 'eth_getLogs')
    if (!isOfLogs || left-- <= 0) return each(resultOf)(request, response)
    counts.cut++
    return cut(request, response)
  }
  function resultOf(entry: Entry): object {
    const { id, method, params } = entry
    if (method === 'eth_chainId') return { id, result: hexOf(chain) }
    if (method === 'eth_blockNumber') return { id, result: hexOf(head) }
    if (method !== 'eth_getLogs') return { id, result: Number(params[0]) > head ? null : blockOf(Number(params[0]), false) }
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    ranges.push([from, to])
    if (from < oldest) return failed(entry, 4444, 'pruned history unavailable')
    if (isHonest && to > head) return failed(entry, -32000, 'block range extends beyond current head block')
    return { id, result: logsOf(from, Math.min(to, head)) }
  }
  return { url: (await serve(answer)).url, ranges, counts }
}

function logsOf(from: number, to: number): object[] {
  const logs: object[] = []
  for (let block = Math.ceil(from / EACH) * EACH; block <= to; block += EACH) {
    const hash = blockHash(block)
    const place = { blockNumber: hexOf(block), blockHash: hash, transactionHash: hash, transactionIndex: '0x0', logIndex: '0x0' }
    logs.push({ address, topics: [], data: '0x', ...place, removed: false })
  }
  return logs
}

/** The pages of the whole chain, its audit by a second endpoint, and how long that took, in ms. */
async function audited(second: string) {
  const first = await startNode()
  const client = clientOf([first.url, second])
  const began = clock.now()
  const logs = getLogs(client, { address, from: 0, to: HEAD, audit: 'peer' })
  let [pages, count] = [0, 0]
  for await (const page of logs.pages()) {
    pages++
    count += page.logs.length
  }
  expect(count).toBe(HEAD / EACH + 1)
  return { pages, audit: logs.audit, tookMs: clock.now() - began, first }
}

const none = 'no second endpoint answered'

describe('a second endpoint', () => {
  it('is compared with the first, block by block', async () => {
    const second = await startNode()
    const { audit } = await audited(second.url)
    expect(audit).toMatchObject({ blocks: HEAD + 1, suspects: 0, unproven: 0 })
  })

  it('that has dropped everything is not waited for, page by page', async () => {
    const second = await startNode({ oldest: HEAD + 1 })
    const { audit, pages, tookMs } = await audited(second.url)
    expect(pages).toBeGreaterThan(10)
    expect(audit).toMatchObject({ unproven: HEAD + 1, reasons: { [none]: HEAD + 1 } })
    // A page takes some ms here, and waiting for another answer some hundred.
    expect(tookMs).toBeLessThan(pages * 50)
  })

  it('that has dropped old blocks proves the others to the block, and is not asked for the old ones again', async () => {
    const second = await startNode({ oldest: 345_678 })
    const { audit, pages } = await audited(second.url)
    expect(audit).toMatchObject({ suspects: 0, unproven: 345_678, reasons: { [none]: 345_678 } })
    expect(second.ranges.filter(([from]) => from < 345_678).length).toBeLessThan(2 * pages)
  })

  it.each([true, false])('that lags proves nothing beyond its head, whether it says so or not: %s', async (isHonest) => {
    const second = await startNode({ head: 543_210, isHonest })
    const { audit, tookMs, pages } = await audited(second.url)
    expect(audit).toMatchObject({ suspects: 0, fetched: 0, unproven: HEAD - 543_210, reasons: { [none]: HEAD - 543_210 } })
    expect(second.ranges.every(([, to]) => to <= 543_210)).toBe(true)
    expect(tookMs).toBeLessThan(pages * 50)
  })

  it('of another chain proves nothing', async () => {
    const second = await startNode({ chain: 10 })
    expect((await audited(second.url)).audit).toMatchObject({ suspects: 0, unproven: HEAD + 1 })
    expect(second.ranges).toEqual([])
  })

  it('that is out for the moment is asked again', async () => {
    const second = await startNode({ cuts: 2 })
    expect((await audited(second.url)).audit).toMatchObject({ unproven: 0 })
  })

  it('that does not answer is asked ever more rarely', async () => {
    const mute = await startNode({ cuts: Number.POSITIVE_INFINITY })
    const { audit, pages } = await audited(mute.url)
    expect(audit).toMatchObject({ unproven: HEAD + 1 })
    expect(mute.counts.cut).toBeLessThan(pages)
    const { tookMs } = await audited(`http://127.0.0.1:${deadPort()}`)
    expect(tookMs).toBeLessThan(pages * 500)
  })

  it('that comes back proves what follows', async () => {
    const second = await startNode({ cuts: 10 })
    const { audit } = await audited(second.url)
    expect(audit.unproven).toBeGreaterThan(0)
    expect(audit.unproven).toBeLessThan(HEAD / 2)
  })
})
