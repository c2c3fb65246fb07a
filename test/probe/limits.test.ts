import { describe, expect, it } from 'vitest'
import { RpcError } from '../../src/errors.ts'
import { Asker } from '../../src/probe/asker.ts'
import { atLeast, type Figure } from '../../src/probe/figure.ts'
import { archiveDepth, batchLimit, logRangeLimit, responseLimit } from '../../src/probe/limits.ts'
import type { Call, Outcome, Post } from '../../src/rpc/call.ts'
import { replyOf } from '../../src/rpc/reply.ts'

const askerOf = (post: Post) => new Asker({ post, maxCalls: 10_000, reserved: 0, timeoutMs: 10_000, signal: undefined, onPost: () => {} })
const refusal = (kind: 'batch-too-large' | 'response-too-large' | 'range-too-large' | 'pruned' | 'lagging' | 'server', message = 'no') =>
  new RpcError({ code: -32000, message }, { kind })
/** Each call has its own outcome. */
const each = (outcome: (call: Call) => Outcome) => askerOf(async (calls) => calls.map(outcome))

describe('the batch limit', () => {
  const batches = (most: number, message = 'no') =>
    askerOf(async (calls) => calls.map(() => (calls.length > most ? refusal('batch-too-large', message) : replyOf('0x1'))))
  it.each<[string, Asker, Partial<Figure>]>([
    ['is found', batches(37), { known: 'exactly', value: 37, refused: 38 }],
    ['is found if it is named', batches(37, 'batch limit 37 exceeded'), { known: 'exactly', value: 37 }],
    ['is 1 if batches are refused', batches(1), { known: 'exactly', value: 1, refused: 2, how: 'a batch of 2 was refused: no' }],
    ['may be more than was tried', batches(1000), { known: 'at least', value: 100 }],
    [
      'is open if batches fail for another reason',
      askerOf(async (calls) => calls.map(() => (calls.length > 10 ? refusal('server', 'down') : replyOf('0x1')))),
      { known: 'at least', value: 10, how: 'a batch of 20: down' },
    ],
  ])('%s', async (_, asker, expected) => {
    expect(await batchLimit(asker, 100)).toMatchObject(expected)
  })

  it('is not tried with more calls than there may be, which would not fit in memory either', async () => {
    const how = 'a batch of 100000000000: it would exceed the limit of 10000 calls'
    expect(await batchLimit(batches(100_000), 1e11)).toMatchObject({ known: 'at least', how: expect.stringContaining(how) })
  })
})

describe('the reply limit', () => {
  /** Blocks of 1,000 bytes, of which the first that fit are answered. */
  const blocks = (fit: number) => askerOf(async (calls) => calls.map((_, i) => (i < fit ? replyOf(Buffer.alloc(0), 1000) : refusal('response-too-large'))))
  it('lies between the largest accepted and the smallest refused size, in bytes', async () => {
    expect(await responseLimit(blocks(7), 9, atLeast(100, ''), 50_000)).toMatchObject({ known: 'between', value: 7_000, refused: 8_000 })
  })

  it('is not tried beyond the batch limit, or beyond the option', async () => {
    expect(await responseLimit(blocks(1000), 9, atLeast(5, ''), 50_000)).toMatchObject({
      known: 'at least',
      value: 5_000,
      how: 'the latest block has 1000 bytes, and at most 5 of them fit in a batch',
    })
    expect(await responseLimit(blocks(1000), 9, atLeast(100, ''), 5_500)).toMatchObject({ known: 'at least', value: 6_000 })
  })

  it('is unknown without a block to try it with', async () => {
    expect(await responseLimit(blocks(0), 9, atLeast(100, ''), 5_500)).toMatchObject({ known: 'unknown', how: 'no latest block to try it with: no' })
  })
})

describe('the log range limit', () => {
  const ranges = (most: number) =>
    each(({ params }) => {
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
      return Number(toBlock) - Number(fromBlock) < most ? replyOf([]) : refusal('range-too-large')
    })
  it.each<[string, number, number, Partial<Figure>]>([
    ['is found', 2000, 10_000, { known: 'exactly', value: 2000, refused: 2001, how: 'a range of 2001 blocks was refused: no' }],
    ['may be one block', 1, 10_000, { known: 'exactly', value: 1, refused: 2 }],
    ['may be that of one block, which is the whole chain', 1e9, 0, { known: 'at least', value: 1, how: 'the whole chain passed' }],
    [
      'may be the whole chain, without the newest blocks',
      1e9,
      98,
      { known: 'at least', value: 96, how: 'the whole chain passed; its newest 3 blocks were not tried' },
    ],
    ['may be more than was tried', 1e9, 1e6, { known: 'at least', value: 100_000 }],
  ])('%s', async (_, most, head, expected) => {
    expect(await logRangeLimit(ranges(most), head, 100_000)).toMatchObject(expected)
  })
})

describe('the archive depth', () => {
  const states = (depth: number, head: number) => each(({ params }) => (head - Number(params[1]) <= depth ? replyOf('0x0') : refusal('pruned')))
  it.each<[number, number, Partial<Figure>]>([
    [127, 100_000, { known: 'exactly', value: 127, refused: 128, how: 'the state of block 99872 was refused: no' }],
    [100_000, 100_000, { known: 'exactly', value: 99_999, how: 'the state of block 1 is there' }],
    [5, 1, { known: 'exactly', value: 1, how: 'the chain is no longer' }],
    [-1, 100, { known: 'unknown', how: 'the state of the latest block: no' }],
  ])('of %i blocks, at head %i', async (depth, head, expected) => {
    expect(await archiveDepth(states(depth, head), head)).toMatchObject(expected)
  })
})
