import { describe, expect, test } from 'vitest'
import { HeadBackfill } from '../../../../adapters/viem/live/head-backfill.ts'
import { eventually } from '../../../support/eventually.ts'
import { type LiveBlock, liveChain } from '../../../support/live-chain.ts'
import { clientOf } from '../../../support/server.ts'

/** A back-fill whose notifications the test makes. */
async function setUp() {
  const chain = await liveChain()
  const client = clientOf(chain.server.url, { retry: { baseDelayMs: 1, maxDelayMs: 2 } })
  const delivered: unknown[] = []
  const errors: unknown[] = []
  const backfill = new HeadBackfill(
    client,
    (head) => delivered.push((head as { hash?: unknown }).hash ?? head),
    (error) => errors.push(error),
  )
  await backfill.start()
  const settled = async () => {
    for (let calls = -1; calls !== chain.calls.length; ) {
      calls = chain.calls.length + 1
      await client.request({ method: 'eth_chainId' })
    }
  }
  const raw = (number: number) => (chain.blocks[number] as LiveBlock).raw
  const hashes = (from: number) => chain.blocks.slice(from).map(({ hash }) => hash)
  return { chain, client, backfill, delivered, errors, settled, raw, hashes }
}

describe('heads', () => {
  test('that follow one another are passed on at once, those of a reorganisation too, and none twice', async () => {
    const { chain, backfill, delivered, raw, hashes } = await setUp()
    const before = chain.calls.length
    chain.mine(3)
    for (const number of [6, 7, 7, 8, 6]) backfill.notified(raw(number))
    const replaced = hashes(7)
    chain.reorganise(2, 3)
    for (const number of [7, 8, 9]) backfill.notified(raw(number))
    expect(delivered).toEqual([hashes(6)[0], ...replaced, ...hashes(7)])
    expect(chain.calls).toHaveLength(before)
  })

  test('of other blocks than those that were requested are not delivered', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(3)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (tag === '0x7' ? raw(3) : tag === 'latest' ? raw(8) : raw(Number(tag))))
    backfill.fill()
    await eventually(() => expect(errors).toMatchObject([{ name: 'IntegrityError', message: 'requested block 7, but received block 3' }]))
    chain.answers.delete('eth_getBlockByNumber')
    backfill.notified(raw(8))
    await eventually(() => expect(delivered).toEqual(hashes(6)))
  })

  test('that have no number or hash are passed on as they are', async () => {
    const { backfill, delivered } = await setUp()
    for (const head of [null, { number: 6 }, { number: '0xq', hash: '0x1' }]) backfill.notified(head ?? { nothing: true })
    expect(delivered).toHaveLength(3)
  })

  test.each([1, 40, 300])('that were not announced, %d of them, are fetched before the next one', async (count) => {
    const { chain, backfill, delivered, hashes, settled, raw } = await setUp()
    chain.mine(count + 2)
    backfill.notified(raw(count + 6))
    backfill.notified(raw(count + 7))
    await settled()
    await eventually(() => expect(delivered).toEqual(hashes(6)))
  })

  test.each([1, 3, 20, 300])('that replaced %d others during a gap are fetched', async (depth) => {
    const { chain, backfill, delivered, hashes, raw } = await setUp()
    chain.mine(depth)
    for (let number = 6; number < 6 + depth; number++) backfill.notified(raw(number))
    const before = [...delivered]
    chain.reorganise(depth, depth + 2)
    backfill.fill()
    // Of 300 blocks, the last 256 are known.
    const from = Math.max(6, 6 + depth - 256)
    await eventually(() => expect(delivered).toEqual([...before, ...hashes(from)]))
  })

  test('that a node which lags does not have yet do not come again when it has them', async () => {
    const { chain, backfill, delivered, errors, hashes, raw, settled } = await setUp()
    chain.mine(3)
    for (const number of [6, 7, 8]) backfill.notified(raw(number))
    let head = 6
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (tag === 'latest' || Number(tag) <= head ? raw(tag === 'latest' ? head : Number(tag)) : null))
    backfill.fill()
    await settled()
    for (head of [7, 8]) backfill.notified(raw(head))
    chain.mine()
    head = 9
    backfill.notified(raw(9))
    await eventually(() => expect(delivered).toEqual(hashes(6)))
    expect(errors).toEqual([])
  })

  test('that come while others are fetched come after them, each once', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(4)
    backfill.fill()
    backfill.notified(raw(8))
    chain.mine(2)
    backfill.notified(raw(11))
    backfill.notified(raw(7))
    await eventually(() => expect(delivered).toEqual(hashes(6)))
    expect(errors).toEqual([])
  })

  test('that were replaced before they could be placed are dropped', async () => {
    const { chain, backfill, delivered, hashes, raw } = await setUp()
    chain.mine(4)
    const stale = raw(9)
    chain.reorganise(4, 4)
    backfill.notified(stale)
    await eventually(() => expect(delivered).toEqual(hashes(6)))
  })

  test('that were replaced while others were fetched do not come after those that replaced them', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(2)
    backfill.fill()
    backfill.notified(raw(6))
    const stale = raw(7)
    chain.reorganise(1, 2)
    for (const head of [stale, raw(7), raw(8)]) backfill.notified(head)
    await eventually(() => expect(delivered.slice(-1)).toEqual(hashes(8)))
    expect(delivered).toEqual(hashes(6))
    expect(errors).toEqual([])
  })

  test('that were announced before another gap, and replaced in it, are dropped', async () => {
    const { chain, backfill, delivered, errors, hashes, raw, settled } = await setUp()
    chain.mine(2)
    backfill.fill()
    for (const number of [6, 7]) backfill.notified(raw(number))
    chain.reorganise(1, 2)
    backfill.fill()
    await settled()
    await eventually(() => expect(delivered).toEqual(hashes(6)))
    expect(errors).toEqual([])
  })

  test('that were replaced after they were compared are compared again', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(3)
    for (const number of [6, 7]) backfill.notified(raw(number))
    const before = [...delivered]
    let isReplaced = false
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      if (tag === '0x8' && !isReplaced) {
        isReplaced = true
        chain.reorganise(2, 2)
      }
      return raw(tag === 'latest' ? chain.blocks.length - 1 : Number(tag))
    })
    backfill.fill()
    await eventually(() => expect(delivered).toEqual([...before, ...hashes(7)]))
    expect(errors).toEqual([])
  })

  test('that were replaced after they were compared are compared again, also after several gaps', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(3)
    let looks = 0
    let before: unknown[] | undefined
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      if (tag === 'latest') {
        if (++looks < 5) backfill.fill()
        if (looks === 5) chain.mine()
      } else if (Number(tag) === 9 && before === undefined) {
        before = [...delivered]
        chain.reorganise(2, 2)
      }
      return raw(tag === 'latest' ? chain.blocks.length - 1 : Number(tag))
    })
    backfill.fill()
    await eventually(() => expect(before).toHaveLength(3))
    await eventually(() => expect(delivered.slice(-1)).toEqual(hashes(9)))
    expect(delivered).toEqual([...(before ?? []), ...hashes(8)])
    expect(errors).toEqual([])
  })

  test('that no node has are reported as an error, and fetched with the next ones', async () => {
    const { chain, backfill, delivered, errors, hashes, raw } = await setUp()
    chain.mine(1)
    backfill.notified({ number: '0x9', hash: '0x1', parentHash: '0x2' })
    await eventually(() => expect(errors).toMatchObject([{ kind: 'lagging' }]))
    chain.mine(2)
    backfill.notified(raw(8))
    await eventually(() => expect(delivered).toEqual(hashes(6)))
  })

  test('are not delivered any more once it was stopped', async () => {
    const { chain, backfill, delivered, errors, raw } = await setUp()
    chain.mine(3)
    backfill.fill()
    backfill.stop()
    backfill.notified(raw(6))
    await eventually(() => expect(chain.calls.length).toBeGreaterThan(0))
    expect([delivered, errors]).toEqual([[], []])
  })
})
