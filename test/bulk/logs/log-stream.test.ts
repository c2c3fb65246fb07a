import { describe, expect, it } from 'vitest'
import { getLogs } from '../../../src/index-bulk.ts'
import { blockHash, blockOf, hexOf } from '../../support/chain-server.ts'
import { type Entry, each, failed } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/*
 * A consumer that stalls, in virtual time: what is requested ahead of it is counted at the server.
 */
const { serve, clientOf, sleep } = virtualWorld()

const MiB = 1024 * 1024
const HEAD = 200_000
const address = `0x${'a'.repeat(40)}` as const

/**
 * A log in most blocks: a round number of them in the first range would be taken for a reply that
 * was cut.
 */
function logsOf(from: number, to: number): object[] {
  const blocks = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i).filter((block) => block % 97 !== 0)
  return blocks.map((block) => ({
    address,
    topics: [],
    data: '0x',
    blockNumber: hexOf(block),
    blockHash: blockHash(block),
    transactionHash: blockHash(block),
    transactionIndex: '0x0',
    logIndex: '0x0',
    removed: false,
  }))
}

const bytesOf = (from: number, to: number) => JSON.stringify(logsOf(from, to)).length

/** A node with logs from the block `dense` on that takes ranges of at most `most` blocks. */
async function startNode({ dense = 0, most = Number.POSITIVE_INFINITY } = {}) {
  const counts = { sent: 0, blocks: 0, last: 0 }
  const replies: { readonly from: number; readonly to: number; readonly bytes: number }[] = []
  const resultOf = ({ id, method, params }: Entry): object => {
    if (method !== 'eth_getLogs') return { id, result: method === 'eth_blockNumber' ? hexOf(HEAD) : blockOf(Number(params[0]), false) }
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    if (Number(toBlock) - Number(fromBlock) >= most) return failed({ id }, -32602, `exceed maximum block range: ${most}`)
    const result = logsOf(Math.max(dense, Number(fromBlock)), Number(toBlock))
    counts.blocks += Number(toBlock) - Number(fromBlock) + 1
    counts.last = Math.max(counts.last, Number(toBlock))
    const { length } = JSON.stringify(result)
    counts.sent += length
    replies.push({ from: Number(fromBlock), to: Number(toBlock), bytes: length })
    return { id, result }
  }
  const { url } = await serve(each(resultOf))
  return { url, counts, replies }
}

describe('while the consumer stalls', () => {
  it.each([4, 12])('at most %d MiB are requested ahead of it, and one page more', async (mebibytes) => {
    const { url, counts } = await startNode()
    const pages = getLogs(clientOf(url), { address, from: 0n, to: BigInt(HEAD), audit: 'none', maxBytes: mebibytes * MiB }).pages()
    let taken = 0
    let largest = 0
    const ahead: number[] = []
    for (let stall = 0; stall < 4; stall++) {
      for (let i = 0; i < 2; i++) {
        const { value } = await pages.next()
        if (value === undefined) throw new Error('the logs ended too early')
        const bytes = bytesOf(Number(value.from), Number(value.to))
        largest = Math.max(largest, bytes)
        taken += bytes
      }
      await sleep(600_000)
      ahead.push(counts.sent - taken)
    }
    await pages.return(undefined)
    expect(Math.max(...ahead)).toBeLessThanOrEqual(mebibytes * MiB + largest)
    // No block is requested twice, as it would be where a range settles at a round number of logs.
    expect(counts.blocks).toBe(counts.last + 1)
    // It does request ahead, though.
    expect(Math.max(...ahead)).toBeGreaterThan(MiB)
  })

  it('at most 64 replies that are larger than those before them come on top', async () => {
    const { url, replies } = await startNode({ dense: 100_000, most: 300 })
    const maxBytes = MiB / 4
    const stalls: { readonly replies: number; readonly taken: number }[] = []
    for await (const { to } of getLogs(clientOf(url), { address, from: 0n, to: 200_000n, audit: 'none', maxBytes }).pages()) {
      if (to > 90_000n) await sleep(10_000)
      stalls.push({ replies: replies.length, taken: Number(to) })
    }
    // What is requested again later was not held any more.
    const isHeld = replies.map(({ from }, i) => !replies.slice(i + 1).some((later) => later.from <= from && from <= later.to))
    const heldAt = (stall: (typeof stalls)[number]) =>
      replies.reduce((sum, { to, bytes }, i) => (i < stall.replies && to > stall.taken && isHeld[i] ? sum + bytes : sum), 0)
    const most = Math.max(...stalls.map(heldAt))
    const largest = Math.max(...replies.map(({ bytes }) => bytes))
    expect(most).toBeLessThanOrEqual(maxBytes + 64 * largest)
    // That many do come where the logs begin suddenly: even more, which are requested again.
    expect(most).toBeGreaterThan(maxBytes + 32 * largest)
    const dropped = isHeld.filter((each) => !each).length
    expect(dropped).toBeGreaterThan(20)
    expect(dropped).toBeLessThanOrEqual(192 - 64)
  })
})

describe('requests', () => {
  /** The POSTs of a job, with its ranges as text. */
  async function postsOf(to: bigint) {
    const { url, requests } = await serve(
      each(({ id, method, params }: Entry) => ({
        id,
        result: method === 'eth_getLogs' ? [] : method === 'eth_blockNumber' ? hexOf(HEAD) : blockOf(Number(params[0]), false),
      })),
    )
    for await (const _ of getLogs(clientOf(url), { address, from: 0n, to, audit: 'none' }));
    return requests.map(({ entries, at }) => ({
      at,
      calls: entries.map(({ method, params }) => (method === 'eth_getLogs' ? rangeOf(params) : method)),
    }))
  }

  it.each([
    ['the first range and the hash of the last block at the same time', 100_000n, ['0-9999', 'eth_blockNumber', 'eth_getBlockByNumber']],
    ['the hash of the last block where a reorganisation could reach the first range', 10_500n, ['eth_blockNumber', 'eth_getBlockByNumber']],
  ])('begin with %s', async (_, to, expected) => {
    const posts = await postsOf(to)
    const first = posts.filter(({ at }) => at === posts[0]?.at).flatMap(({ calls }) => calls)
    expect(first.sort()).toEqual(expected)
  })

  it('go on far ahead of the consumer where there are no logs', async () => {
    const { url, counts } = await startNode({ dense: HEAD + 1, most: 500 })
    const pages = getLogs(clientOf(url), { address, from: 0n, to: BigInt(HEAD), audit: 'none' }).pages()
    for (let taken = 0; taken < 5; taken++) {
      await pages.next()
      await sleep(10_000)
    }
    expect(counts.last).toBeGreaterThan(150 * 500)
    await pages.return(undefined)
  })
})

describe('pages that have arrived', () => {
  it('leave a turn of the event loop between them, in which others are requested and received', async () => {
    const { url } = await startNode()
    let turns = 0
    let isRunning = true
    const count = () => {
      turns++
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    const at: number[] = []
    for await (const _ of getLogs(clientOf(url), { address, from: 0n, to: 60_000n, audit: 'none' }).pages()) at.push(turns)
    isRunning = false
    expect(at.length).toBeGreaterThan(50)
    expect(new Set(at).size).toBe(at.length)
  })
})

function rangeOf(params: readonly unknown[]): string {
  const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
  return `${Number(fromBlock)}-${Number(toBlock)}`
}
