import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { HttpReply } from '../../src/http/exchange.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { Pending, type Sender } from '../../src/ws/pending.ts'
import { holdTime } from '../support/held-time.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

const REPLY: HttpReply = { status: 200, headers: {}, body: Buffer.from('{}'), wireBytes: 2 }

/**
 * A request with a timeout of 100 ms, its outcome, and the times that its sender was told that it
 * is given up.
 */
function setUp({ signal = new AbortController().signal, maxBytes = 500 } = {}) {
  const clock = holdTime()
  const outcomes: unknown[] = []
  const given: unknown[] = []
  const sender: Sender = { gaveUp: (_, hasTimedOut) => void given.push(hasTimedOut), reading: undefined }
  const options = { url: new URL('ws://node.example/SECRET'), timeoutMs: 100, maxResponseBytes: 1000, alarms: new Alarms(systemClock) }
  const settle = (outcome: unknown) => outcomes.push(outcome)
  const pending = new Pending(options, { method: 'POST', path: '/', body: 'x', firstId: 7, count: 3, maxBytes }, signal, settle, settle)
  return { clock, pending, outcomes, given, sender }
}

describe('a request', () => {
  test('takes the lower of two limits', () => {
    expect([setUp().pending.maxBytes, setUp({ maxBytes: 5000 }).pending.maxBytes]).toEqual([500, 1000])
  })

  test('settles once: the first outcome counts', async () => {
    const { clock, pending, outcomes, given, sender } = setUp()
    pending.sentBy(sender, 0)
    pending.succeed(REPLY)
    pending.fail(new Error('late'))
    pending.succeed(REPLY)
    await clock.pass(1000)
    await turn()
    expect([outcomes, given, pending.isSettled]).toEqual([[REPLY], [], true])
  })

  test('fails with the reason that it is given', () => {
    const { pending, outcomes } = setUp()
    const reason = new Error('no')
    pending.fail(reason)
    pending.succeed(REPLY)
    expect(outcomes).toEqual([reason])
  })

  test('that was not sent times out as unsent, without its path', async () => {
    const { clock, outcomes } = setUp()
    await clock.pass(99)
    await turn()
    expect(outcomes).toEqual([])
    await clock.pass(1)
    await turn()
    expect(outcomes).toMatchObject([{ name: 'TimeoutError', message: 'node.example: no connection within 100 ms', unsent: true }])
  })

  test('that was sent times out, and its sender is notified', async () => {
    const { clock, pending, outcomes, given, sender } = setUp()
    pending.sentBy(sender, 4)
    expect(pending.answersBefore).toBe(4)
    await clock.pass(100)
    await turn()
    expect(outcomes).toMatchObject([{ message: 'node.example: no reply within 100 ms', unsent: false }])
    expect(given).toEqual([true])
  })

  test('ends with its signal, and its sender is notified', () => {
    const aborting = new AbortController()
    const { pending, outcomes, given, sender } = setUp({ signal: aborting.signal })
    pending.sentBy(sender, 0)
    aborting.abort('enough')
    expect([outcomes, given]).toEqual([['enough'], [false]])
  })

  test('whose signal was aborted before has ended', () => {
    const { pending, outcomes } = setUp({ signal: AbortSignal.abort('before') })
    expect([outcomes, pending.isSettled]).toEqual([['before'], true])
  })

  test('that was given up holds neither its message nor its caller, though no reply may ever come', async () => {
    const options = { url: new URL('ws://node.example/SECRET'), timeoutMs: 100, maxResponseBytes: 1000, alarms: new Alarms(systemClock) }
    const unanswered = Array.from({ length: 3 }, (_, i) => {
      const aborting = new AbortController()
      const caller = { settle() {} }
      const pending = new Pending(options, { method: 'POST', path: '/', body: 'x'.repeat(i + 1) }, aborting.signal, () => caller.settle(), caller.settle)
      aborting.abort('enough')
      return { pending, refs: [new WeakRef(caller), new WeakRef(aborting.signal)] }
    })
    for (let i = 0; i < 5; i++) {
      await turn()
      gc()
    }
    for (const { pending, refs } of unanswered) expect([pending.takeBody(), ...refs.map((ref) => ref.deref())]).toEqual(['', undefined, undefined])
  })

  test('gives its message once', () => {
    const { pending } = setUp()
    expect([pending.takeBody(), pending.takeBody()]).toEqual(['x', ''])
  })
})
