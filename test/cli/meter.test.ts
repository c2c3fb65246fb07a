import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest'
import type { Progress } from '../../src/bulk/blocks/range-stream.ts'
import { FailureCount } from '../../src/cli/failure-count.ts'
import { Meter } from '../../src/cli/meter.ts'
import { type MessageFlags, messagesFor } from '../../src/cli/output/messages.ts'
import { NetworkError, RpcError } from '../../src/errors.ts'
import type { Call } from '../../src/rpc/call.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { answering, failing } from '../support/counted-failures.ts'
import { printedStream } from '../support/printed.ts'
import { errorOf } from '../support/server.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'Date'] }))
afterEach(() => void vi.useRealTimers())

function start(flags: MessageFlags & { sharesTerminal?: boolean } = {}, terminal: { isTTY?: boolean; columns?: number } = {}, env = {}, args: string[] = []) {
  const { stream, taken } = printedStream(terminal)
  const failures = new FailureCount()
  const meter = new Meter<Progress & { readonly before?: number }>({ stderr: stream, env }, messagesFor(flags, { stderr: stream, args }), flags, failures)
  meter.start()
  return { meter, failures, taken, stream }
}

const progress = (done: number) => ({ done, total: 4000, number: BigInt(done), bytes: done * 1000 })

test('counts each failed attempt as throttled or repeated, and rethrows the error', async () => {
  const failures = new FailureCount()
  const fate = (outcome: unknown) => {
    const sent = failures.layer(() => (outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(replyOf(1))))({} as Call)
    return outcome instanceof Error ? errorOf(sent) : sent
  }
  const throttled = new RpcError({ code: -32005, message: 'no' }, { kind: 'rate-limit' })
  for (const outcome of [throttled, throttled, new NetworkError('no'), new Error('the user has had enough'), undefined]) await fate(outcome)
  expect(await fate(throttled)).toBe(throttled)
  expect([failures.retries, failures.throttled]).toEqual([1, 3])
  await fate(new RpcError({ code: -32602, message: 'too many blocks' }, { kind: 'range-too-large' }))
  expect(failures.retries, 'a range that will be split').toBe(1)
})

describe('without a terminal', () => {
  it('what was done before the job was looked at counts neither for the rate nor for the time left', () => {
    const { meter, taken } = start()
    meter.update({ ...progress(2000), before: 2000 })
    vi.advanceTimersByTime(4_000)
    meter.update({ ...progress(2500), before: 2000 })
    vi.advanceTimersByTime(1_000)
    expect(taken()).toBe('62 % | 2,500 of 4,000 blocks | 100 blocks/s | 15 s left\n')
    meter.finish()
    expect(taken()).toContain('500 blocks, ')
  })

  it('a line shows the progress every five seconds', () => {
    const { meter, failures, taken } = start()
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe('waiting for the node\n')
    failures.throttled = 1
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe('waiting for the node: 1 call throttled\n')
    meter.update(progress(1000))
    vi.advanceTimersByTime(4_500)
    expect(taken()).toBe('')
    vi.advanceTimersByTime(500)
    expect(taken()).toBe('25 % | 1,000 of 4,000 blocks | 67 blocks/s | 45 s left | 1 call throttled\n')
    meter.clear()
    vi.advanceTimersByTime(60_000)
    expect(taken()).toBe('')
  })

  it('says why nothing arrives, once for each reason, and that the node answers again; until then, no time is left', async () => {
    const { meter, failures, taken } = start()
    meter.update(progress(1000))
    vi.advanceTimersByTime(4_500)
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(500)
    const why = 'no progress, trying again: node: no connection; is the node running, and is the URL right?\n'
    expect(taken()).toBe(`${why}25 % | 1,000 of 4,000 blocks | 200 blocks/s | 1 call repeated\n`)
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe('25 % | 1,000 of 4,000 blocks | 100 blocks/s | 2 calls repeated\n')
    await failing(failures, new NetworkError('node: cut'))
    vi.advanceTimersByTime(4_500)
    expect(taken()).toBe('')
    vi.advanceTimersByTime(500)
    expect(taken()).toMatch(/^no progress, trying again: node: cut; is the node running, and is the URL right\?\n25 %/)
    await answering(failures)
    expect(taken()).toBe('')
    meter.update(progress(2000))
    expect(taken()).toBe('the node answers again\n')
    vi.advanceTimersByTime(5_000)
    expect(taken()).toBe('50 % | 2,000 of 4,000 blocks | 100 blocks/s | 20 s left | 3 calls repeated\n')
  })

  it('says why the first block does not arrive', async () => {
    const { failures, taken } = start({ json: true })
    await failing(failures, new RpcError({ code: -32005, message: 'slow down' }, { kind: 'rate-limit', endpoint: 'node' }))
    vi.advanceTimersByTime(5_000)
    const [why, waiting] = taken().split('\n')
    expect(JSON.parse(why as string)).toMatchObject({
      type: 'waiting',
      kind: 'rate-limit',
      message: expect.stringContaining('slow down; try again later'),
    })
    expect(JSON.parse(waiting as string)).toEqual({ type: 'waiting', retries: 0, throttled: 1 })
  })

  it('blames no failure before the last answer: the reader of the output may be slow', async () => {
    const { meter, failures, taken } = start()
    meter.update(progress(1000))
    await failing(failures, new NetworkError('node: no connection'))
    await answering(failures)
    vi.advanceTimersByTime(10_000)
    expect(taken().split('\n')).toEqual([expect.stringMatching(/^25 % .*15 s left/), expect.stringMatching(/^25 % .*30 s left/), ''])
  })

  it('while the node is down, says neither that it answers again when blocks arrive that were fetched before, nor the reason again', async () => {
    const { meter, failures, taken } = start()
    const said = () =>
      taken()
        .split('\n')
        .filter((line) => /no progress|again/.test(line))
    await failing(failures, new NetworkError('node: no connection'))
    for (let done = 1; done <= 5; done++) {
      meter.update(progress(100 * done))
      vi.advanceTimersByTime(6_000)
    }
    expect(said()).toHaveLength(1)
    await answering(failures)
    meter.update(progress(600))
    expect(said()).toEqual(['the node answers again'])
  })

  it('says nothing while the reader of the output holds the job up', async () => {
    const { meter, failures, taken } = start()
    meter.update(progress(1000))
    meter.writing()
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(20_000)
    meter.written()
    vi.advanceTimersByTime(4_500)
    expect(taken()).not.toContain('no progress')
    vi.advanceTimersByTime(500)
    expect(taken()).toContain('no progress, trying again: node: no connection')
  })

  it('names no failure that is not repeated: hexline goes another way', async () => {
    const { failures, taken } = start()
    await failing(failures, new RpcError({ code: -32601, message: 'no such method' }, { kind: 'unsupported' }))
    vi.advanceTimersByTime(10_000)
    expect(taken()).not.toContain('no progress')
  })

  it('hides arguments of the command in what a server says', async () => {
    const { failures, taken } = start({}, {}, {}, ['--header', 'x-key: s3cr3t', 'abcdefghij0123456789'])
    await failing(failures, new NetworkError('node: who is abcdefghij0123456789?'))
    vi.advanceTimersByTime(5_000)
    expect(taken()).toMatch(/^no progress, trying again: node: who is (?!abcd)/)
  })

  it('a summary ends it', () => {
    const { meter, failures, taken } = start()
    failures.retries = 2
    meter.update(progress(4000))
    vi.advanceTimersByTime(2_000)
    meter.finish()
    expect(taken()).toBe('4,000 blocks, 4.0 MB in 2.0 s (2,000 blocks/s) | 2 calls repeated\n')
  })

  it('prints the same as JSON, and nothing when quiet', () => {
    const { meter, taken } = start({ json: true })
    meter.update(progress(1000))
    vi.advanceTimersByTime(5_000)
    expect(JSON.parse(taken())).toEqual({
      ...{ type: 'progress', done: 1000, total: 4000, number: '1000', bytes: 1_000_000 },
      ...{ blocksPerSecond: 200, secondsLeft: 15, retries: 0, throttled: 0 },
    })
    meter.finish()
    expect(JSON.parse(taken())).toMatchObject({ type: 'done', blocks: 1000, seconds: 5 })
    const quiet = start({ quiet: true })
    quiet.meter.update(progress(1))
    vi.advanceTimersByTime(10_000)
    quiet.meter.finish()
    expect(quiet.taken()).toBe('')
  })
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is how a line is erased
const ERASED = /\x1b\[(?:0|2)?K|\x1b\[0J/

describe('on a terminal', () => {
  it.each([
    [120, /25 % \| 1,000 of 4,000 blocks/],
    [80, /25 % \| 1,000 of 4,000 blocks \|/],
    [40, /25 % \| /],
  ])('of %i columns shows a bar, which is removed at the end', (columns, shown) => {
    const { meter, taken } = start({}, { isTTY: true, columns })
    vi.advanceTimersByTime(2_500)
    expect(taken()).toMatch(/^\rwaiting for the node/)
    meter.update(progress(0))
    meter.update(progress(1000))
    vi.advanceTimersByTime(500)
    expect(taken()).toMatch(shown)
    meter.clear()
    expect(taken()).toMatch(ERASED)
  })

  it('fits the failures that come into the width that the terminal has then', () => {
    const { meter, failures, taken, stream } = start({}, { isTTY: true, columns: 120 })
    meter.update(progress(1000))
    vi.advanceTimersByTime(10_000)
    taken()
    failures.retries = 12
    failures.throttled = 34_567
    stream.columns = 40
    vi.advanceTimersByTime(500)
    expect(taken()).toContain('25 % 95/s 32 s left 12 rep. 35K thr.')
  })

  it('begins anew', () => {
    const { meter, taken } = start({}, { isTTY: true, columns: 80 })
    meter.update(progress(4000))
    meter.finish()
    taken()
    meter.start()
    meter.update({ ...progress(1000), total: 2000 })
    vi.advanceTimersByTime(500)
    expect(taken()).toContain('50 % | 1,000 of 2,000 blocks |')
    meter.clear()
  })

  it('begins anew after a job that has failed, which it no longer shows', () => {
    const { meter, taken } = start({}, { isTTY: true, columns: 80 })
    meter.update(progress(1000))
    taken()
    meter.start()
    expect(taken()).toMatch(ERASED)
    meter.clear()
    vi.advanceTimersByTime(60_000)
    expect(taken()).toBe('')
  })

  it('shows no bar where the lines of the job go to the same terminal', () => {
    const { meter, taken } = start({ sharesTerminal: true }, { isTTY: true })
    meter.update(progress(1000))
    vi.advanceTimersByTime(4_000)
    expect(taken()).toBe('')
    vi.advanceTimersByTime(1_000)
    expect(taken()).toMatch(/^25 % \|/)
  })

  it('makes room for a message while it shows what it waits for, and then continues', () => {
    const { meter, taken } = start({}, { isTTY: true })
    vi.advanceTimersByTime(2_500)
    taken()
    meter.makeRoom()
    expect(taken()).toBe('\r\x1b[K')
    vi.advanceTimersByTime(500)
    expect(taken()).toMatch(/^\rwaiting for the node/)
  })

  it('puts the reason why nothing arrives above the bar', async () => {
    const { meter, failures, taken } = start({}, { isTTY: true, columns: 80 })
    meter.update(progress(1000))
    vi.advanceTimersByTime(4_000)
    taken()
    await failing(failures, new NetworkError('node: no connection'))
    vi.advanceTimersByTime(1_000)
    const [before = '', after = ''] = taken().split('no progress, trying again: node: no connection; is the node running, and is the URL right?\n')
    expect(before).toMatch(ERASED)
    expect(after).toContain('25 % | 1,000 blocks | 200 blocks/s | 1 call repeated')
    await answering(failures)
    meter.update(progress(2000))
    expect(taken()).toContain('\x1b8\x1b[1G\x1b[2Kthe node answers again\n')
    vi.advanceTimersByTime(500)
    expect(taken()).toContain('50 % |')
    meter.clear()
    expect(taken()).toMatch(ERASED)
    vi.advanceTimersByTime(60_000)
    expect(taken()).toBe('')
  })

  it('shows no bar where lines cannot be written anew', () => {
    const { meter, taken } = start({}, { isTTY: true }, { TERM: 'dumb' })
    meter.update(progress(1000))
    vi.advanceTimersByTime(5_000)
    expect(taken().split('\r').join('\x1b').split('\x1b')).toEqual([expect.stringMatching(/^25 % .*\n$/)])
  })

  it('shows no bar with --json', () => {
    const { meter, taken } = start({ json: true }, { isTTY: true })
    meter.update(progress(1000))
    vi.advanceTimersByTime(4_000)
    expect(taken()).toBe('')
  })
})
