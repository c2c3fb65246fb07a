import { describe, expect, test } from 'vitest'
import { LogBackfill } from '../../../../adapters/viem/live/log-backfill.ts'
import { eventually } from '../../../support/eventually.ts'
import { holdTime } from '../../../support/held-time.ts'
import { type LiveBlock, type LiveLog, liveChain } from '../../../support/live-chain.ts'
import { clientOf } from '../../../support/server.ts'

/** How long after the first fill the second one is, in ms. It doubles after each failure. */
const AGAIN_MS = 1_000

/** The number that tells a log from all others; negative for a removed one. */
const nameOf = ({ data, removed }: LiveLog) => (removed ? -1 : 1) * Number(data)

/**
 * A back-fill whose notifications the test makes. The first log that it is to deliver is number 12.
 */
async function setUp() {
  const chain = await liveChain({ logsPerBlock: 2 })
  const client = clientOf(chain.server.url, { retry: { baseDelayMs: 1, maxDelayMs: 2, attempts: 2 } })
  const delivered: number[] = []
  const errors: unknown[] = []
  const backfill = new LogBackfill(
    client,
    {},
    (log) => delivered.push(nameOf(log as LiveLog)),
    (error) => errors.push(error),
  )
  await backfill.start()
  /** Makes calls of its own, in which any other call would be seen. */
  const expectNoCalls = async () => {
    const asked = () => chain.calls.filter((method) => method !== 'eth_chainId').length
    const before = asked()
    for (let i = 0; i < 20; i++) await client.request({ method: 'eth_chainId' })
    expect(asked()).toBe(before)
  }
  const logsOf = (number: number) => (chain.blocks[number] as LiveBlock).logs
  return { chain, backfill, delivered, errors, expectNoCalls, logsOf, notify: (number: number) => logsOf(number).forEach((log) => void backfill.notified(log)) }
}

/** The logs without those that were removed. Each must come once, before it is removed. */
function netOf(delivered: readonly number[]): number[] {
  const left = new Set<number>()
  for (const log of delivered) {
    if (log > 0) expect(left.has(log)).toBe(false)
    else expect(left.has(-log)).toBe(true)
    if (log > 0) left.add(log)
    else left.delete(-log)
  }
  return [...left].sort((a, b) => a - b)
}

/** The logs of the chain from block `from` on. */
const from = ({ blocks }: { readonly blocks: readonly LiveBlock[] }, number: number) => blocks.slice(number).flatMap(({ logs }) => logs.map(nameOf))

describe('logs', () => {
  test('are passed on at once, and each once', async () => {
    const { chain, delivered, notify } = await setUp()
    const before = chain.calls.length
    chain.mine(2)
    for (const number of [6, 7, 7, 6]) notify(number)
    expect(delivered).toEqual([12, 13, 14, 15])
    expect(chain.calls).toHaveLength(before)
  })

  test('that are missing are fetched from the last notified block on, also where only some of its logs had come', async () => {
    const { chain, backfill, delivered, logsOf } = await setUp()
    chain.mine(4)
    backfill.notified(logsOf(6)[0])
    backfill.fill()
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
  })

  test('that a node which lags does not have yet are not removed', async () => {
    const { chain, backfill, delivered, notify } = await setUp()
    chain.mine(3)
    for (const number of [6, 7, 8]) notify(number)
    let head = 6
    chain.answers.set('eth_blockNumber', () => `0x${head.toString(16)}`)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (Number(tag) <= head ? (chain.blocks[Number(tag)] as LiveBlock).raw : null))
    backfill.fill()
    // It looks at the head until the node has caught up.
    await eventually(() => expect(chain.calls.filter((method) => method === 'eth_blockNumber').length).toBeGreaterThan(3))
    chain.mine()
    head = 9
    for (const number of [7, 8, 9]) notify(number)
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
  })

  test('that come while others are fetched come after them', async () => {
    const { chain, backfill, delivered, notify } = await setUp()
    chain.mine(3)
    backfill.fill()
    notify(8)
    notify(7)
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
  })

  test('that cannot be fetched are fetched at the next gap, and the failure is reported', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.answers.set('eth_blockNumber', () => 'nonsense')
    chain.mine(2)
    backfill.fill()
    await eventually(() => expect(errors).toHaveLength(1))
    chain.answers.delete('eth_blockNumber')
    chain.mine()
    notify(8)
    expect(delivered).toEqual([16, 17])
    backfill.fill()
    await eventually(() => expect(delivered).toEqual([16, 17, 12, 13, 14, 15]))
    // Those that came before are still known.
    await backfill.fill()
    expect(delivered).toEqual([16, 17, 12, 13, 14, 15])
  })

  test('that a node which lags gave nothing of are fetched a second time', async () => {
    const time = holdTime()
    const { chain, backfill, delivered, expectNoCalls } = await setUp()
    chain.mine(3)
    let head = 7
    chain.answers.set('eth_blockNumber', () => `0x${head.toString(16)}`)
    await backfill.fill()
    expect(delivered).toEqual([12, 13, 14, 15])
    head = 8
    await time.pass(AGAIN_MS)
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
    await eventually(() => expect(backfill.isSettled).toBe(true))
    // After that, only with another gap.
    await time.pass(8 * AGAIN_MS)
    await expectNoCalls()
  })

  test('that a node which lags gave nothing of are fetched by the next poll, and not before', async () => {
    const time = holdTime()
    const { chain, backfill, delivered, expectNoCalls } = await setUp()
    chain.mine(3)
    chain.answers.set('eth_blockNumber', () => '0x7')
    await backfill.poll()
    chain.answers.delete('eth_blockNumber')
    await time.pass(8 * AGAIN_MS)
    await expectNoCalls()
    await backfill.poll()
    expect(delivered).toEqual(from(chain, 6))
  })

  test('of more blocks than are kept come once, where fetching them the second time fails', async () => {
    const time = holdTime()
    const { chain, backfill, delivered, errors } = await setUp()
    chain.mine(200)
    await backfill.fill()
    expect(delivered).toEqual(from(chain, 6))
    chain.answers.set('eth_getLogs', () => 'nonsense')
    await time.pass(AGAIN_MS)
    await eventually(() => expect(errors).not.toEqual([]))
    chain.answers.delete('eth_getLogs')
    await time.pass(2 * AGAIN_MS)
    await eventually(() => expect(backfill.isSettled).toBe(true))
    expect(delivered).toEqual(from(chain, 6))
  })

  test('that cannot be fetched are fetched again at once if another gap came meanwhile', async () => {
    // The second fill is not the timer's.
    holdTime()
    const { chain, backfill, delivered, errors } = await setUp()
    chain.answers.set('eth_blockNumber', () => (errors.length === 0 ? 'nonsense' : `0x${(chain.blocks.length - 1).toString(16)}`))
    chain.mine(2)
    backfill.fill()
    backfill.fill()
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
    expect(errors).toHaveLength(1)
  })

  test('that cannot be fetched are fetched again after a while, also if nothing comes', async () => {
    const time = holdTime()
    const { chain, backfill, delivered, errors } = await setUp()
    chain.answers.set('eth_blockNumber', () => (errors.length < 3 ? 'nonsense' : `0x${(chain.blocks.length - 1).toString(16)}`))
    chain.mine(2)
    void backfill.fill()
    for (let failures = 1; failures <= 3; failures++) {
      await eventually(() => expect(errors).toHaveLength(failures))
      await time.pass(AGAIN_MS * 2 ** failures)
    }
    await eventually(() => expect(delivered).toEqual(from(chain, 6)))
    expect(errors).toHaveLength(3)
  })

  test('that cannot be fetched are not passed over by many that came meanwhile', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.answers.set('eth_blockNumber', () => 'nonsense')
    chain.mine(200)
    backfill.fill()
    for (let number = 10; number < 206; number++) notify(number)
    await eventually(() => expect(errors).toHaveLength(2))
    chain.answers.delete('eth_blockNumber')
    backfill.fill()
    await eventually(() => expect([...delivered].sort((a, b) => a - b)).toEqual(from(chain, 6)))
  })

  test('after blocks that can never be fetched are not kept for ever', async () => {
    // No other fill begins meanwhile.
    holdTime()
    const { chain, backfill, delivered, errors, logsOf } = await setUp()
    chain.answers.set('eth_blockNumber', () => 'nonsense')
    backfill.fill()
    await eventually(() => expect(errors).toHaveLength(1))
    const notify = (block: number, count: number) => {
      for (let i = 0; i < count; i++)
        backfill.notified({ ...logsOf(5)[0], blockNumber: `0x${block.toString(16)}`, blockHash: `0x${block}`, logIndex: `0x${i}` })
    }
    // Few logs are kept, over however many blocks; many, over 256 blocks.
    const steps = [
      [10, 1, true],
      [1000, 1, true],
      [1100, 9_000, true],
      [1200, 2_000, false],
    ] as const
    for (const [block, count, isKept] of steps) {
      notify(block, count)
      const { length } = delivered
      notify(10, 1)
      expect(delivered.length === length).toBe(isKept)
    }
  })

  test('without a block are passed on', async () => {
    const { backfill, delivered, logsOf } = await setUp()
    backfill.notified({ ...logsOf(5)[0], blockNumber: null })
    expect(delivered).toEqual([10])
  })

  test('are known for 64 blocks', async () => {
    const { chain, delivered, notify } = await setUp()
    chain.mine(200)
    for (let number = 6; number < 206; number++) notify(number)
    const { length } = delivered
    notify(141)
    expect(delivered).toHaveLength(length)
    notify(6)
    expect(delivered).toHaveLength(length + 2)
  })
})

describe('logs of replaced blocks', () => {
  test('come again each time the node sends them', async () => {
    const { chain, backfill, delivered, logsOf, notify } = await setUp()
    chain.mine(2)
    notify(6)
    notify(7)
    for (const log of logsOf(7)) backfill.notified({ ...log, removed: true })
    chain.reorganise(1, 1)
    notify(7)
    expect(delivered).toEqual([12, 13, 14, 15, -14, -15, 16, 17])
  })

  test('are not removed where they have not come before', async () => {
    const { chain, backfill, delivered, logsOf, notify } = await setUp()
    chain.mine(2)
    notify(6)
    const [missed] = logsOf(7)
    chain.reorganise(1, 1)
    const filling = backfill.fill()
    backfill.notified({ ...missed, removed: true })
    await filling
    expect(delivered).toEqual([12, 13, ...from(chain, 7)])
    // Logs from before the start may be known otherwise.
    backfill.notified({ ...logsOf(5)[0], removed: true })
    expect(delivered.at(-1)).toBe(-10)
  })

  test.each([1, 5, 40])('are removed at a gap, newest first, and those of %d new blocks come', async (depth) => {
    const { chain, backfill, delivered, notify } = await setUp()
    chain.mine(depth + 1)
    for (let number = 6; number < chain.blocks.length; number++) notify(number)
    const before = [...delivered]
    chain.reorganise(depth, depth + 2)
    backfill.fill()
    const removed = before.slice(2).map((log) => -log)
    await eventually(() => expect(delivered).toEqual([...before, ...removed.reverse(), ...from(chain, 7)]))
  })

  test('are removed, and those of the new blocks come, also where that failed before logs came that were notified', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.mine(4)
    for (const number of [6, 7, 8, 9]) notify(number)
    chain.reorganise(3, 4)
    chain.answers.set('eth_blockNumber', () => 'nonsense')
    await backfill.fill()
    expect(errors).toHaveLength(1)
    chain.answers.delete('eth_blockNumber')
    chain.mine()
    notify(11)
    await backfill.fill()
    const before = [12, 13, 14, 15, 16, 17, 18, 19]
    expect(delivered).toEqual([...before, ...from(chain, 11), -19, -18, -17, -16, -15, -14, ...from(chain, 7).slice(0, -2)])
  })

  test('are removed, and those of the new blocks come, where they were replaced while others were fetched', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.mine(4)
    for (const number of [6, 7, 8]) notify(number)
    let isReplaced = false
    // The node is asked for the last block before and after the logs.
    chain.answers.set('eth_getLogs', ([filter]) => {
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      const logs = chain.blocks.slice(Number(fromBlock), Number(toBlock) + 1).flatMap((block) => block.logs)
      if (!isReplaced) chain.reorganise(3, 4)
      isReplaced = true
      return logs
    })
    await backfill.fill()
    expect(netOf(delivered)).toEqual(from(chain, 6))
    expect(errors).toEqual([])
  })

  test('are not removed because a node that lags gives none of them', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.mine(4)
    for (const number of [6, 7, 8, 9]) notify(number)
    let calls = 0
    chain.answers.set('eth_getLogs', () => (++calls < 4 ? [] : chain.blocks.slice(6).flatMap(({ logs }) => logs)))
    await backfill.fill()
    expect(calls).toBeGreaterThanOrEqual(4)
    expect([delivered, errors]).toEqual([from(chain, 6), []])
  })

  test('are not removed because a node gives another block than the one that was requested', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.mine(4)
    for (const number of [6, 7, 8, 9]) notify(number)
    let calls = 0
    let wrong = 4
    chain.answers.set('eth_getLogs', () => (++calls < 4 ? [] : chain.blocks.slice(6).flatMap(({ logs }) => logs)))
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (chain.blocks[tag !== '0x9' && wrong-- > 0 ? 3 : Number(tag)] as LiveBlock).raw)
    await backfill.fill()
    expect(wrong).toBeLessThan(4)
    expect([delivered, errors]).toEqual([from(chain, 6), []])
  })

  test('are not removed because a node gives a block without a hash', async () => {
    const { chain, backfill, delivered, errors, notify } = await setUp()
    chain.mine(4)
    for (const number of [6, 7, 8]) notify(number)
    chain.answers.set('eth_getLogs', () => [])
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (tag === '0x9' ? chain.blocks[9]?.raw : { number: tag }))
    await backfill.fill()
    expect([delivered, errors.map(String)]).toEqual([[12, 13, 14, 15, 16, 17], [expect.stringContaining('no hash')]])
  })

  test('are removed after a while where the node does not say that they are', async () => {
    const time = holdTime()
    const { chain, backfill, delivered, notify } = await setUp()
    chain.mine(3)
    for (const number of [6, 7, 8]) notify(number)
    chain.reorganise(2, 2)
    backfill.notified(chain.blocks[7]?.logs[0])
    await time.pass(AGAIN_MS)
    await eventually(() => expect(netOf(delivered)).toEqual(from(chain, 6)))
  })

  test('are removed where their blocks, which are no longer kept, are replaced soon after a gap', async () => {
    const { chain, backfill, delivered, logsOf } = await setUp()
    chain.mine(200)
    await backfill.fill()
    const [log] = logsOf(130)
    backfill.notified({ ...log, removed: true })
    expect(delivered.at(-1)).toBe(-nameOf(log as LiveLog))
  })

  test('are removed also where those had replaced blocks from before the start', async () => {
    const { chain, backfill, delivered, notify } = await setUp()
    chain.reorganise(2, 2)
    for (const number of [4, 5]) notify(number)
    chain.reorganise(2, 3)
    await backfill.fill()
    expect(netOf(delivered)).toEqual(from(chain, 4))
  })

  test('that were held while those that replaced them were fetched are not delivered', async () => {
    const { chain, backfill, delivered, logsOf } = await setUp()
    chain.mine(3)
    const stale = logsOf(7)
    chain.reorganise(2, 3)
    const filling = backfill.fill()
    for (const log of stale) backfill.notified(log)
    await filling
    expect(delivered).toEqual(from(chain, 6))
    await backfill.fill()
    expect(delivered).toEqual(from(chain, 6))
  })

  test('are removed where the chain became shorter', async () => {
    const { chain, backfill, delivered, notify } = await setUp()
    chain.mine(3)
    for (const number of [6, 7, 8]) notify(number)
    chain.reorganise(2, 0)
    backfill.fill()
    await eventually(() => expect(delivered).toEqual([12, 13, 14, 15, 16, 17, -17, -16, -15, -14]))
    chain.mine()
    notify(7)
    // It may still be asking for the head.
    await eventually(() => expect(delivered.slice(-2)).toEqual(from(chain, 7)))
  })
})

describe('logs of blocks that replaced some without logs', () => {
  /**
   * A back-fill that has filled one gap, of ten blocks without logs, except for those of a block
   * that was notified. Only blocks that replace others have logs.
   */
  async function afterGap(notified?: number) {
    const setup = await setUp()
    const { chain, backfill, notify } = setup
    const isNew = new Set<string>()
    chain.answers.set('eth_getLogs', ([filter]) => {
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      return chain.blocks.slice(Number(fromBlock), Number(toBlock) + 1).flatMap(({ hash, logs }) => (isNew.has(hash) ? logs : []))
    })
    chain.mine(10)
    if (notified !== undefined) notify(notified)
    await backfill.fill()
    return {
      ...setup,
      reorganise(depth: number, count: number) {
        chain.reorganise(depth, count)
        for (const { hash } of chain.blocks.slice(-count)) isNew.add(hash)
      },
    }
  }

  test('come after a gap, where no log has come before', async () => {
    const { chain, backfill, delivered, reorganise } = await afterGap()
    reorganise(3, 4)
    await backfill.fill()
    expect(delivered).toEqual(from(chain, 13))
  })

  test('come after a gap, where the only log before it was removed', async () => {
    const { chain, backfill, delivered, reorganise } = await afterGap(15)
    reorganise(3, 4)
    await backfill.fill()
    expect(delivered).toEqual([30, 31, -31, -30, ...from(chain, 13)])
  })

  test('do not come for blocks from before the start', async () => {
    const { chain, backfill, delivered, reorganise } = await afterGap()
    reorganise(12, 13)
    await backfill.fill()
    expect(delivered).toEqual(from(chain, 6))
  })
})

test('nothing is delivered after the log at which the subscriber stops it', async () => {
  const chain = await liveChain({ logsPerBlock: 2 })
  const delivered: number[] = []
  const deliver = (log: unknown) => {
    if (delivered.push(nameOf(log as LiveLog)) === 3) backfill.stop()
  }
  const backfill = new LogBackfill(clientOf(chain.server.url), {}, deliver, () => {})
  await backfill.start()
  chain.mine(4)
  await backfill.fill()
  expect(delivered).toEqual([12, 13, 14])
})

test('nothing is delivered once it was stopped', async () => {
  const { chain, backfill, delivered, errors } = await setUp()
  chain.mine(2)
  backfill.fill()
  backfill.stop()
  const { calls } = chain
  await eventually(() => expect(calls.length).toBeGreaterThan(0))
  expect([delivered, errors]).toEqual([[], []])
})
