import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FailureCount } from '../../src/cli/failure-count.ts'
import { FollowMeter } from '../../src/cli/follow-meter.ts'
import { messagesFor } from '../../src/cli/output/messages.ts'
import { NetworkError } from '../../src/errors.ts'
import { answering, failing } from '../support/counted-failures.ts'
import { printedStream } from '../support/printed.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'Date'] }))
afterEach(() => void vi.useRealTimers())

function start(flags: { json?: boolean; quiet?: boolean; sharesTerminal?: boolean } = {}, terminal: { isTTY?: boolean; columns?: number } = {}) {
  const { stream, taken } = printedStream(terminal)
  const failures = new FailureCount()
  const meter = new FollowMeter({ stderr: stream, env: {} }, messagesFor(flags, { stderr: stream, args: [] }), { sharesTerminal: false, ...flags }, failures)
  meter.start()
  return { meter, failures, taken }
}

const behind = { number: 1_000n, head: 4_000n, blocks: 1_000, rollbacks: 0 }

describe('on a terminal', () => {
  it('one line says how far it is, and that it is at the head', () => {
    const { meter, failures, taken } = start({}, { isTTY: true, columns: 80 })
    vi.advanceTimersByTime(4_500)
    expect(taken(), 'before the first block').toBe('')
    meter.update(behind)
    failures.throttled = 3
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('\rblock 1000 | 200 blocks/s | 3,000 behind | 15 s left | 3 calls throttled\x1b[K')
    meter.update({ ...behind, number: 4_000n, blocks: 4_000 })
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('\rblock 4000 | 4,000 blocks | at the head | 3 calls throttled\x1b[K')
    meter.tell('1 block was rolled back', { type: 'rollback', blocks: 1 })
    expect(taken()).toBe('\r\x1b[K1 block was rolled back\n')
    meter.stop()
    expect(taken()).toBe('\r\x1b[K')
    vi.advanceTimersByTime(60_000)
    expect(taken()).toBe('')
  })

  it('nothing is shown where the blocks go to the same one, nor with --quiet', () => {
    for (const flags of [{ sharesTerminal: true }, { quiet: true }]) {
      const { meter, taken } = start(flags, { isTTY: true })
      meter.update(behind)
      vi.advanceTimersByTime(60_000)
      meter.stop()
      expect(taken()).toBe('')
    }
  })
})

describe('without a terminal', () => {
  it('a line comes every five seconds until it is at the head', () => {
    const { meter, taken } = start()
    meter.update(behind)
    vi.advanceTimersByTime(4_500)
    expect(taken()).toBe('')
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('block 1000 | 200 blocks/s | 3,000 behind | 15 s left\n')
    meter.update({ ...behind, number: 4_000n })
    vi.advanceTimersByTime(60_000)
    meter.stop()
    expect(taken()).toBe('')
  })

  it('the same is there as JSON', () => {
    const { meter, failures, taken } = start({ json: true }, { isTTY: true })
    failures.retries = 2
    meter.update({ ...behind, rollbacks: 1 })
    vi.advanceTimersByTime(5_000)
    expect(JSON.parse(taken())).toEqual({
      ...{ type: 'progress', number: '1000', blocks: 1_000, behind: 3_000, blocksPerSecond: 200, secondsLeft: 15 },
      ...{ rollbacks: 1, retries: 2, throttled: 0 },
    })
  })

  it('says why nothing arrives, once; until a block comes, no time is left', async () => {
    const { meter, failures, taken } = start()
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(5_000)
    const why = 'no progress, trying again: node: no connection; is the node running, and is the URL right?\n'
    expect(taken(), 'before the first block').toBe(why)
    await answering(failures)
    meter.update(behind)
    expect(taken()).toBe('the node answers again\n')
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe(`block 1000 | 182 blocks/s | 3,000 behind | 17 s left | 2 calls repeated\n${why}`)
    // Such as a look at the head: what the stream waits for still fails.
    await answering(failures)
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe('block 1000 | 95 blocks/s | 3,000 behind | 2 calls repeated\n')
    meter.update({ ...behind, number: 1_001n, blocks: 1_001 })
    expect(taken()).toBe('the node answers again\n')
  })

  it('tells at once of a failure that the stream reports', () => {
    const { meter, taken } = start({ sharesTerminal: true })
    meter.update({ ...behind, failure: new NetworkError('node: cut') })
    meter.update({ ...behind, failure: new NetworkError('node: cut') })
    expect(taken()).toBe('no progress, trying again: node: cut; is the node running, and is the URL right?\n')
    meter.update(behind)
    expect(taken()).toBe('the node answers again\n')
  })

  it('says nothing while the reader of the output holds the stream up, nor where nothing fails', async () => {
    const { meter, failures, taken } = start({ sharesTerminal: true })
    meter.update(behind)
    vi.advanceTimersByTime(60_000)
    expect(taken()).toBe('')
    meter.writing()
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(60_000)
    meter.written()
    vi.advanceTimersByTime(4_500)
    expect(taken()).toBe('')
    vi.advanceTimersByTime(500)
    expect(taken()).toContain('no progress, trying again: node: no connection')
  })
})
