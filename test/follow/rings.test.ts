import { expect, it } from 'vitest'
import { createClientOn } from '../../src/client/create-client.ts'
import { backoffOf, clockOf, connectionsOf, deadlineOf, limitsOf, napOf, timeoutOf, withInternals } from '../../src/client/internals.ts'
import type { Listen } from '../../src/client/subscribe.ts'
import { type Client, type Post, replyOf } from '../../src/index.ts'
import { type FollowProgress, follow } from '../../src/index-bulk.ts'
import { CONTRACT, type ForkBlock, ForkingChain, headerOf } from '../support/forking-chain.ts'
import { randomFrom } from '../support/random.ts'
import { Replay } from '../support/replay.ts'
import { seeds } from '../support/runs.ts'
import type { Entry } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

const TEN_MINUTES = 600_000

/** The same client with a subscription to new heads that the test tells of them. */
function withBell(client: Client, listen: Listen): Client {
  return withInternals(
    { ...client },
    {
      connections: connectionsOf(client) ?? [],
      clock: clockOf(client),
      limits: () => limitsOf(client),
      timeoutMs: timeoutOf(client),
      deadlineMs: deadlineOf(client),
      listen,
      backoff: backoffOf(client),
      paceBy: () => {},
      nap: napOf(client),
    },
  )
}

it.each(seeds(2, 200))(
  'seed %i: ten minutes with two replicas that lag, and heads told late, twice, wrongly or not at all: the stream is the chain',
  async (seed) => {
    const random = randomFrom(seed)
    const below = (most: number) => Math.floor(random() * most)
    const chain = new ForkingChain(20 + below(60))
    /** The chain as it was, newest last, and how far each replica is behind. */
    const past: (readonly ForkBlock[])[] = [[...chain.blocks]]
    const behind = [0, 0]
    const replicas = await Promise.all(
      behind.map(async (_, which) => {
        const right = chain.node({ chain: () => past.at(-1 - Math.min(behind[which] as number, past.length - 1)) as readonly ForkBlock[] })
        return serve((request, response) => (random() < 0.02 ? void response.writeHead(502).end('bad gateway') : right(request, response)))
      }),
    )
    let told: Parameters<Listen>[1] | undefined
    const urls = replicas.map(({ url }) => url) as [string, string]
    const client = withBell(clientOf(urls), (_, subscriber) => {
      told = subscriber
      subscriber.started()
      return () => {
        told = undefined
      }
    })
    const tell = (block: ForkBlock | undefined) => block && told?.notified(headerOf(block), 1)
    const announce = () => {
      const head = chain.blocks.at(-1) as ForkBlock
      const kind = random()
      if (kind < 0.3) return
      if (kind < 0.4) tell(chain.blocks.at(-1 - below(5)))
      else if (kind < 0.5) tell({ ...head, number: head.number + below(3), hash: `0x${String(below(1e9)).padStart(64, 'e')}` })
      else if (kind < 0.6) void sleep(below(20_000)).then(() => tell(head))
      else tell(head)
      if (kind > 0.9) tell(head)
      if (random() < 0.05) told?.gap()
    }
    let isOver = false
    const change = () => {
      if (random() < 0.7) chain.mine(1 + below(2))
      else chain.reorganise(1 + below(Math.min(8, chain.head)), below(10))
      past.push([...chain.blocks])
      for (const which of behind.keys()) if (random() < 0.3) behind[which] = below(4)
      announce()
    }
    const replay = new Replay(below(chain.head))
    void (async () => {
      const end = clock.now() + TEN_MINUTES
      while (clock.now() < end) {
        await sleep(below(24_000))
        change()
      }
      behind.fill(0)
      // A chain that ends below the first block of the stream contradicts nothing.
      chain.mine(Math.max(1, replay.from - chain.head))
      past.push([...chain.blocks])
      isOver = true
    })()
    for await (const item of follow(client, { from: replay.from, logs: { address: CONTRACT }, receipts: random() < 0.3 })) {
      replay.apply(item)
      if (random() < 0.05) await sleep(below(30_000))
      if (isOver && replay.hashes.at(-1) === chain.hashes.at(-1)) break
    }
    expect(replay.hashes).toEqual(chain.hashes.slice(replay.from))
    expect(replay.logs.map(({ length }) => length)).toEqual(chain.blocks.slice(replay.from).map(({ logs }) => logs))
  },
)

/** The same client with a bell for each stream, and what announces the newest block to all. */
function announcing(client: Client, chain: ForkingChain) {
  const subscribers: Parameters<Listen>[1][] = []
  const listen: Listen = (_, subscriber) => {
    subscribers.push(subscriber)
    subscriber.started()
    return () => {}
  }
  const tell = () => {
    for (const each of subscribers) each.notified(headerOf(chain.blocks.at(-1) as ForkBlock), 1)
  }
  return { client: withBell(client, listen), tell }
}

it.each([
  ['one call', {}, ['eth_getBlockByNumber']],
  ['one POST with its receipts', { receipts: true }, ['eth_getBlockByNumber', 'eth_getBlockReceipts']],
])('a block that is announced costs %s, and a reorganisation what it takes to trace it', async (_, options, methods) => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const { client, tell } = announcing(clientOf(server.url), chain)
  const failures: unknown[] = []
  const stream = follow(client, { from: BigInt(chain.head), ...options, onProgress: ({ failure }) => void (failure && failures.push(failure)) })
  const next = async () => (await stream.next()).value
  await next()
  for (let i = 0; i < 3; i++) {
    const item = next()
    await sleep(1000)
    const before = server.requests.length
    chain.mine(1)
    tell()
    expect(await item).toMatchObject({ type: 'block', block: { hash: chain.hashes.at(-1) } })
    const posts = server.requests.slice(before).map(({ entries }) => entries.map(({ method }) => method))
    expect(posts).toEqual([methods])
  }
  const item = next()
  await sleep(1000)
  const before = server.requests.length
  chain.reorganise(1, 2)
  tell()
  expect(await item).toMatchObject({ type: 'rollback', to: BigInt(chain.head - 2) })
  // The block that was announced; then where the held ones are.
  const posts = server.requests.slice(before).map(({ entries }) => entries.map(({ method }) => method))
  expect(posts[0]).toEqual(methods)
  expect(posts.length).toBeLessThanOrEqual(3)
  for (const hash of chain.hashes.slice(-2)) expect(await next()).toMatchObject({ type: 'block', block: { hash } })
  expect(failures).toEqual([])
  await stream.return()
})

it('a block that is announced is requested in the moment in which it is, and told like any other', async () => {
  const chain = new ForkingChain(20)
  const asked: unknown[] = []
  const post: Post = async (calls) => {
    asked.push(...calls.map(({ method, params }) => [method, params[0]]))
    return calls.map(({ method, params, as }) => {
      const { result } = chain.reply({ id: 1, method, params }) as { result: unknown }
      return replyOf(as === 'bytes' ? Buffer.from(JSON.stringify(result)) : result, 100)
    })
  }
  const { client, tell } = announcing(createClientOn(clock, post), chain)
  const progress: unknown[] = []
  const onProgress = ({ number, head, blocks }: FollowProgress) => void progress.push([number, head, blocks])
  const streams = [follow(client, { from: BigInt(chain.head), onProgress }), follow(client, { from: BigInt(chain.head) })]
  await Promise.all(streams.map((stream) => stream.next()))
  const items = streams.map((stream) => stream.next())
  await sleep(1000)
  asked.length = 0
  chain.mine(1)
  tell()
  await null
  // Both streams share the call.
  expect(asked).toEqual([['eth_getBlockByNumber', `0x${chain.head.toString(16)}`]])
  for (const item of items) expect((await item).value).toMatchObject({ type: 'block', block: { hash: chain.hashes.at(-1) } })
  void streams[0]?.next().catch(() => {})
  await sleep(1)
  const head = BigInt(chain.head)
  expect(progress.at(-1)).toEqual([head, head, 2])
})

it('a block that is announced with another parent than the node has in its place is a contradiction', async () => {
  const chain = new ForkingChain(20)
  let isWrong = false
  const server = await serve(
    chain.node({
      answer(entry) {
        if (!isWrong || entry.method !== 'eth_getBlockByNumber' || Number(entry.params[0]) !== chain.head) return undefined
        const reply = chain.reply(entry) as { result: object }
        return { ...reply, result: { ...reply.result, parentHash: `0x${'77'.repeat(32)}` } }
      },
    }),
  )
  const { client, tell } = announcing(clientOf(server.url), chain)
  const failures: unknown[] = []
  const stream = follow(client, { from: BigInt(chain.head), onProgress: ({ failure }) => void (failure && failures.push(failure.message)) })
  await stream.next()
  const item = stream.next()
  await sleep(1000)
  isWrong = true
  chain.mine(1)
  tell()
  const announced = clock.now()
  while (failures.length === 0) await sleep(10)
  // Without a look at the head in between.
  expect(clock.now() - announced).toBeLessThan(50)
  expect(failures[0]).toBe(`block ${chain.head} is not a child of block ${chain.head - 1} as the node has it`)
  isWrong = false
  expect((await item).value).toMatchObject({ type: 'block', block: { hash: chain.hashes.at(-1) } })
  await stream.return()
})

it('a block that is announced and cannot be had is told as a failure, and asked for again', async () => {
  const chain = new ForkingChain(20)
  let isBroken = false
  const right = chain.node()
  const server = await serve((request, response) => (isBroken ? void response.writeHead(502).end('bad gateway') : right(request, response)))
  const { client, tell } = announcing(clientOf(server.url), chain)
  const failures: unknown[] = []
  const stream = follow(client, { from: BigInt(chain.head), onProgress: ({ failure }) => void (failure && failures.push(failure.kind)) })
  await stream.next()
  const item = stream.next()
  await sleep(1000)
  isBroken = true
  chain.mine(1)
  tell()
  while (failures.length === 0) await sleep(100)
  isBroken = false
  expect((await item).value).toMatchObject({ type: 'block', block: { hash: chain.hashes.at(-1) } })
  expect(new Set(failures)).toEqual(new Set(['server']))
  await stream.return()
})

it('heads that are announced in a burst, while the node is wrong for a moment, do not end the stream', async () => {
  const chain = new ForkingChain(20)
  let isWrong = false
  const answer = ({ id, method, params }: Entry) =>
    isWrong && method === 'eth_getBlockByNumber' && Number(params[0]) > 20 ? { jsonrpc: '2.0', id, result: {} } : undefined
  const server = await serve(chain.node({ answer }))
  let told: Parameters<Listen>[1] | undefined
  const client = withBell(clientOf(server.url), (_, subscriber) => {
    told = subscriber
    subscriber.started()
    return () => {}
  })
  const replay = new Replay(10)
  for await (const item of follow(client, { from: 10 })) {
    replay.apply(item)
    if (chain.head > 20) break
    if (replay.next <= chain.head) continue
    chain.mine()
    isWrong = true
    void (async () => {
      for (let i = 0; i < 100; i++) {
        told?.notified(headerOf(chain.blocks[21] as ForkBlock), 1)
        await sleep(50)
      }
      isWrong = false
    })()
  }
  expect(replay.hashes).toEqual(chain.hashes.slice(10))
})
