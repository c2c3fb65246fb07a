import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ClosedError, type HexlineError, TimeoutError } from '../../src/errors.ts'
import type { HttpReply } from '../../src/http/exchange.ts'
import { BodyProgress } from '../../src/http/progress.ts'
import { Pool } from '../../src/http/undici.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { openWebSocket } from '../../src/ws/handshake.ts'
import { ended, Pending } from '../../src/ws/pending.ts'
import { Session } from '../../src/ws/session.ts'
import { never, type Reaction, serveWebSocket } from '../support/web-socket-server.ts'

/** A session to a server, and what it tells its exchange and its listeners. */
async function setUp(reaction: Reaction = never) {
  const server = await serveWebSocket(reaction)
  const dispatcher = new Pool(server.url.replace('ws', 'http'), { pipelining: 1 })
  onTestFinished(() => dispatcher.destroy())
  const alarms = new Alarms(systemClock)
  const scrub = (text: string) => text
  const options = { url: new URL(server.url), timeoutMs: 60_000, maxResponseBytes: 100_000, alarms, scrub }
  const opened = await openWebSocket({ ...options, headers: {}, dispatcher, compression: false }, new AbortController().signal)
  if ('status' in opened) throw new Error('refused')
  const told: string[] = []
  const state = { isSubscribing: false }
  const session = new Session(opened, options, new BodyProgress(), {
    isSubscribing: () => state.isSubscribing,
    answered: () => void told.push('answered'),
    replaced: () => void told.push('replaced'),
    ended: () => void told.push('ended'),
  })
  onTestFinished(() => session.close(new ClosedError()))
  let nextId = 1
  let sent = 0
  const send = ({ firstId = nextId, count = 1, patience = 1, signal = new AbortController().signal } = {}) => {
    nextId = Math.max(nextId, firstId + count)
    sent++
    const outcome = new Promise<HttpReply>((resolve, reject) => {
      const request = { method: 'POST' as const, path: '/', body: JSON.stringify({ id: firstId, method: 'm', params: [] }), firstId, count, patience }
      session.send(new Pending(options, request, signal, resolve, reject))
    })
    outcome.catch(() => {})
    return outcome
  }
  const peer = await server.opened(1)
  const heard: unknown[] = []
  const listener = {
    request: '["newHeads"]',
    started: () => void heard.push('started'),
    notified: (result: unknown) => void heard.push(result),
    missed: () => void heard.push('missed'),
    lost: (error: HexlineError) => void heard.push(error.kind),
  }
  /** Until what the server has sent is read. */
  const settled = async () => {
    const answer = send()
    const message = await server.received(sent)
    message.peer.send({ jsonrpc: '2.0', id: message.entries[0]?.id, result: 'settled' })
    await answer
    await turn()
  }
  return { server, peer, session, told, state, send, listener, heard, settled, options }
}

const idOf = ({ body }: HttpReply) => JSON.parse(body.toString()).id

describe('requests', () => {
  test('get the message with one of their ids', async () => {
    const { peer, send } = await setUp()
    const [one, several] = [send(), send({ count: 3 })]
    peer.send([{ jsonrpc: '2.0', id: 3, result: 1 }])
    peer.send({ jsonrpc: '2.0', id: 1, result: 1 })
    expect(idOf(await one)).toBe(1)
    expect(JSON.parse((await several).body.toString())).toMatchObject([{ id: 3 }])
  })

  test('get it, whatever the order of their ids', async () => {
    const { peer, send } = await setUp()
    const [later, earlier] = [send({ firstId: 7 }), send({ firstId: 5 })]
    for (const id of [7, 5]) peer.send({ jsonrpc: '2.0', result: 1, id })
    expect([idOf(await later), idOf(await earlier)]).toEqual([7, 5])
  })

  test('that errors without an id settle get one each, also where the first of them ends the socket', async () => {
    const { peer, told, send } = await setUp()
    const aborting = new AbortController()
    const waiting = send()
    const left = send({ signal: aborting.signal })
    // Nothing was heard yet: the socket is replaced, and ends once nobody waits.
    aborting.abort(new TimeoutError('enough'))
    await expect(left).rejects.toThrow('enough')
    expect(told).toEqual(['replaced'])
    for (let i = 0; i < 2; i++) peer.send({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit' } })
    expect(JSON.parse((await waiting).body.toString())).toMatchObject({ error: { message: 'limit' } })
    expect(told).toEqual(['replaced', 'answered', 'ended'])
  })

  test('that were given up take their reply, which changes nothing', async () => {
    const { peer, told, send, settled } = await setUp()
    const aborting = new AbortController()
    const left = send({ signal: aborting.signal })
    aborting.abort('enough')
    await expect(left).rejects.toBe('enough')
    peer.send({ jsonrpc: '2.0', id: 1, result: 1 })
    peer.send({ jsonrpc: '2.0', id: 1, result: 1 })
    await settled()
    expect(told).toEqual(['answered', 'answered'])
  })

  test('without replies replace the socket when there are more than 1,000 of them, and it ends with the last user', async () => {
    const { server, told, send } = await setUp()
    const stays = send()
    for (let i = 0; i < 1_001; i++) {
      const aborting = new AbortController()
      void send({ signal: aborting.signal })
      if (i === 999) expect(told).toEqual([])
      aborting.abort()
    }
    expect(told).toContain('replaced')
    expect(told).not.toContain('ended')
    const { peer } = await server.received(1)
    peer.send({ jsonrpc: '2.0', id: 1, result: 1 })
    await stays
    await turn()
    expect(told.at(-1)).toBe('ended')
  })

  test('make it as patient as the most patient of them, while it has a caller', async () => {
    const { session, send } = await setUp()
    expect(session.patience()).toBe(1)
    const aborting = new AbortController()
    void send({ patience: 4, signal: aborting.signal })
    void send({ patience: 2 })
    expect(session.patience()).toBe(4)
    aborting.abort()
    expect(session.patience()).toBe(2)
  })
})

describe('subscriptions', () => {
  test('get what came before they were known, as long as one was being made', async () => {
    const { peer, session, state, listener, heard, settled } = await setUp()
    peer.notify('0xa', 'nobody was subscribing')
    await settled()
    state.isSubscribing = true
    peer.notify('0xa', 1)
    peer.notify('0xb', 'of another one')
    await settled()
    session.subscribe('0xa', listener)
    peer.notify('0xa', 2)
    await settled()
    expect(heard).toEqual(['started', 1, 2])
    session.forgetUnclaimed()
    session.subscribe('0xb', listener)
    expect(heard.slice(3)).toEqual(['started'])
  })

  test('may take a notification from its text, in the usual form, and get the others parsed', async () => {
    const { peer, session, listener, heard, settled } = await setUp()
    const skimmed: string[] = []
    const skim = (message: string) => {
      skimmed.push(message)
      return message.includes('enough')
    }
    session.subscribe('0xa', { ...listener, skim })
    session.subscribe('0xb', listener)
    peer.notify('0xa', 'enough')
    peer.notify('0xa', 'not that')
    peer.notify('0xb', 'enough')
    peer.notify('0xc', 'enough')
    // With spaces, the id last, or another method.
    peer.send('{"jsonrpc": "2.0", "method": "eth_subscription", "params": {"subscription": "0xa", "result": "enough 1"}}')
    peer.send('{"jsonrpc":"2.0","method":"eth_subscription","params":{"result":"enough 2","subscription":"0xa"}}')
    peer.send('{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xa","result":"not JSON}}')
    await settled()
    expect(skimmed.map((message) => JSON.parse(message.endsWith('JSON}}') ? 'null' : message)?.params.result)).toEqual(['enough', 'not that', undefined])
    expect(heard).toEqual(['started', 'started', 'not that', 'enough', 'enough 1', 'enough 2'])
  })

  test('hear nothing more once they are stopped, and have no id then', async () => {
    const { peer, session, listener, heard, settled } = await setUp()
    const subscription = session.subscribe('0xa', listener)
    expect(subscription.id).toBe('0xa')
    subscription.stop()
    subscription.stop()
    peer.notify('0xa', 1)
    await settled()
    expect([subscription.id, heard]).toEqual([undefined, ['started']])
  })

  test('are lost with the socket, each once', async () => {
    const { peer, session, listener, heard, told } = await setUp()
    const subscription = session.subscribe('0xa', listener)
    const lost = new Promise<void>((resolve) => session.subscribe('0xb', { ...listener, started() {}, lost: () => resolve() }))
    peer.socket.destroy()
    await lost
    expect([subscription.id, heard, told]).toEqual([undefined, ['started', 'network'], ['ended']])
    subscription.stop()
    // Its reply came with the end of the socket.
    session.subscribe('0xc', listener)
    expect(heard.slice(2)).toEqual(['started', 'network'])
  })

  test('with one id share its notifications where they were asked for alike, and unsubscribe with the last one', async () => {
    const { peer, session, listener, heard, settled } = await setUp()
    const others: unknown[] = []
    const first = session.subscribe('0xa', listener)
    const second = session.subscribe('0xa', { ...listener, notified: (result) => void others.push(result) })
    expect([first.id, second.id]).toEqual([undefined, undefined])
    peer.notify('0xa', { number: '0x1' })
    await settled()
    expect([heard.slice(2), others]).toEqual([[{ number: '0x1' }], [{ number: '0x1' }]])
    // Each may decode its own in place.
    expect(heard[2]).not.toBe(others[0])
    first.stop()
    expect([first.id, second.id]).toEqual([undefined, '0xa'])
    peer.notify('0xa', 2)
    await settled()
    expect([heard.slice(3), others[1]]).toEqual([[], 2])
    expect(() => session.subscribe('0xa', { ...listener, request: '["logs"]' })).toThrow(/: eth_subscribe: the id "0xa" is that of another subscription$/)
    second.stop()
    session.subscribe('0xa', { ...listener, request: '["logs"]' })
  })

  test.each<[string, unknown, number]>([
    ['more than 1,000', 1, 1001],
    ['more than 16 MiB', 'x'.repeat(99_000), 180],
  ])('are told that something is missing where %s notifications came before the reply', async (_, result, count) => {
    const { peer, session, state, listener, heard, settled } = await setUp()
    state.isSubscribing = true
    for (let i = 0; i < count; i++) peer.notify('0xa', result)
    await settled()
    session.subscribe('0xa', listener)
    expect(heard.length).toBeLessThan(count + 2)
    expect([heard[0], heard.at(-1)]).toEqual(['started', 'missed'])
    expect(heard.slice(1, -1).every((each) => each === result)).toBe(true)
    peer.notify('0xa', 'later')
    await settled()
    expect(heard.at(-1)).toBe('later')
    session.forgetUnclaimed()
    session.subscribe('0xb', listener)
    expect(heard.slice(-2)).toEqual(['later', 'started'])
  })

  test('are told of a notification that was too long: its own where its start tells, otherwise all', async () => {
    const { peer, session, state, listener, heard, settled } = await setUp()
    const others: unknown[] = []
    session.subscribe('0xa', listener)
    session.subscribe('0xb', { ...listener, started: () => {}, missed: () => void others.push('missed') })
    const long = 'x'.repeat(100_000)
    peer.notify('0xa', long)
    await settled()
    expect([heard, others]).toEqual([['started', 'missed'], []])
    peer.send(`{"method": "eth_subscription", "params": {"result": "${long}", "subscription": "0xb"}}`)
    await settled()
    expect([heard, others]).toEqual([['started', 'missed', 'missed'], ['missed']])
    // Of none that is known, while none is being made.
    peer.notify('0xc', long)
    await settled()
    session.subscribe('0xc', listener)
    expect(heard.slice(3)).toEqual(['started'])
    // Of one whose id is still to come.
    state.isSubscribing = true
    peer.notify('0xd', 'before')
    peer.notify('0xd', long)
    await settled()
    session.subscribe('0xd', listener)
    expect(heard.slice(4)).toEqual(['started', 'before', 'missed'])
  })

  test.each(['not JSON', '{"method":"eth_subscription"}', '{"method":"eth_subscription","params":{"subscription":5,"result":1}}'])(
    'ignore %s',
    async (text) => {
      const { peer, session, listener, heard, settled } = await setUp()
      session.subscribe('0xa', listener)
      peer.send(text)
      await settled()
      expect(heard).toEqual(['started'])
    },
  )
})

test('what was not sent says so', () => {
  const url = new URL('ws://node.example/SECRET')
  expect(ended({ url } as Parameters<typeof ended>[0])).toMatchObject({
    kind: 'network',
    unsent: true,
    message: 'node.example: the connection is no longer used',
  })
})
