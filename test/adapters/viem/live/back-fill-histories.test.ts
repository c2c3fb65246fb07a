import { beforeAll, expect, test } from 'vitest'
import { HeadBackfill } from '../../../../adapters/viem/live/head-backfill.ts'
import { LogBackfill } from '../../../../adapters/viem/live/log-backfill.ts'
import { HeaderHashes } from '../../../../src/bulk/logs/header-hashes.ts'
import { type ForkBlock, ForkingChain, logsOf, notifications } from '../../../support/forking-chain.ts'
import { hex } from '../../../support/node.ts'
import { randomFrom } from '../../../support/random.ts'
import { seeds } from '../../../support/runs.ts'
import type { Entry } from '../../../support/server.ts'
import { virtualWorld } from '../../../support/virtual-server.ts'

const { serve, clientOf, sleep } = virtualWorld()

/** The head at the beginning: what follows it is to be delivered. */
const START = 5
type View = readonly ForkBlock[]
type Notification = Record<string, unknown>

/** What a subscriber was told, as far as it is wrong. */
interface Subscriber {
  readonly wrong: string[]
  deliver(result: unknown): void
  /** What is wrong with what it has at the end. */
  check(chain: View): void
}

function headSubscriber(first: ForkBlock): Subscriber {
  const path = [first.hash as string]
  const wrong: string[] = []
  return {
    wrong,
    deliver(result) {
      const { number, hash, parentHash } = result as Notification
      if (path.includes(String(hash))) wrong.push(`block ${Number(number)} came twice`)
      const parent = path.indexOf(String(parentHash))
      if (parent < 0) wrong.push(`block ${Number(number)} came without its parent`)
      path.splice(parent + 1, path.length, String(hash))
    },
    check(chain) {
      const hashes = chain.slice(START).map(({ hash }) => hash)
      if (path.join() !== hashes.join()) wrong.push(`the path ends at ${path.length + START - 1}, the chain at ${chain.length - 1}`)
    },
  }
}

function logSubscriber(): Subscriber {
  const has = new Map<string, number>()
  const wrong: string[] = []
  const keyOf = ({ blockHash, logIndex }: Notification) => `${blockHash}:${logIndex}`
  return {
    wrong,
    deliver(result) {
      const log = result as Notification
      const key = keyOf(log)
      const number = Number(log.blockNumber)
      if (log.removed !== has.has(key)) wrong.push(`a log of block ${number} was ${log.removed ? 'removed, but had not come' : 'delivered twice'}`)
      if (log.removed) has.delete(key)
      else has.set(key, number)
    },
    check(chain) {
      const keys = new Set(chain.slice(START + 1).flatMap((block) => logsOf(block).map(keyOf)))
      const missing = [...keys].filter((key) => !has.has(key)).length
      const extra = [...has].filter(([key]) => !keys.has(key)).map(([, number]) => number)
      if (missing + extra.length > 0) wrong.push(`${missing} logs are missing, and of blocks ${extra} some were not removed`)
    },
  }
}

/**
 * Some minutes of a subscription at a URL with several nodes, each of them a little late. The
 * chain grows and is reorganised, requests fail, the socket is lost and opened again at another
 * node. At the end, all is well for a minute.
 */
async function live(kind: 'heads' | 'logs', seed: number): Promise<{ wrong: string[]; errors: unknown[] }> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <V>(...values: [V, ...V[]]) => values[below(values.length)] as V
  const chain = new ForkingChain(START)
  const views: View[] = [[...chain.blocks]]
  /** Of each node, the view that it has. */
  const at = Array.from({ length: 1 + below(3) }, () => 0)
  const blockMs = oneOf(250, 2_000, 12_000)
  const failing = oneOf(0, 0, 0.05, 0.3)
  const mostLateMs = oneOf(0, 300, 900)
  let isCalm = false

  const answers = at.map((_, which) => chain.node({ chain: () => views[at[which] as number] as View }))
  const server = await serve(async (request, response) => {
    await sleep(below(oneOf(5, 50, 400)))
    if (!isCalm && random() < failing) return void (random() < 0.5 ? response.writeHead(500).end('oops') : request.socket.destroy())
    await answers[below(answers.length)]?.(request, response)
  })
  const client = clientOf(server.url, { retry: { attempts: oneOf(1, 3) } })
  const subscriber = kind === 'heads' ? headSubscriber(chain.blocks[START] as ForkBlock) : logSubscriber()
  const errors: unknown[] = []
  const failed = (error: unknown) => errors.push(error)
  const backfill = kind === 'heads' ? new HeadBackfill(client, subscriber.deliver, failed) : new LogBackfill(client, {}, subscriber.deliver, failed)
  for (;;)
    try {
      await backfill.start()
      break
    } catch {}

  /** The node that has the subscription, and what it has told. */
  let socket: { node: number; told: View } | undefined = { node: 0, told: views.at(-1) as View }
  const move = (node: number, view: number) => {
    at[node] = Math.max(at[node] as number, view)
    if (socket?.node !== node) return
    const next = views[at[node] as number] as View
    for (const each of notifications(kind, socket.told, next)) backfill.notified(each)
    socket.told = next
  }
  const connect = () => {
    const node = below(at.length)
    socket = { node, told: views[at[node] as number] as View }
    void backfill.fill()
  }
  const grow = () => {
    views.push([...chain.blocks])
    const view = views.length - 1
    for (const node of at.keys()) void sleep(below(mostLateMs + 1)).then(() => move(node, view))
  }

  for (let changes = 10 + below(30); changes > 0; changes--) {
    await sleep(below(2 * blockMs))
    const depth = Math.min(1 + below(oneOf(2, 8)), chain.head - START)
    const roll = random()
    if (roll < 0.55 || depth === 0) chain.mine(1 + below(oneOf(1, 3)))
    else if (roll < 0.75) chain.reorganise(depth, depth + below(3))
    else if (roll < 0.88) socket = undefined
    else connect()
    grow()
  }
  isCalm = true
  if (socket === undefined || random() < 0.5) connect()
  for (let blocks = 0; blocks < 4; blocks++) {
    chain.mine(1)
    grow()
    await sleep(20_000)
  }
  subscriber.check(chain.blocks)
  backfill.stop()
  await client.close()
  return { wrong: subscriber.wrong, errors }
}

// Loading it takes real time, in which virtual time would go on.
beforeAll(() => HeaderHashes.load(1))

test.each(seeds(100, 2_000))('logs: history %i', async (seed) => {
  const { wrong } = await live('logs', seed)
  expect(wrong).toEqual([])
})

test.each(seeds(100, 2_000))('heads: history %i', async (seed) => {
  const { wrong } = await live('heads', seed)
  expect(wrong).toEqual([])
})

/** A back-fill of logs, and the logs that its subscriber has. */
async function logBackfill(chain: ForkingChain, answer?: (entry: Entry) => object | undefined) {
  const server = await serve(chain.node(answer === undefined ? {} : { answer }))
  const has: Notification[] = []
  const errors: unknown[] = []
  const backfill = new LogBackfill(
    clientOf(server.url),
    {},
    (log) => has.push(log as Notification),
    (error) => errors.push(error),
  )
  await backfill.start()
  return { backfill, has, errors }
}

test('logs of a chain that has become much shorter are fetched from its end on', async () => {
  const chain = new ForkingChain(START)
  const { backfill, has } = await logBackfill(chain)
  chain.mine(200)
  await backfill.fill()
  chain.reorganise(180, 0)
  await backfill.fill()
  const { length } = has
  const { head } = chain
  chain.mine(30)
  await backfill.fill()
  expect(has.slice(length)).toEqual(chain.blocks.slice(head + 1).flatMap(logsOf))
})

test('logs come although the node numbers them in another way in its notifications', async () => {
  const chain = new ForkingChain(START, () => 1)
  const { backfill, has, errors } = await logBackfill(chain)
  chain.mine(3)
  for (const block of chain.blocks.slice(-3)) for (const log of logsOf(block)) backfill.notified({ ...log, logIndex: hex(Number(log.logIndex) + 7) })
  chain.mine(4)
  await backfill.fill()
  expect(has.slice(-chain.blocks.slice(-4).flatMap(logsOf).length)).toEqual(chain.blocks.slice(-4).flatMap(logsOf))
  expect(errors).toEqual([])
})

test('logs come at last although the node never has some that it notified', async () => {
  const chain = new ForkingChain(START)
  let hidden: ForkBlock | undefined
  const { backfill, has } = await logBackfill(chain, ({ id, method, params }) => {
    if (method !== 'eth_getLogs') return undefined
    const { fromBlock, toBlock } = params[0] as Record<string, string>
    const blocks = chain.blocks.slice(Number(fromBlock), Number(toBlock) + 1)
    return { jsonrpc: '2.0', id, result: blocks.filter((block) => block !== hidden).flatMap(logsOf) }
  })
  chain.mine(8)
  hidden = chain.blocks.findLast(({ logs }) => logs > 0) as ForkBlock
  const told = logsOf(hidden)
  for (const log of told) backfill.notified(log)
  await backfill.fill()
  await sleep(120_000)
  expect(backfill.isSettled).toBe(true)
  expect(has).toHaveLength(chain.blocks.slice(START + 1).flatMap(logsOf).length)
})
