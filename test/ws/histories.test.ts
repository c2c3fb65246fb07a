import { beforeAll, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Client } from '../../src/index.ts'
import { hex } from '../support/node.ts'
import { randomFrom } from '../support/random.ts'
import { seeds } from '../support/runs.ts'
import { answerTo, type Entry, failed } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serveWebSocket, clientOf, sleep } = virtualWorld()

/** Longer than all waits after failures. */
const CALM_MS = 120_000
/** What a server does with a message, where it does not answer. */
const FAULTS = ['silent', 'late', 'twice', 'error', 'throttled', 'cut', 'close', 'half', 'null-id', 'junk', 'dead'] as const
type FaultKind = (typeof FAULTS)[number]

/** Most bytes of a message, and more than that. */
const MOST_BYTES = 20_000
const TOO_LONG = 30_000
/** What a provider sends that is no reply, and for no subscription. */
const FOREIGN = [
  { jsonrpc: '2.0', method: 'debug_subscription', params: { subscription: '0x1', result: {} } },
  { jsonrpc: '2.0', method: 'keep-alive' },
  { method: 'admin_subscription', params: 'x'.repeat(TOO_LONG) },
]

/** A subscription as a server has it. */
interface ServerSubscription {
  readonly id: string
  readonly request: string
  /** Its number among all of them. */
  readonly number: number
  /** Notifications so far. */
  sent: number
}

/** How servers name subscriptions: all differently, from 1 on at each socket, or by request. */
type Ids = 'all' | 'socket' | 'request'

/** Servers of WebSockets that answer calls, and have subscriptions, while much goes wrong. */
class Servers {
  readonly urls: string[]
  readonly sockets = new Map<WebSocket, Map<string, ServerSubscription>>()
  /** How often each call that must run once has run. */
  readonly runs = new Map<string, number>()
  readonly #random: () => number
  readonly #ids: Ids
  readonly #latencyMs: number
  /** Share of notifications that are too long. */
  readonly tooLong: number
  /** Those of each socket. */
  readonly #given = new WeakMap<WebSocket, number>()
  /** Subscriptions so far. */
  made = 0
  #faults: { readonly kind: FaultKind; readonly share: number; readonly until: number }[] = []
  mayOpen: boolean | 'silent' | number = true
  isCalm = false
  messages = 0
  handshakes = 0

  constructor(count: number, ids: Ids, latencyMs: number, random: () => number) {
    this.#ids = ids
    this.#latencyMs = latencyMs
    this.#random = random
    this.tooLong = random() < 0.3 ? 0 : 0.05
    this.urls = Array.from({ length: count }, () =>
      serveWebSocket(
        () => {
          this.handshakes++
          return this.mayOpen
        },
        (webSocket) => this.#open(webSocket),
      ),
    )
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  misbehave(mostMs: number): void {
    const kind = FAULTS[this.below(FAULTS.length)] as FaultKind
    this.#faults.push({ kind, share: [0.1, 0.5, 1][this.below(3)] as number, until: clock.now() + this.below(mostMs) })
  }

  calmDown(): void {
    this.isCalm = true
    this.mayOpen = true
  }

  /** Each subscription brings something. */
  tick(): void {
    for (const [webSocket, subscriptions] of this.sockets) for (const each of subscriptions.values()) this.#notify(webSocket, each)
  }

  cut(webSocket: WebSocket): void {
    if (this.#random() < 0.5) webSocket.terminate()
    else webSocket.close([1000, 1001, 1008, 1011, 1012, 1013, 4000][this.below(7)], 'later')
  }

  cutAll(): void {
    for (const webSocket of this.sockets.keys()) if (this.#random() < 0.7) this.cut(webSocket)
  }

  fallSilent(): void {
    for (const webSocket of this.sockets.keys()) {
      webSocket.pause()
      this.sockets.delete(webSocket)
    }
  }

  /** The server drops what it has, and goes on. */
  notifyUnknown(): void {
    for (const webSocket of this.sockets.keys()) this.#send(webSocket, notification('0xdead', 'logs', 0, 0))
  }

  #open(webSocket: WebSocket): void {
    const subscriptions = new Map<string, ServerSubscription>()
    this.sockets.set(webSocket, subscriptions)
    webSocket.on('close', () => this.sockets.delete(webSocket))
    webSocket.on('message', (data) => {
      this.messages++
      const body: Entry | Entry[] = JSON.parse(String(data))
      void this.#react(webSocket, [body].flat(), Array.isArray(body), subscriptions)
    })
  }

  async #react(webSocket: WebSocket, entries: readonly Entry[], isBatch: boolean, subscriptions: Map<string, ServerSubscription>): Promise<void> {
    const now = clock.now()
    this.#faults = this.#faults.filter(({ until }) => until > now)
    const fault = this.isCalm ? undefined : this.#faults.find(({ share }) => this.#random() < share)?.kind
    await sleep(this.below(this.#latencyMs) + (fault === 'late' ? this.below(8_000) : 0))
    const send = (value: unknown) => this.#send(webSocket, value)
    // It reads nothing more, and its subscriptions go on.
    if (fault === 'dead') return void (webSocket.readyState === webSocket.OPEN && webSocket.pause())
    if (fault === 'silent') return
    if (fault === 'cut') return this.cut(webSocket)
    if (fault === 'error' || fault === 'throttled') {
      const refusals = entries.map((entry) => (fault === 'error' ? failed(entry, -32603, 'internal error') : failed(entry, -32005, 'rate limit exceeded')))
      return send(isBatch ? refusals : refusals[0])
    }
    if (fault === 'null-id') return send({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'internal error' } })
    if (fault === 'junk') return send('not JSON')
    if (fault === 'half' && webSocket.readyState === webSocket.OPEN) {
      // The first bytes of a frame of 4,096.
      const { _socket: socket } = webSocket as unknown as { _socket: { write(bytes: Buffer): void } }
      return void socket.write(Buffer.concat([Buffer.from([0x81, 126, 0x10, 0x00]), Buffer.from('[{"jsonrpc":"2.0",')]))
    }
    const replies = entries.map((entry) => this.#reply(webSocket, entry, subscriptions))
    if (fault === 'close') return this.cut(webSocket)
    if (this.#random() < 0.2) replies.reverse()
    // Some servers answer the calls of a batch one by one.
    if (isBatch && this.#random() < 0.1) for (const reply of replies) send([reply])
    else send(isBatch ? replies : replies[0])
    if (fault === 'twice') send(isBatch ? replies : replies[0])
    for (const each of subscriptions.values()) if (each.sent === 0 && this.#random() < 0.5) this.#notify(webSocket, each)
  }

  #reply(webSocket: WebSocket, entry: Entry, subscriptions: Map<string, ServerSubscription>): object {
    const { id, method, params } = entry
    const result = (value: unknown) => ({ jsonrpc: '2.0', id: this.#random() < 0.1 ? String(id) : id, result: value })
    if (method === 'eth_chainId') return result('0x1')
    if (method === 'eth_blockNumber') return result('0x10')
    if (method === 'eth_unsubscribe') return result(subscriptions.delete(String(params[0])))
    if (method !== 'eth_subscribe') {
      const call = JSON.stringify(params)
      if (method === 'my_write') this.runs.set(call, (this.runs.get(call) ?? 0) + 1)
      return result(answerTo(params))
    }
    const request = JSON.stringify(params)
    const number = ++this.made
    const given = (this.#given.get(webSocket) ?? 0) + 1
    this.#given.set(webSocket, given)
    const made = {
      all: hex(number),
      socket: hex(given),
      request: `0x${Buffer.from(request).toString('hex')}`,
    }
    const own = made[this.#ids]
    const subscription = subscriptions.get(own) ?? { id: own, request, number, sent: 0 }
    subscriptions.set(own, subscription)
    // Before the reply.
    if (this.#random() < 0.3) for (let i = this.below(3); i >= 0; i--) this.#notify(webSocket, subscription)
    return result(own)
  }

  #notify(webSocket: WebSocket, subscription: ServerSubscription): void {
    const { id, request, number } = subscription
    if (this.#random() < 0.05) this.#send(webSocket, FOREIGN[this.below(FOREIGN.length)])
    const value = notification(id, request, number, ++subscription.sent)
    if (this.#random() >= this.tooLong) return void this.#send(webSocket, value)
    // In the form in which most nodes write it, and in another one.
    this.#send(
      webSocket,
      this.#random() < 0.5 ? { ...value, more: 'x'.repeat(TOO_LONG) } : { method: 'eth_subscription', more: 'x'.repeat(TOO_LONG), ...value },
    )
  }

  #send(webSocket: WebSocket, value: unknown): void {
    if (webSocket.readyState !== webSocket.OPEN) return
    const text = JSON.stringify(value)
    if (this.#random() > 0.05) return void webSocket.send(text)
    // In two frames.
    webSocket.send(text.slice(0, 5), { fin: false })
    webSocket.send(text.slice(5))
  }
}

/** Who it is for, of which of the server's subscriptions it is, and which of its notifications. */
function notification(id: string, request: string, number: number, sent: number): object {
  const [name, filter] = request.startsWith('[') ? JSON.parse(request) : [request, undefined]
  const data = `0x${number.toString(16).padStart(16, '0')}${sent.toString(16).padStart(16, '0')}`
  const result =
    name === 'logs'
      ? {
          ...{ address: filter?.address ?? `0x${'0'.repeat(40)}`, topics: [], data, blockNumber: '0x1', blockHash: `0x${'1'.repeat(64)}`, removed: false },
          ...{ transactionHash: `0x${'2'.repeat(64)}`, transactionIndex: '0x0', logIndex: '0x0' },
        }
      : `0x${'3'.repeat(32)}${data.slice(2)}`
  return { jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: id, result } }
}

/** A consumer of one subscription, and what is wrong with what it was told. */
class Consumer {
  readonly #wrong: string[]
  readonly #name: string
  readonly items: AsyncIterableIterator<unknown>
  /** The last notification that came; undefined after a gap. */
  #last: { readonly number: number; readonly sent: number } | undefined
  readonly #seen = new Map<number, number>()
  valueAt = Number.NEGATIVE_INFINITY
  isStopped = false
  isOver = false
  hasBegun = false
  error: unknown

  constructor(client: Client, which: number, signal: AbortSignal, wrong: string[]) {
    this.#wrong = wrong
    this.#name = which === 0 ? 'hashes' : `logs ${which}`
    const address: `0x${string}` = `0x${which.toString(16).padStart(40, '0')}`
    const items = which === 0 ? client.subscribe('newPendingTransactions', { signal }) : client.subscribe('logs', { address, signal })
    this.items = items
    void this.#run(items, which)
  }

  async #run(items: AsyncIterable<{ type: 'gap' } | { type: 'value'; value: string | { address: string; data: string } }>, which: number): Promise<void> {
    try {
      for await (const item of items) {
        this.hasBegun = true
        if (this.isStopped) this.#wrong.push(`${this.#name}: something came after the end`)
        if (item.type === 'gap') this.#last = undefined
        else this.#check(item.value, which)
      }
    } catch (error) {
      this.error = error
    }
    this.isOver = true
  }

  #check(value: string | { address: string; data: string }, which: number): void {
    const data = typeof value === 'string' ? value.slice(34) : value.data.slice(2)
    const isOwn = typeof value === 'string' ? which === 0 : Number(value.address) === which
    if (!isOwn) this.#wrong.push(`${this.#name}: a notification of another subscription came`)
    const [number, sent] = [Number(`0x${data.slice(0, 16)}`), Number(`0x${data.slice(16)}`)]
    const last = this.#last
    if (last !== undefined && last.number !== number && !this.mayBeginLate) this.#wrong.push(`${this.#name}: another subscription without a gap`)
    const seen = this.#seen.get(number)
    // A gap stands for what was too long, and for what came after that before the reply.
    const mayBeMissing = last === undefined && this.mayMiss && sent > (seen ?? 0)
    if (sent !== (seen ?? (this.mayBeginLate ? sent - 1 : 0)) + 1 && !mayBeMissing) this.#wrong.push(`${this.#name}: ${sent} came after ${seen}`)
    this.#seen.set(number, sent)
    this.#last = { number, sent }
    this.valueAt = clock.now()
  }

  /** Its server's subscription may have the id of an earlier one. */
  mayBeginLate = false
  /** Notifications may be too long. */
  mayMiss = false
}

/**
 * Some minutes of a client with subscriptions and calls, while sockets are lost, stall, are refused
 * or go silent, and replies are late, double, wrong or missing. At the end, all is well, and the
 * client is closed at any moment.
 */
async function history(seed: number): Promise<{ wrong: string[]; errors: string[] }> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <V>(...values: readonly V[]) => values[below(values.length)] as V
  const wrong: string[] = []
  const errors: string[] = []
  const ids = oneOf<Ids>('all', 'socket', 'request')
  const servers = new Servers(1 + below(2), ids, oneOf(1, 30, 300), random)
  const [first, ...others] = servers.urls as [string, ...string[]]
  const timers = clock.timers
  const timeoutMs = oneOf(3_000, 30_000)
  const client = clientOf([first, ...others], {
    timeoutMs,
    maxResponseBytes: MOST_BYTES,
    deadlineMs: oneOf(10_000, 60_000),
    batch: oneOf<{ maxCalls?: number } | false>({}, false),
    retry: {},
  })
  const consumers: Consumer[] = []
  const calls = { settled: 0, made: 0 }
  let isClosed = false

  const call = (method: string) => {
    const who = ++calls.made
    const madeAt = clock.now()
    const stop = new AbortController()
    if (random() < 0.1) void sleep(below(2_000)).then(() => stop.abort(new Error('aborted')))
    let isSettled = false
    const settle = () => {
      if (isSettled) wrong.push(`call ${who} was settled twice`)
      isSettled = true
      calls.settled++
    }
    client.request({ method, params: [`0x${who.toString(16).padStart(40, '0')}`, 'latest'] }, { signal: stop.signal }).then(
      (result) => {
        settle()
        if (Number((result as { asked: string[] }).asked[0]) !== who) wrong.push(`call ${who} got the result of another one`)
      },
      (error) => {
        settle()
        if (!stop.signal.aborted && !isClosed) errors.push(`${method} ${clock.now()} ${error}`)
        if (!stop.signal.aborted && servers.isCalm && method !== 'my_write' && !isClosed && clock.now() > calmAt + 60_000)
          wrong.push(`call ${who} failed: ${error}`)
        if (['malformed', 'response-too-large'].includes(error.kind) && madeAt > calmAt + 60_000) wrong.push(`call ${who} got what is no reply: ${error}`)
      },
    )
  }
  const subscribe = () => {
    const consumer = new Consumer(client, below(3), AbortSignal.any([stop.signal]), wrong)
    consumer.mayBeginLate = ids === 'request'
    consumer.mayMiss = servers.tooLong > 0
    consumers.push(consumer)
  }
  const live = () => consumers.filter(({ isStopped, isOver }) => !isStopped && !isOver)
  const stop = new AbortController()
  const stopOne = async (consumer: Consumer | undefined) => {
    if (consumer === undefined) return
    consumer.isStopped = true
    await consumer.items.return?.()
  }
  let calmAt = Number.POSITIVE_INFINITY
  let isTicking = true
  const ticking = (async () => {
    while (isTicking) {
      await sleep(1 + below(700))
      servers.tick()
    }
  })()

  for (let changes = 20 + below(40); changes > 0; changes--) {
    if (random() < 0.7) await sleep(below(oneOf(20, 1_000, 10_000)))
    const roll = random()
    if (roll < 0.15) subscribe()
    else if (roll < 0.25) await stopOne(oneOf(...live()))
    else if (roll < 0.5) for (let i = below(4); i >= 0; i--) call('eth_getBalance')
    else if (roll < 0.55) call('my_write')
    else if (roll < 0.7) servers.misbehave(oneOf(500, 5_000, 40_000))
    else if (roll < 0.8) servers.cutAll()
    else if (roll < 0.85) servers.notifyUnknown()
    else if (roll < 0.95) servers.mayOpen = oneOf<boolean | 'silent' | number>(true, true, false, 'silent', 503, 429)
    // Nothing is in use, or all is quiet.
    else await sleep(below(60_000))
  }
  servers.calmDown()
  calmAt = clock.now()
  // A socket that answers nothing and still brings notifications is found by calls alone.
  for (let i = 0; i < 12; i++) {
    call('eth_getBalance')
    await sleep(CALM_MS / 12)
  }
  const { made } = servers
  for (let i = below(3); i >= 0; i--) subscribe()
  for (let i = 0; i < 5; i++) call(oneOf('eth_getBalance', 'my_write'))
  await sleep(CALM_MS)
  for (const consumer of consumers) {
    if (consumer.error !== undefined && consumer.hasBegun) wrong.push(`a subscription ended: ${consumer.error}`)
    if (!consumer.isStopped && !consumer.isOver && consumer.valueAt < clock.now() - 5_000)
      wrong.push(`nothing came since ${consumer.valueAt}, at ${clock.now()}`)
  }
  if (calls.settled !== calls.made) wrong.push(`${calls.made - calls.settled} calls have not settled`)
  // Sooner than any timeout.
  for (let i = 0; i < 3; i++) call('eth_getBalance')
  await sleep(below(20))
  servers.cutAll()
  await sleep(20_000)
  if (timeoutMs > 20_000 && calls.settled !== calls.made) wrong.push('calls over a lost socket have not settled')
  if (random() < 0.3) {
    // Sooner than the question can time out whether a subscription still brings anything, and late
    // enough for one that was made at the other server first, which is silent, too.
    servers.fallSilent()
    await sleep(32_000)
    if (live().some(({ valueAt }) => valueAt < clock.now() - 3_000)) wrong.push('a socket that is silent was not given up')
  }
  for (const [each, count] of servers.runs) if (count > 1) wrong.push(`${each} ran ${count} times`)

  if (random() < 0.3) {
    for (const consumer of live()) await stopOne(consumer)
    await sleep(10_000)
    // Of those that were made while replies were lost, a server may keep some.
    const left = [...servers.sockets.values()].flatMap((each) => [...each.values()]).filter(({ number }) => number > made)
    if (left.length > 0) wrong.push(`the servers still have ${left.length} subscriptions`)
  }
  if (random() < 0.5) servers.cutAll()
  for (let i = below(3); i > 0; i--) subscribe()
  for (let i = below(3); i > 0; i--) call('eth_getBalance')
  await sleep(below(oneOf(3, 400)))
  isClosed = true
  await client.close()
  await sleep(5_000)
  if (consumers.some(({ isOver }) => !isOver)) wrong.push('a subscription goes on after the end')
  if (calls.settled !== calls.made) wrong.push(`${calls.made - calls.settled} calls have not settled at the end`)
  if (servers.sockets.size > 0) wrong.push('a socket is open after the end')
  const { messages, handshakes } = servers
  isTicking = false
  await ticking
  await sleep(CALM_MS)
  if (servers.messages > messages || servers.handshakes > handshakes) wrong.push('something was sent after the end')
  if (clock.timers > timers) wrong.push(`${clock.timers - timers} timers are left`)
  return { wrong, errors }
}

// Loading it takes real time, in which virtual time would go on.
beforeAll(async () => {
  await import('../../src/ws/session.ts')
  await import('../../src/ws/handshake.ts')
})

test.each(seeds(20, 1_500))('a WebSocket: history %i', async (seed) => {
  const { wrong, errors } = await history(seed)
  expect({ wrong, errors: wrong.length > 0 ? errors.slice(-12) : [] }).toEqual({ wrong: [], errors: [] })
})
