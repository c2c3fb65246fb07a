import { type EventFilter, type Log, Network } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { CONTRACT, logsOf, TOPIC } from '../../../support/forking-chain.ts'
import { LateNodes } from '../../../support/late-nodes.ts'
import { randomFrom } from '../../../support/random.ts'
import { seeds } from '../../../support/runs.ts'
import type { Entry } from '../../../support/server.ts'
import { virtualWorld } from '../../../support/virtual-server.ts'

const { clock, serve, serveWebSocket, clientOf, sleep } = virtualWorld()

/** The head at the beginning. */
const START = 20
/** Longer than any failure, and the wait after it. */
const CALM_MS = 15_000
/** Of these, several subscriptions share the node's filter, and its logs. */
const FILTERS: readonly EventFilter[] = [{ address: CONTRACT }, { topics: [TOPIC] }, { address: CONTRACT, topics: [TOPIC] }]
/**
 * How many blocks below the start of a subscription may be replaced, so that the logs of the new
 * ones still come.
 */
const BELOW = { filters: 0, polling: 0, webSocket: 8, both: 8 }

type Mode = keyof typeof BELOW

/** What a listener of logs was told, as far as it is wrong. */
class LogListener {
  readonly filter: EventFilter
  /** Blocks made before are from before the subscription. */
  readonly begun: number
  /**
   * When all logs of later blocks must come, and the blocks above `lowest` may be replaced;
   * undefined while logs need not come.
   */
  since: { readonly at: number; readonly lowest: number } | undefined
  isOff = false
  readonly #keys = new Set<string>()
  readonly #madeAt: ReadonlyMap<string, number>
  readonly #wrong: string[]

  constructor(filter: EventFilter, begun: number, madeAt: ReadonlyMap<string, number>, wrong: string[]) {
    this.filter = filter
    this.begun = begun
    this.#madeAt = madeAt
    this.#wrong = wrong
  }

  readonly hear = ({ blockHash, blockNumber, index, removed }: Log) => {
    const key = `${blockHash}:${index}`
    if (this.isOff) this.#wrong.push(`a log of block ${blockNumber} came after the end`)
    if (removed) this.#wrong.push(`a removed log of block ${blockNumber} came`)
    if (this.#keys.has(key)) this.#wrong.push(`a log of block ${blockNumber} came twice`)
    if ((this.#madeAt.get(blockHash) as number) < this.begun) this.#wrong.push(`a log of block ${blockNumber}, from before the subscription, came`)
    this.#keys.add(key)
  }

  /** At the end, when it must have all logs of this chain. */
  check(chain: LateNodes['chain']['blocks']): void {
    const { at } = this.since as { at: number }
    for (const block of chain.filter(({ hash }) => (this.#madeAt.get(hash) as number) > at)) {
      const missing = logsOf(block).filter(({ logIndex }) => !this.#keys.has(`${block.hash}:${Number(logIndex)}`))
      if (missing.length > 0) this.#wrong.push(`${missing.length} logs of block ${block.number} are missing`)
    }
  }
}

/**
 * Some minutes of a provider at a URL with several nodes, each of them a little late. The chain
 * grows and is reorganised, requests and replies are lost, filters are forgotten, sockets are cut,
 * the provider is paused. At the end, all is well for a minute. What is not promised does not
 * happen, or is not looked at:
 * - ethers' polling does not look for replaced blocks, and numbers come again after a late reply;
 * - a subscription that begins during a failure may begin with an earlier block, or a later one;
 * - a first request of `waitForTransaction` that fails ends it.
 */
async function history(mode: Mode, seed: number): Promise<string[]> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <V>(...values: [V, ...V[]]) => values[below(values.length)] as V
  const wrong: string[] = []
  const manner = randomFrom(seed + 1_000_000)
  /** Blocks are announced late and in another order, some of them twice. */
  const isUnruly = manner() < 0.5
  /** Any node may answer the calls of a socket. */
  const isShared = manner() < 0.5
  const tellsRemoved = manner() < 0.7
  const isLate = random() < 0.5
  const nodes = new LateNodes({ head: START, count: 1 + below(3), mostLateMs: isLate ? oneOf(300, 900) : 0, tellsRemoved, random, sleep })
  const { chain } = nodes
  const madeAt = new Map(chain.hashes.map((hash) => [hash, 0]))
  const note = () => {
    for (const hash of chain.hashes) if (!madeAt.has(hash)) madeAt.set(hash, clock.now())
  }

  const failing = oneOf(0, 0, 0.05, 0.3)
  const latencyMs = oneOf(5, 50, 400)
  let isCalm = true
  let maySockets = true
  const isLost = () => !isCalm && random() < failing
  /** Undefined for a request or a reply that is lost. */
  const answer = async (entries: readonly Entry[], which = nodes.nodeFor(entries), told?: (subscription: string, head: object) => void) => {
    await sleep(below(latencyMs))
    if (isLost()) return undefined
    const replies = entries.map((entry) => nodes.reply(which, entry, told))
    await sleep(below(latencyMs))
    return isLost() ? undefined : replies
  }
  const server = await serve(async ({ entries, isBatch, socket }, response) => {
    const replies = await answer(entries)
    if (replies !== undefined) response.end(JSON.stringify(isBatch ? replies : replies[0]))
    else if (random() < 0.5) response.writeHead(500).end('no')
    else socket.destroy()
  })
  const sockets = new Set<WebSocket>()
  let messages = 0
  const webSocketUrl = serveWebSocket(
    () => maySockets,
    (webSocket) => {
      const which = nodes.nodeFor([])
      const send = (value: unknown) => void (webSocket.readyState === webSocket.OPEN && webSocket.send(JSON.stringify(value)))
      const told = async (subscription: string, result: object) => {
        for (let times = isUnruly && manner() < 0.3 ? 2 : 1; times > 0; times--) {
          if (isUnruly) await sleep(Math.floor(manner() * 200))
          send({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } })
        }
      }
      sockets.add(webSocket)
      webSocket.on('close', () => sockets.delete(webSocket))
      webSocket.on('message', async (data) => {
        messages++
        const body: Entry | Entry[] = JSON.parse(String(data))
        const entries = [body].flat()
        const isSubscribing = entries.some(({ method }) => method === 'eth_subscribe')
        const replies = await answer(entries, isShared && !isSubscribing ? nodes.nodeFor(entries) : which, told)
        if (replies === undefined) webSocket.terminate()
        else send(Array.isArray(body) ? replies : replies[0])
      })
    },
  )
  const urls = { filters: [server.url], polling: [server.url], webSocket: [webSocketUrl], both: [webSocketUrl, server.url] } as const
  const client = clientOf(urls[mode], { timeoutMs: 3_000, deadlineMs: 10_000, retry: { attempts: oneOf(1, 3) } })
  const provider = new HexlineProvider(client, 1, { staticNetwork: Network.from(1), pollingInterval: 500, polling: mode === 'polling' })

  const numbers: number[] = []
  const listeners: LogListener[] = []
  let waits = 0
  let isDestroyed = false
  await provider.on('error', () => {})
  await provider.on('block', (number: number) => {
    const last = numbers.at(-1) ?? number - 1
    if (isDestroyed) wrong.push(`block ${number} came after the end`)
    if (number > last + 1 || number > chain.head || (number <= last && !isLate)) wrong.push(`block ${number} came after ${last}`)
    numbers.push(number)
  })
  await sleep(CALM_MS)

  const mine = (count: number) => {
    nodes.mine(count)
    note()
  }
  /** From now on, no listener may miss anything. */
  const calmDown = async () => {
    isCalm = true
    maySockets = true
    await sleep(CALM_MS)
    mine(1)
    await sleep(CALM_MS)
    for (const listener of listeners) listener.since ??= { at: clock.now(), lowest: chain.head }
  }
  const subscribe = async (filter: EventFilter, isFirst: boolean) => {
    // Of a filter that is shared, what comes late comes to all.
    const begun = isCalm && isFirst ? clock.now() : 0
    const listener = new LogListener(filter, begun, madeAt, wrong)
    listeners.push(listener)
    await provider.on(filter, listener.hear)
    // The head, and then the blocks below it.
    if (begun > 0) await sleep(5 * latencyMs + 10)
    if (begun > 0) listener.since = { at: clock.now(), lowest: chain.head - BELOW[mode] }
  }
  const unsubscribe = async (listener: LogListener) => {
    await provider.off(listener.filter, listener.hear)
    listener.isOff = true
  }
  const wait = () => {
    const transaction = nodes.submit()
    const confirmations = 1 + below(4)
    waits++
    provider.waitForTransaction(transaction, confirmations, manner() < 0.3 ? 1 + Math.floor(manner() * 5_000) : undefined).then(
      (receipt) => {
        waits--
        const { blockHash = '' } = receipt ?? {}
        if (!nodes.wasConfirmed(transaction, blockHash, confirmations))
          wrong.push(`a wait ended with block ${receipt?.blockNumber}, without ${confirmations} confirmations`)
      },
      (error) => {
        waits--
        if (!['SERVER_ERROR', 'NETWORK_ERROR', 'TIMEOUT'].includes(error.code)) wrong.push(`a wait failed: ${error}`)
      },
    )
  }

  for (let changes = 10 + below(30); changes > 0; changes--) {
    isCalm = false
    const live = listeners.filter(({ isOff }) => !isOff)
    const lowest = Math.max(START - BELOW[mode], ...live.map(({ since }) => since?.lowest ?? 0))
    const deepest = mode === 'polling' ? 0 : chain.head - lowest
    const depth = Math.min(1 + below(oneOf(2, 8, 20)), deepest)
    if (manner() < 0.1) {
      provider.pause()
      if (manner() < 0.8) await sleep(Math.floor(manner() * 4_000))
      provider.resume()
    }
    if (manner() < 0.1) {
      let times = 0
      await provider.once(FILTERS[below(FILTERS.length)] as EventFilter, () => {
        if (++times > 1) wrong.push('a log came twice to a listener of one')
        if (manner() < 0.3) throw new Error('of a listener')
      })
    }
    const roll = random()
    if (roll < 0.4 || depth <= 0) mine(1 + below(oneOf(1, 3)))
    else if (roll < 0.55) {
      nodes.reorganise(depth, depth + below(3))
      note()
    } else if (roll < 0.7) {
      if (random() < 0.5) await calmDown()
      const filter = FILTERS[below(FILTERS.length)] as EventFilter
      await subscribe(filter, (await provider.listenerCount(filter)) === 0)
    } else if (roll < 0.75 && live.length > 0) await unsubscribe(live[below(live.length)] as LogListener)
    else if (roll < 0.85) wait()
    else if (roll < 0.95) {
      maySockets = random() < 0.6
      for (const webSocket of sockets) webSocket.terminate()
    } else nodes.dropFilters()
    if (random() < 0.7) await sleep(below(oneOf(30, 3_000)))
  }
  await calmDown()
  for (let blocks = 0; blocks < 5; blocks += nodes.hasWaiting ? 0 : 1) {
    mine(1)
    await sleep(2_000)
  }
  // At a node that is late, the logs of a block come with the next one.
  const checked = isLate ? chain.blocks.slice(0, -1) : chain.blocks
  await sleep(CALM_MS)
  if (numbers.at(-1) !== chain.head) wrong.push(`the last block was ${numbers.at(-1)}, not ${chain.head}`)
  if (waits > 0) wrong.push(`${waits} waits have not ended`)
  for (const listener of listeners) if (!listener.isOff) listener.check(checked)

  if (random() < 0.5) await sleep(below(600))
  provider.destroy()
  isDestroyed = true
  for (const listener of listeners) listener.isOff = true
  await sleep(2 * latencyMs)
  const asked = server.requests.length + messages
  mine(2)
  await sleep(CALM_MS)
  if (server.requests.length + messages > asked) wrong.push('requests were made after the end')
  await client.close()
  return wrong
}

// Loading it takes real time, in which virtual time would go on.
beforeAll(async () => {
  await import('../../../../src/ws/session.ts')
  await import('../../../../src/ws/handshake.ts')
})

// The timers of ethers, and the time that a reply took.
beforeEach(() => {
  vi.stubGlobal('performance', { now: () => clock.now() })
  vi.stubGlobal('setTimeout', (wake: () => void, ms = 0) => clock.wakeAt(clock.now() + ms, wake))
  vi.stubGlobal('clearTimeout', (timer: Parameters<typeof clock.cancel>[0]) => clock.cancel(timer))
})
afterEach(() => void vi.unstubAllGlobals())

test.each(seeds(24, 500))('filters: history %i', async (seed) => {
  expect(await history('filters', seed)).toEqual([])
})

test.each(seeds(24, 500))('polling: history %i', async (seed) => {
  expect(await history('polling', seed)).toEqual([])
})

test.each(seeds(24, 500))('a WebSocket: history %i', async (seed) => {
  expect(await history('webSocket', seed)).toEqual([])
})

test.each(seeds(24, 500))('a WebSocket and HTTP: history %i', async (seed) => {
  expect(await history('both', seed)).toEqual([])
})
