import { createPublicClient } from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import { hexline } from '../../../../adapters/viem/index.ts'
import { type Listener, listenOrPoll } from '../../../../adapters/viem/live/listen-or-poll.ts'
import type { Subscriber } from '../../../../src/client/keep-subscribed.ts'
import type { Listen } from '../../../../src/client/subscribe.ts'
import { ClosedError, RpcError } from '../../../../src/index.ts'
import { blockOf, hexOf } from '../../../support/chain-server.ts'
import { type Entry, each, honest, serve as serveReally } from '../../../support/server.ts'
import { closing } from '../../../support/viem-clients.ts'
import { collector } from '../../../support/viem-flows.ts'
import { virtualWorld } from '../../../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()
const refusal = new RpcError({ code: -32601, message: 'no subscriptions' }, { kind: 'unsupported' })

/** Listens with the endpoints of a client. The test says what becomes of each subscription. */
async function start(url?: string, pollMs = 4_000) {
  const client = clientOf([url ?? (await serve(honest)).url])
  const log: string[] = []
  const subscribers: Subscriber[] = []
  let stops = 0
  const listen: Listen = (_, subscriber) => {
    subscribers.push(subscriber)
    return () => void stops++
  }
  const since = clock.now()
  const note = (what: string) => void log.push(`${what} ${Math.round((clock.now() - since) / 1000)}`)
  const listener: Listener = {
    ready: () => note('ready'),
    notified: (result) => note(`got ${result}`),
    fill: () => note('fill'),
    ended: (reason) => note(`ended: ${(reason as Error).message}`),
  }
  const stop = listenOrPoll(client, listen, ['newHeads'], listener, pollMs)
  return { client, log, subscribers, stop, stops: () => stops }
}

it('a subscription that is made at once is only listened to', async () => {
  const { log, subscribers, stop, stops } = await start()
  subscribers[0]?.started()
  subscribers[0]?.notified('a', 1)
  await sleep(60_000)
  expect(log).toEqual(['ready 0', 'got a 0'])
  stop()
  expect([subscribers.length, stops()]).toEqual([1, 1])
})

it('while WebSockets say nothing, another endpoint is polled', async () => {
  const { log, subscribers, stop } = await start()
  await sleep(9_000)
  expect(log).toEqual(['ready 4', 'fill 4', 'ready 8', 'fill 8'])
  // What came since the last poll is fetched.
  subscribers[0]?.started()
  await sleep(60_000)
  expect(log.slice(4)).toEqual(['fill 9', 'ready 9'])
  stop()
})

it('at the interval that is asked for', async () => {
  const { log, stop } = await start(undefined, 1_000)
  await sleep(3_500)
  expect(log.filter((what) => what.startsWith('fill'))).toEqual(['fill 1', 'fill 2', 'fill 3'])
  stop()
})

it('between a lost socket and the next one, too', async () => {
  const { log, subscribers, stop } = await start()
  subscribers[0]?.started()
  subscribers[0]?.lost?.()
  await sleep(3_000)
  subscribers[0]?.gap()
  await sleep(10_000)
  subscribers[0]?.lost?.()
  await sleep(5_000)
  subscribers[0]?.gap()
  await sleep(60_000)
  expect(log).toEqual(['ready 0', 'fill 3', 'ready 17', 'fill 17', 'fill 18'])
  stop()
})

it('WebSockets that refuse are asked again after 30 s', async () => {
  const { log, subscribers, stop, stops } = await start()
  subscribers[0]?.ended(refusal)
  await sleep(31_000)
  expect(log.slice(0, 3)).toEqual(['ready 0', 'ready 4', 'fill 4'])
  expect(subscribers).toHaveLength(1)
  await sleep(2_000)
  expect(subscribers).toHaveLength(2)
  subscribers[1]?.started()
  const { length } = log
  await sleep(60_000)
  expect(log.slice(length)).toEqual([])
  stop()
  expect(stops()).toBe(1)
})

it('a client of WebSockets alone ends with the refusal, and is not polled', async () => {
  const { log, subscribers } = await start('ws://127.0.0.1:1')
  await sleep(10_000)
  subscribers[0]?.ended(refusal)
  await sleep(60_000)
  expect(log).toEqual(['ended: no subscriptions 10'])
})

it('it ends once with the client, whether it listens or polls', async () => {
  const { log, client, subscribers } = await start()
  subscribers[0]?.ended(refusal)
  await client.close()
  await sleep(10_000)
  expect(log.map((each) => each.split(':')[0])).toEqual(['ready 0', 'ended'])
  const other = await start()
  other.subscribers[0]?.ended(new ClosedError('closed'))
  await sleep(10_000)
  expect(other.log).toEqual(['ended: closed 0'])
})

it('nothing is polled after it was stopped', async () => {
  const { log, stop, stops } = await start()
  await sleep(5_000)
  stop()
  await sleep(60_000)
  expect(log).toEqual(['ready 4', 'fill 4'])
  expect(stops()).toBe(1)
})

it("viem watches blocks over HTTP, at the client's `pollingInterval`, where the WebSocket cannot be reached", async () => {
  let head = 5
  const node = await serveReally(
    each(({ id, method, params }: Entry) => {
      if (method === 'eth_blockNumber') return { id, result: hexOf(head) }
      if (method === 'eth_chainId') return { id, result: '0x1' }
      if (method !== 'eth_getBlockByNumber') return { id, result: [] }
      const number = params[0] === 'latest' ? head : Number(params[0])
      return { id, result: number > head ? null : blockOf(number, false) }
    }),
  )
  const client = createPublicClient({ transport: closing(hexline(['ws://127.0.0.1:1', node.url], { retryCount: 0 })), pollingInterval: 20 })
  const numbers = collector<bigint>(15)
  const errors: unknown[] = []
  const unwatch = client.watchBlockNumber({ onBlockNumber: (number) => numbers.add(number), onError: (error) => errors.push(error) })
  // The newest block has been read: what is polled are the blocks after it.
  await expect.poll(() => node.requests.some(({ entries }) => entries.some(({ method }) => method === 'eth_getBlockByNumber'))).toBe(true)
  // One more block with each poll: at 4 s each, it would take a minute.
  const grow = setInterval(() => head++, 20)
  onTestFinished(() => clearInterval(grow))
  expect(await numbers.all).toEqual(Array.from({ length: 15 }, (_, i) => BigInt(6 + i)))
  expect(errors).toEqual([])
  unwatch()
})
