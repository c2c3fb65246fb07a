import { describe, expect, it } from 'vitest'
import { IntegrityError } from '../../../src/errors.ts'
import { getLogs } from '../../../src/index-bulk.ts'
import { blockHash, blockOf, hexOf } from '../../support/chain-server.ts'
import { type Answer, cut, type Entry, each, errorOf, failed, refuse, silent } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/* In virtual time: two nodes, one of which is another one after some ranges. */
const { clock, serve, clientOf } = virtualWorld()

const HEAD = 100_000
const EACH = 100
/** Most blocks in a range. */
const MOST = 500
/** Ranges until the node becomes another one. */
const RANGES = 20
const address = `0x${'a'.repeat(40)}` as const

interface Later {
  /** Its newest block from then on. Default: all. */
  readonly head?: number
  /** From the start, it is this many blocks behind, and has an error for them in place of null. */
  readonly behind?: number
  /** It has other blocks from then on. */
  readonly isForked?: boolean
  /** From then on, it throttles the first question that is not for logs, for this long, in s. */
  readonly throttlesFor?: number
  /** From then on, it tells its newest block once, and answers nothing after that. */
  readonly isLost?: boolean
  /** How it answers from then on, if it does not answer as before. */
  readonly answer?: Answer
}

/** A node with a log in every hundredth block, which becomes another one after 20 ranges. */
async function startNode({ head = HEAD, behind = 0, isForked = false, throttlesFor = 0, isLost = false, answer: laterAnswer }: Later = {}) {
  let ranges = 0
  let throttles = throttlesFor > 0
  let hasTold = false
  const isLater = () => ranges > RANGES
  const hashOf = (number: number) => (isForked && isLater() ? `0x${'f'.repeat(64)}` : blockHash(number))
  function resultOf({ id, method, params }: Entry): object {
    const newest = (isLater() ? head : HEAD) - behind
    if (method === 'eth_chainId') return { id, result: '0x1' }
    if (method === 'eth_blockNumber') return { id, result: hexOf(newest) }
    if (method !== 'eth_getLogs') {
      const number = Number(params[0])
      if (behind > 0 && number > newest) return failed({ id }, -32000, 'header not found')
      return { id, result: number > newest ? null : { ...blockOf(number, false), hash: hashOf(number) } }
    }
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    if (Number(toBlock) - Number(fromBlock) >= MOST) return failed({ id }, -32602, `exceed maximum block range: ${MOST}`)
    const result: object[] = []
    ranges++
    for (let block = Math.ceil(Number(fromBlock) / EACH) * EACH; block <= Math.min(Number(toBlock), newest); block += EACH) {
      const place = { blockNumber: hexOf(block), blockHash: blockHash(block), transactionHash: blockHash(block), transactionIndex: '0x0', logIndex: '0x0' }
      result.push({ address, topics: [], data: '0x', ...place, removed: false })
    }
    return { id, result }
  }
  const answer: Answer = (request, response) => {
    if (throttles && isLater() && request.entries.every(({ method }) => method !== 'eth_getLogs')) {
      throttles = false
      return refuse(-32005, 'rate limit exceeded', { status: 429, headers: { 'retry-after': `${throttlesFor}` } })(request, response)
    }
    if (isLost && hasTold) return cut(request, response)
    hasTold = isLater() && request.entries.some(({ method }) => method === 'eth_blockNumber')
    return (ranges >= RANGES ? (laterAnswer ?? each(resultOf)) : each(resultOf))(request, response)
  }
  return { url: (await serve(answer)).url, ranges: () => ranges }
}

async function countOf(later: Later, to = HEAD): Promise<{ count: number; ranges: number }> {
  const [good, other] = [await startNode(), await startNode(later)]
  let count = 0
  for await (const { logs } of getLogs(clientOf([good.url, other.url]), { address, from: 0, to, audit: 'none' }).pages()) count += logs.length
  return { count, ranges: other.ranges() }
}

describe('at the end of a job without an audit, it fails', () => {
  it('if an endpoint no longer has what it gave logs of', async () => {
    const error = await errorOf(countOf({ head: 10 }))
    expect(error).toBeInstanceOf(IntegrityError)
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+ gave the logs up to block \d+, and is at block 10 at the end: another node may have taken its place/)
  })

  it('if such an endpoint throttles the question for its newest block', async () => {
    expect((await errorOf(countOf({ head: 10, throttlesFor: 2 }))).message).toContain('is at block 10 at the end: another node may have taken its place')
  })

  it('if such an endpoint cannot be reached any more after it told its newest block', async () => {
    expect((await errorOf(countOf({ head: 10, isLost: true }))).message).toContain('is at block 10 at the end: another node may have taken its place')
  })

  it('if an endpoint never had what it seems to have dropped, for its age', async () => {
    expect((await errorOf(countOf({ head: 10 }, HEAD - 10_000))).message).toContain('at the end: another node may have taken its place')
  })

  it('if an endpoint gives another block for ten seconds', async () => {
    const answer = each(({ id, method, params }: Entry) => {
      if (method !== 'eth_getBlockByNumber') return { id, result: method === 'eth_blockNumber' ? hexOf(HEAD) : method === 'eth_chainId' ? '0x1' : [] }
      return { id, result: blockOf(Number(params[0]) === HEAD ? 7 : Number(params[0]), false) }
    })
    expect(await errorOf(countOf({ answer }))).toBeInstanceOf(IntegrityError)
  })

  it('if an endpoint has another last block', async () => {
    const error = await errorOf(countOf({ isForked: true }))
    expect(error).toBeInstanceOf(IntegrityError)
    expect(error.message).toMatch(/^block 100000 came as 0x\w{64}, and at the end as 0xf{64} from 127\.0\.0\.1:\d+, which gave logs: another node/)
  })
})

describe('at the end of a job without an audit, it does not fail', () => {
  it('if an endpoint does not answer', async () => {
    expect(await countOf({ answer: cut })).toEqual({ count: HEAD / EACH + 1, ranges: RANGES })
  })

  it('if an endpoint gives another block at first', async () => {
    let asked = 0
    const answer = each(({ id, method, params }: Entry) => {
      if (method !== 'eth_getBlockByNumber') return { id, result: method === 'eth_blockNumber' ? hexOf(HEAD) : method === 'eth_chainId' ? '0x1' : [] }
      const isLast = Number(params[0]) === HEAD
      return { id, result: blockOf(isLast && ++asked < 3 ? 7 : Number(params[0]), false) }
    })
    expect((await countOf({ answer })).count).toBeGreaterThan(0)
    expect(asked).toBeGreaterThanOrEqual(3)
  })

  it('if an endpoint has what it gave, but not the last block', async () => {
    expect(await countOf({ behind: 3 })).toMatchObject({ count: HEAD / EACH + 1 })
  })

  it('if the block whose logs were asked for by its hash has been replaced', async () => {
    const hash = `0x${'e'.repeat(64)}` as const
    const place = { blockNumber: hexOf(500), blockHash: hash, transactionHash: hash, transactionIndex: '0x0', logIndex: '0x0' }
    const answer = each(({ id, method, params }: Entry) => {
      if (method === 'eth_chainId') return { id, result: '0x1' }
      if (method === 'eth_blockNumber') return { id, result: hexOf(HEAD) }
      if (method === 'eth_getLogs') return { id, result: [{ address, topics: [], data: '0x', ...place, removed: false }] }
      const isByHash = method === 'eth_getBlockByHash'
      return { id, result: { ...blockOf(isByHash ? 500 : Number(params[0]), false), ...(isByHash && { hash }) } }
    })
    const client = clientOf([(await serve(answer)).url, (await serve(answer)).url])
    const logs: unknown[] = []
    for await (const log of getLogs(client, { address, blockHash: hash, audit: 'none' })) logs.push(log)
    expect(logs).toHaveLength(1)
  })

  it('if a pinned client has seen newer blocks since its endpoint failed', async () => {
    const [good, other] = [await startNode(), await startNode({ answer: cut, behind: EACH })]
    const client = clientOf([good.url, other.url]).pinned()
    let count = 0
    for await (const { logs } of getLogs(client, { address, from: 0, to: HEAD - EACH, audit: 'none' }).pages()) {
      count += logs.length
      if (good.ranges() > 0) await client.call('eth_getBlockByNumber', BigInt(HEAD), false)
    }
    expect(Math.min(good.ranges(), other.ranges())).toBeGreaterThan(0)
    expect(count).toBe(HEAD / EACH)
  })

  it('if an endpoint is silent, for which it waits no longer than ten seconds', async () => {
    const started = clock.now()
    const { count } = await countOf({ answer: silent })
    expect(count).toBe(HEAD / EACH + 1)
    expect(clock.now() - started).toBeLessThan(15_000)
  })

  it('if the endpoints are as they were', async () => {
    const { count, ranges } = await countOf({})
    expect(count).toBe(HEAD / EACH + 1)
    expect(ranges).toBeGreaterThan(RANGES)
  })
})
