import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FollowMeter } from '../../src/cli/follow-meter.ts'
import { Tally } from '../../src/cli/meter.ts'
import { messagesFor } from '../../src/cli/output/messages.ts'
import { printedStream } from '../support/printed.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'Date'] }))
afterEach(() => void vi.useRealTimers())

function start(flags: { json?: boolean; quiet?: boolean; sharesTerminal?: boolean } = {}, terminal: { isTTY?: boolean; columns?: number } = {}) {
  const { stream, taken } = printedStream(terminal)
  const tally = new Tally()
  const meter = new FollowMeter({ stderr: stream, env: {} }, messagesFor(flags, { stderr: stream, args: [] }), { sharesTerminal: false, ...flags }, tally)
  meter.start()
  return { meter, tally, taken }
}

const behind = { number: 1_000n, head: 4_000n, blocks: 1_000, rollbacks: 0 }

describe('on a terminal', () => {
  it('one line says how far it is, and that it is at the head', () => {
    const { meter, tally, taken } = start({}, { isTTY: true, columns: 80 })
    vi.advanceTimersByTime(4_500)
    expect(taken(), 'before the first block').toBe('')
    meter.update(behind)
    tally.throttled = 3
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('\rblock 1000 | 200 blocks/s | 3,000 behind | 15 s left | 3 calls throttled\x1b[K')
    meter.update({ ...behind, number: 4_000n, blocks: 4_000 })
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('\rblock 4000 | 4,000 blocks | at the head | 3 calls throttled\x1b[K')
    meter.makeRoom()
    expect(taken()).toBe('\r\x1b[K')
    meter.stop()
    taken()
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
    const { meter, tally, taken } = start({ json: true }, { isTTY: true })
    tally.retries = 2
    meter.update({ ...behind, rollbacks: 1 })
    vi.advanceTimersByTime(5_000)
    expect(JSON.parse(taken())).toEqual({
      ...{ type: 'progress', number: '1000', blocks: 1_000, behind: 3_000, blocksPerSecond: 200, secondsLeft: 15 },
      ...{ rollbacks: 1, retries: 2, throttled: 0 },
    })
  })
})
