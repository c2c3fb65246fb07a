import { describe, expect, test } from 'vitest'
import { RpcError, TimeoutError } from '../../../src/errors.ts'
import { type Outcome, ownRead, type Post } from '../../../src/rpc/call.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { Entry } from '../../../src/rpc/queue/entry.ts'
import { BatchSender } from '../../../src/rpc/queue/send-batch.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const ignore = () => {}
const waiting = new Waiting(new VirtualClock())

/** An entry for each method, with its caller. */
function entriesOf(...methods: string[]) {
  const callers = methods.map((method) => new Caller(ownRead({ method, params: [], deadline: 1000 }), waiting, ignore, ignore))
  return { callers, entries: callers.map((caller) => new Entry(caller.call, '[]', caller)) }
}

const outcomesOf = (post: Post, ...methods: string[]) => new BatchSender('node', post).send(entriesOf(...methods).entries)

/** A post function that ends when the test says, and the signals that it got. */
function held() {
  const signals: AbortSignal[] = []
  const ends: ((outcomes: readonly Outcome[]) => void)[] = []
  const post: Post = (_, signal) => {
    signals.push(signal)
    return new Promise((resolve) => ends.push(resolve))
  }
  return { sender: new BatchSender('node', post), signals, ends }
}

describe('the outcomes of a batch', () => {
  test('are those of its POST, in order', async () => {
    const given = [replyOf('0x1'), new RpcError({ code: 3, message: 'no' })]
    expect(await outcomesOf(async () => given, 'a', 'b')).toBe(given)
  })

  const shared = new RpcError({ code: -32000, message: 'no' }, { method: 'a', endpoint: 'node' })
  test('are copies of the error with which a post function rejects, each with its own method', async () => {
    const outcomes = await outcomesOf(() => Promise.reject(shared), 'a', 'b')
    expect(outcomes).toMatchObject(['a', 'b'].map((method) => ({ name: 'RpcError', method, message: `node: ${method}: no` })))
    expect(outcomes?.[0]).not.toBe(shared)
  })

  const gave = (outcomes: unknown) => (async () => outcomes) as unknown as Post
  test.each<[string, Post, string]>([
    ['gives nothing', gave(undefined), 'gave no outcome for a call'],
    ['returns too few', gave([replyOf(1)]), 'gave no outcome for a call'],
    ['returns too many', gave([replyOf(1), replyOf(2), replyOf(3)]), 'gave no outcome for a call'],
    ['leaves a hole', gave(Object.assign(new Array(2), { 1: replyOf(1) })), 'gave no outcome for a call'],
    ['returns results without `take`', gave(['0x1', '0x2']), 'gave no outcome for a call'],
    ['returns errors of another class', gave([new Error('x'), new Error('y')]), 'gave no outcome for a call'],
    ['rejects with another error', () => Promise.reject(new TypeError('a bug')), 'rejected: a bug'],
    ['rejects with a symbol', () => Promise.reject(Symbol('odd')), 'rejected: Symbol(odd)'],
    ['throws', () => expect.fail('at once'), 'rejected: at once'],
  ])('are malformed replies if a post function %s', async (_, post, problem) => {
    const message = `node: its post function ${problem}`
    expect(await outcomesOf(post, 'a', 'b')).toMatchObject(['a', 'b'].map((method) => ({ name: 'MalformedReplyError', method, message })))
  })
})

describe('a POST', () => {
  test('is cut when the last of its callers leaves', async () => {
    const { sender, signals, ends } = held()
    const { callers, entries } = entriesOf('a', 'b')
    const sent = sender.send(entries)
    expect(entries.map(({ sentTo }) => sentTo)).toEqual(['node', 'node'])
    callers[0]?.cancel('enough')
    expect(signals[0]?.aborted).toBe(false)
    callers[1]?.cancel('enough')
    expect(signals[0]?.aborted).toBe(true)
    ends[0]?.([])
    await sent
  })

  /** What is left of a POST whose callers all leave; this many of them timed out. */
  async function cutAfter(timeouts: number, ...given: readonly Outcome[]) {
    const { sender, ends } = held()
    const { callers, entries } = entriesOf('a', 'b')
    const sent = sender.send(entries)
    for (const [i, caller] of callers.entries()) caller.cancel(i < timeouts ? new TimeoutError('a: no answer') : 'enough')
    ends[0]?.(given)
    return sent
  }

  test('is a timeout for the limits if all of its callers timed out', async () => {
    expect(await cutAfter(2)).toMatchObject([{ name: 'TimeoutError' }, { name: 'TimeoutError' }])
  })

  test.each([
    ['with nothing', []],
    ['with results', [replyOf(1), replyOf(2)]],
    ['with failures', [new RpcError({ code: 1, message: 'no' }), new RpcError({ code: 1, message: 'no' })]],
  ])('has no outcomes if a caller left for another reason, though it ends %s', async (_, given) => {
    expect(await cutAfter(1, ...given)).toBeUndefined()
  })

  test.each([
    ['an error of its own', new Error('cut')],
    ['an error of hexline', new TimeoutError('a: cut')],
  ])('has none, either, if its post function rejects with %s when it is cut', async (_, reason) => {
    const post: Post = (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(reason)))
    const { callers, entries } = entriesOf('a')
    const sent = new BatchSender('node', post).send(entries)
    callers[0]?.cancel('enough')
    expect(await sent).toBeUndefined()
  })

  test('is not cut by a caller that leaves after an earlier one with the same signal', async () => {
    const { sender, signals, ends } = held()
    const { callers, entries } = entriesOf('a')
    const first = sender.send(entries)
    ends[0]?.([replyOf(1)])
    await first
    const second = sender.send(entriesOf('b').entries)
    expect(signals[1]).toBe(signals[0])
    callers[0]?.cancel('enough')
    expect(signals[1]?.aborted).toBe(false)
    ends[1]?.([replyOf(2)])
    await second
  })

  test('never gets a signal that is aborted', async () => {
    const { sender, signals, ends } = held()
    const { callers, entries } = entriesOf('a')
    const first = sender.send(entries)
    callers[0]?.cancel('enough')
    ends[0]?.([])
    await first
    void sender.send(entriesOf('b').entries)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })
})
