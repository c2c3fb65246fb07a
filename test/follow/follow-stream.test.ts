import { describe, expect, it } from 'vitest'
import { linkedFields } from '../../src/bulk/link.ts'
import { parseResult } from '../../src/eth/codec/reader.ts'
import { checkFollowOptions } from '../../src/follow/follow.ts'
import { followStream } from '../../src/follow/follow-stream.ts'
import { type CallSettings, type Client, NetworkError } from '../../src/index.ts'
import { type FollowCursor, type FollowOptions, type FollowProgress, follow } from '../../src/index-bulk.ts'
import { CONTRACT, type ForkBlock, ForkingChain, headerOf, type NodeFaults } from '../support/forking-chain.ts'
import { randomFrom } from '../support/random.ts'
import { Replay } from '../support/replay.ts'
import { seeds } from '../support/runs.ts'
import { type Answer, type Entry, errorOf, failed } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

/** Follows until the replay has the chain as it is then. `between` is called after each item. */
async function followTo(
  chain: ForkingChain,
  client: Client,
  replay: Replay,
  options: FollowOptions,
  between: (replay: Replay) => unknown = () => {},
): Promise<void> {
  for await (const item of follow(client, options)) {
    replay.apply(item)
    if ((await between(replay)) === 'stop') return
    if (replay.hashes.at(-1) === chain.hashes.at(-1)) return
  }
}

/** The replay has the chain, and the logs of its blocks. */
function expectChain(replay: Replay, chain: ForkingChain, withLogs = true): void {
  expect(replay.hashes).toEqual(chain.hashes.slice(replay.from))
  if (withLogs) expect(replay.logs.map(({ length }) => length)).toEqual(chain.blocks.slice(replay.from).map(({ logs }) => logs))
}

const logs = { address: CONTRACT }

/** The waits of real clients. */
const slowly = { retry: { baseDelayMs: 150, maxDelayMs: 10_000 } }

/** A node whose replies take a while, as real ones do. */
function late(node: Answer): Answer {
  return async (post, response) => {
    await sleep(20)
    return node(post, response)
  }
}

describe('reorganisations at random moments', () => {
  it.each(seeds(6, 300))('seed %i: the stream replayed is the chain', async (seed) => {
    const random = randomFrom(seed)
    const below = (most: number) => Math.floor(random() * most)
    const chain = new ForkingChain(30 + below(400))
    const server = await serve(chain.node())
    const client = clientOf(server.url)
    const replay = new Replay(below(chain.head))
    let changes = 10
    let done = false
    const change = () => {
      if (changes === 0) return
      changes--
      if (random() < 0.3) chain.mine(1 + below(3))
      else chain.reorganise(1 + below(Math.min(30, chain.head)), below(40))
    }
    // Also while nothing is delivered, and in the middle of requests.
    void (async () => {
      while (changes > 0) {
        await sleep(below(3000))
        change()
      }
      // A chain that ends below the first block of the stream contradicts nothing.
      chain.mine(Math.max(1, replay.from - chain.head))
      done = true
    })()
    const withReceipts = random() < 0.3
    const stream = follow(client, { from: replay.from, logs, receipts: withReceipts })
    for await (const item of stream) {
      replay.apply(item)
      if (random() < 0.02) change()
      if (random() < 0.02) await sleep(below(2000))
      if (done && replay.hashes.at(-1) === chain.hashes.at(-1)) break
    }
    expectChain(replay, chain)
  })
})

it('goes on from the cursor of each item, with neither a gap nor a block that comes twice', async () => {
  const chain = new ForkingChain(40)
  const server = await serve(chain.node())
  const replay = new Replay(20)
  let cursor: FollowCursor | undefined
  let turns = 0
  while (replay.hashes.at(-1) !== chain.hashes.at(-1) || turns < 62) {
    await using client = clientOf(server.url)
    // One item for each stream, as if the process ended after each.
    for await (const item of follow(client, { from: cursor ?? 20, logs })) {
      replay.apply(item)
      cursor = JSON.parse(JSON.stringify(item.cursor))
      break
    }
    if (++turns % 5 === 0 && turns <= 60) chain.reorganise(1 + (turns % 7))
    else if (turns <= 60 && replay.hashes.at(-1) === chain.hashes.at(-1)) chain.mine()
    if (turns > 300) throw new Error('it does not arrive')
  }
  expectChain(replay, chain)
  expect(replay.rollbacks).toBeGreaterThan(5)
})

it('rolls back below the first block of the stream, and begins with it again', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const replay = new Replay(15)
  await followTo(chain, clientOf(server.url), replay, { from: 15 }, ({ next }) => {
    if (next === 19 && replay.rollbacks === 0) chain.reorganise(10, 12)
  })
  expectChain(replay, chain, false)
  expect(replay).toMatchObject({ rollbacks: 1, depth: 6 })
})

describe('a reorganisation deeper than the hashes that are held', () => {
  /** The node does not know replaced blocks for this long. */
  const deep = async (ms: number) => {
    const chain = new ForkingChain(700)
    let replacedAt = Number.POSITIVE_INFINITY
    const answer = ({ id, method }: Entry) =>
      method === 'eth_getBlockByHash' && clock.now() < replacedAt + ms ? { jsonrpc: '2.0', id, result: null } : undefined
    const server = await serve(chain.node({ answer }))
    const replay = new Replay(1)
    await followTo(chain, clientOf(server.url), replay, { from: 1 }, ({ next }) => {
      if (next !== 701 || replay.rollbacks > 0) return
      chain.reorganise(500)
      replacedAt = clock.now()
    })
    return { chain, replay }
  }

  it.each([0, 1_000])('is traced by asking for the replaced blocks by hash, as soon as the node knows them: after %i ms', async (ms) => {
    const { chain, replay } = await deep(ms)
    expectChain(replay, chain, false)
    expect(replay).toMatchObject({ rollbacks: 1, depth: 500 })
  })

  it('ends the stream where the node has forgotten them', async () => {
    const start = clock.now()
    const { message, name } = await errorOf(deep(Number.POSITIVE_INFINITY))
    expect(clock.now() - start).toBeLessThan(4_000)
    expect(name).toBe('IntegrityError')
    expect(message).toMatch(
      /^none of the \d{3} blocks that were delivered last is part of the node's chain any more, and it does not know block \d+ as 0x\w{64}, to find out where/,
    )
  })
})

it('a node that lags, and one that goes back, cause no rollback', async () => {
  const chain = new ForkingChain(50)
  let turn = 0
  // By turns: as it is, behind, far behind.
  const lagging = () => chain.blocks.slice(0, chain.blocks.length - ([0, 3, 20][turn++ % 3] as number))
  const server = await serve(chain.node({ chain: lagging }))
  const other = await serve(chain.node())
  const replay = new Replay(30)
  await followTo(chain, clientOf([server.url, other.url]), replay, { from: 30, logs }, async () => {
    if (chain.head < 120 && replay.hashes.at(-1) === chain.hashes.at(-1)) {
      chain.mine(1 + (chain.head % 2))
      await sleep(3000)
    }
  })
  expectChain(replay, chain)
  expect(chain.head).toBeGreaterThanOrEqual(120)
  expect(replay.rollbacks).toBe(0)
})

/** Mines a block each second. The signal is aborted when the last one is two seconds old. */
function mined(chain: ForkingChain, blocks: number, onBlock: (mined: number) => void): AbortSignal {
  const stop = new AbortController()
  void (async () => {
    for (let i = 1; i <= blocks; i++) {
      await sleep(1000)
      chain.mine()
      onBlock(i)
    }
    await sleep(2000)
    stop.abort()
  })()
  return stop.signal
}

it.each([
  { liar: 'first', by: 1_000_000, only: { logs } },
  { liar: 'last', by: 1_000_000, only: { logs } },
  { liar: 'last', by: 1_000, only: { logs } },
  { liar: 'first', by: 1_000_000, only: {} },
  { liar: 'last', by: 1_000_000, only: {} },
  { liar: 'last', by: 1_000, only: {} },
])(
  'an endpoint that tells of $by blocks that do not exist, the $liar one of three: the blocks of the others come, without a flood of calls: $only',
  async ({ liar, by, only }) => {
    const chain = new ForkingChain(1000)
    const falseHead = ({ id, method, params }: Entry) => {
      const number = chain.head + by
      const block = { number, hash: `0x${'fe'.repeat(32)}`, parentHash: `0x${'fd'.repeat(32)}`, logs: 0 } as const
      if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: `0x${number.toString(16)}` }
      return params[0] === 'latest' ? { jsonrpc: '2.0', id, result: headerOf(block) } : undefined
    }
    const servers = await Promise.all([chain.node(), chain.node(), chain.node({ answer: falseHead })].map((node) => serve(late(node))))
    const urls = servers.map(({ url }) => url)
    if (liar === 'first') urls.reverse()
    const count = () => servers.reduce((sum, { requests }) => sum + requests.reduce((calls, { entries }) => calls + entries.length, 0), 0)
    let settled = 0
    const signal = mined(chain, 60, (blocks) => {
      if (blocks === 41) settled = count()
    })
    const replay = new Replay(900)
    const all = async () => {
      for await (const item of follow(clientOf(urls as [string], slowly), { from: 900, signal, ...only })) replay.apply(item)
    }
    await errorOf(all())
    expect(replay.hashes.length).toBeGreaterThan(155)
    // Twenty blocks at the head.
    expect(count() - settled).toBeLessThan(500)
  },
)

it('a head that is false once, and far too high: blocks that do not exist are requested for a few seconds only', async () => {
  const chain = new ForkingChain(1000)
  const server = await serve(late(nodeWithHeads(chain, [1_000_000])))
  const count = () => server.requests.reduce((calls, { entries }) => calls + entries.length, 0)
  let settled = 0
  const signal = mined(chain, 30, (blocks) => {
    if (blocks === 11) settled = count()
  })
  const replay = new Replay(900)
  const all = async () => {
    for await (const item of follow(clientOf(server.url, slowly), { from: 900, signal })) replay.apply(item)
  }
  await errorOf(all())
  expectChain(replay, chain, false)
  expect(count() - settled).toBeLessThan(300)
})

it('what onProgress throws ends the stream, also in the moment in which a head turns out to be false', async () => {
  const chain = new ForkingChain(1000)
  const server = await serve(nodeWithHeads(chain, [1_000_000]))
  const onProgress = () => {
    throw new Error('no room')
  }
  let items = 0
  const all = async () => {
    for await (const _ of follow(clientOf(server.url), { from: 0, onProgress })) {
      items++
      // A look at the head comes in the meantime.
      await sleep(6000)
    }
  }
  expect((await errorOf(all())).message).toBe('no room')
  expect(items).toBe(1)
})

it('a catch-up that has ended leaves no look at the head behind', async () => {
  const chain = new ForkingChain(1000)
  let looks = 0
  let isGivenUp = false
  const node = late(chain.node())
  const server = await serve(async (post, response) => {
    if (!post.entries.some(({ params }) => params[0] === 'latest') || ++looks === 1) return node(post, response)
    await post.hungUp
    isGivenUp = true
  })
  for await (const { type } of follow(clientOf(server.url), { from: 0 })) {
    expect(type).toBe('block')
    await sleep(6000)
    if (looks > 1) break
  }
  await sleep(100)
  expect(isGivenUp).toBe(true)
})

it('a consumer that leaves near the head leaves no calls for logs behind', async () => {
  const chain = new ForkingChain(120)
  const node = chain.node()
  let [sent, open] = [0, 0]
  const server = await serve(async (post, response) => {
    const { method, params } = post.entries[0] as Entry
    if (method !== 'eth_getLogs' || (params[0] as { blockHash: string }).blockHash === chain.hashes[10]) return node(post, response)
    sent++
    open++
    await post.hungUp
    open--
  })
  for await (const item of follow(clientOf(server.url, { batch: false }), { from: 10, logs })) {
    expect(item).toMatchObject({ type: 'block', block: { number: 10n } })
    await sleep(1000)
    expect(open).toBeGreaterThan(0)
    break
  }
  await sleep(100)
  const sentAtTheEnd = sent
  expect(open).toBe(0)
  await sleep(60_000)
  expect(sent).toBe(sentAtTheEnd)
})

it('a shorter chain is a reorganisation once a hash at the same height differs', async () => {
  const chain = new ForkingChain(50)
  const server = await serve(chain.node())
  const replay = new Replay(40)
  await followTo(chain, clientOf(server.url), replay, { from: 40 }, ({ next, rollbacks }) => {
    // Without a block at a height that was delivered, and then with one.
    if (next === 51 && rollbacks === 0 && chain.head === 50) {
      chain.reorganise(5, 0)
      void sleep(60_000).then(() => chain.mine(1))
    }
  })
  expectChain(replay, chain, false)
  expect(chain.head).toBe(46)
  expect(replay).toMatchObject({ rollbacks: 1, depth: 5 })
})

describe('confirmations', () => {
  it('holds back this many blocks, and delivers no reorganisation above them', async () => {
    const chain = new ForkingChain(50)
    const server = await serve(chain.node())
    const replay = new Replay(0)
    for await (const item of follow(clientOf(server.url), { from: 0, confirmations: 5, logs })) {
      replay.apply(item)
      expect(replay.next - 1).toBeLessThanOrEqual(chain.head - 5)
      if (replay.next - 1 < chain.head - 5) continue
      if (chain.head > 90) break
      chain.reorganise(1 + (chain.head % 5), 7)
    }
    expect(replay.rollbacks).toBe(0)
    expect(replay.hashes).toEqual(chain.hashes.slice(0, -5))
  })

  it('delivers a deeper one all the same', async () => {
    const chain = new ForkingChain(50)
    const server = await serve(chain.node())
    const replay = new Replay(0)
    for await (const item of follow(clientOf(server.url), { from: 0, confirmations: 5 })) {
      replay.apply(item)
      if (replay.next === 46 && replay.rollbacks === 0) chain.reorganise(9, 12)
      if (replay.next === 49) break
    }
    expect(replay).toMatchObject({ rollbacks: 1, depth: 4 })
    expect(replay.hashes).toEqual(chain.hashes.slice(0, 49))
  })

  it.each([
    { tag: 'safe', behind: 2 },
    { tag: 'finalized', behind: 4 },
  ] as const)('$tag: ends at what the node calls so', async ({ tag, behind }) => {
    const chain = new ForkingChain(20)
    const server = await serve(chain.node())
    const replay = new Replay(5)
    for await (const item of follow(clientOf(server.url), { from: 5, confirmations: tag })) {
      replay.apply(item)
      expect(replay.next - 1).toBeLessThanOrEqual(chain.head - behind)
      if (replay.next - 1 === chain.head - behind) {
        if (chain.head === 23) break
        chain.mine()
      }
    }
    expect(replay.next).toBe(24 - behind)
  })

  it('waits for the first block that is deep enough, on a chain that is young', async () => {
    const chain = new ForkingChain(2)
    const server = await serve(chain.node())
    void sleep(5000).then(() => chain.mine(3))
    for await (const item of follow(clientOf(server.url), { from: 'latest', confirmations: 5 })) {
      expect(item).toMatchObject({ type: 'block', block: { number: 0n } })
      break
    }
    expect(chain.head).toBe(5)
  })
})

it('tells once that it waits for the first block, and each failure meanwhile', async () => {
  const chain = new ForkingChain(2)
  let refusals = 0
  const server = await serve(chain.node())
  const right = chain.node()
  const client = clientOf(server.url, { retry: { attempts: 1 } })
  const seen: FollowProgress[] = []
  const onProgress = (progress: FollowProgress) => {
    if (seen.push(progress) === 1)
      server.script((request, response) => (refusals++ < 2 ? void response.writeHead(502).end('bad gateway') : right(request, response)))
    if (refusals > 1) chain.mine(9)
  }
  for await (const item of follow(client, { from: 'latest', confirmations: 'finalized', onProgress })) {
    expect(item).toMatchObject({ block: { number: BigInt(chain.head - 4) } })
    break
  }
  const nothing = { number: undefined, head: undefined, blocks: 0, rollbacks: 0 }
  expect(seen.slice(0, 3)).toMatchObject([nothing, { ...nothing, failure: { kind: 'server' } }, { ...nothing, failure: { kind: 'server' } }])
  expect(seen[0]).not.toHaveProperty('failure')
})

it("from 'latest': begins with the newest block", async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  for await (const item of follow(clientOf(server.url), { from: 'latest' })) {
    expect(item).toMatchObject({ type: 'block', block: { number: 20n }, cursor: { from: 20, number: 20, hashes: [chain.hashes[20]] } })
    break
  }
})

it.each<[string, FollowOptions['confirmations'], NodeFaults]>([
  ['the node tells of a final one', 'finalized', { tag: () => -1 }],
  ['the node has any', 0, { tag: () => -1 }],
  ['enough blocks follow one', 25, {}],
])("from 'latest', before any block may be delivered: begins when %s", async (_, confirmations = 0, faults) => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node(faults))
  void sleep(30_000).then(() => {
    chain.mine(10)
    server.script((_post, response) => void response.writeHead(502).end('bad gateway'))
  })
  void sleep(60_000).then(() => server.script(chain.node()))
  for await (const item of follow(clientOf(server.url), { from: 'latest', confirmations })) {
    expect(item).toMatchObject({ block: { number: { finalized: 26n, 0: 30n, 25: 5n }[confirmations as 0] } })
    break
  }
})

/** A node of this chain that gives these heads for its first looks, and then its own. */
function nodeWithHeads(chain: ForkingChain, heads: readonly number[]) {
  let looks = 0
  return chain.node({
    answer(entry) {
      const head = entry.params[0] === 'latest' ? heads[looks++] : undefined
      if (head === undefined) return undefined
      const block = chain.blocks[head] ?? { number: head, hash: `0x${'fe'.repeat(32)}`, parentHash: `0x${'fd'.repeat(32)}`, logs: 0 }
      return { jsonrpc: '2.0', id: entry.id, result: headerOf(block) }
    },
  })
}

it('a node that has lost its blocks is told, once, until it has them again', async () => {
  const chain = new ForkingChain(300)
  let blocks = () => chain.blocks
  const server = await serve(chain.node({ chain: () => blocks() }))
  const failures: (string | undefined)[] = []
  const onProgress = ({ failure }: FollowProgress) => failures.push(failure?.message)
  const replay = new Replay(290)
  await followTo(chain, clientOf(server.url), replay, { from: 290, onProgress }, ({ next }) => {
    if (next !== 300) return
    const left = chain.blocks.slice(0, 4)
    blocks = () => left
    chain.mine()
    void sleep(600_000).then(() => {
      blocks = () => chain.blocks
    })
  })
  expect(failures.filter((each) => each !== undefined)).toEqual(['the node is at block 3, far behind block 300, the last one that it gave'])
  expectChain(replay, chain, false)
})

it("from 'latest', where the first head is false and far too high: begins with the newest block that the node has", async () => {
  const chain = new ForkingChain(1000)
  // The second look meets the same fault.
  const server = await serve(nodeWithHeads(chain, [1_000_000, 1_000_000]))
  const stop = new AbortController()
  void sleep(10_000).then(() => stop.abort(new Error('it waits for a block that will not come')))
  for await (const item of follow(clientOf(server.url), { from: 'latest', signal: stop.signal })) {
    expect(item).toMatchObject({ type: 'block', block: { number: 1000n }, cursor: { from: 1000, number: 1000, hashes: [chain.hashes[1000]] } })
    break
  }
})

it.each([
  ['goes back by a few blocks', [1002]],
  ['comes once from a node that is not synchronised', [1000, 0, 0]],
])("from 'latest', where the head %s: the start stays", async (_, heads) => {
  const chain = new ForkingChain(1000)
  const server = await serve(nodeWithHeads(chain, heads))
  void sleep(30_000).then(() => chain.mine(5))
  for await (const item of follow(clientOf(server.url), { from: 'latest' })) {
    expect(item).toMatchObject({ block: { number: BigInt(heads[0] as number) } })
    break
  }
})

it('from a number far above the head: waits for it', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  void sleep(30_000).then(() => chain.mine(500))
  for await (const item of follow(clientOf(server.url), { from: 500 })) {
    expect(item).toMatchObject({ block: { number: 500n } })
    break
  }
})

it('from a block that does not exist yet: waits for it', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  void sleep(30_000).then(() => chain.mine(5))
  for await (const item of follow(clientOf(server.url), { from: 25 })) {
    expect(item).toMatchObject({ block: { number: 25n } })
    break
  }
})

/** How long block 21 takes, in ms, if the reply to the first request for it is lost. */
async function msWithLostReply(options: FollowOptions, settings: CallSettings = {}): Promise<number> {
  const chain = new ForkingChain(20)
  const right = chain.node()
  let isLost = false
  const server = await serve((request, response) => {
    if (!isLost) right(request, response)
    isLost = false
  })
  let askedAt = 0
  await followTo(chain, clientOf(server.url).with(settings), new Replay(18), options, ({ next }) => {
    if (next === 21) {
      chain.mine()
      isLost = true
      askedAt = clock.now()
    }
    return next === 22 ? 'stop' : undefined
  })
  return clock.now() - askedAt
}

it.each([{}, { logs }, { receipts: true }])('a reply at the head that never comes, with %j: costs 10 s', async (wanted) => {
  const ms = await msWithLostReply({ from: 18, ...wanted })
  expect(ms).toBeGreaterThanOrEqual(10_000)
  expect(ms).toBeLessThan(12_000)
})

it('a shorter timeout of the client: is kept near the head', async () => {
  expect(await msWithLostReply({ from: 18 }, { timeoutMs: 1_000 })).toBeLessThan(3_000)
})

it('a node that takes 12 s for each reply: is given the time after one round of attempts', async () => {
  const chain = new ForkingChain(20)
  const right = chain.node()
  const server = await serve((request, response) => void sleep(12_000).then(() => right(request, response)))
  const failures: unknown[] = []
  const replay = new Replay(19)
  const onProgress = ({ failure }: FollowProgress) => failure && failures.push(failure.kind)
  await followTo(chain, clientOf(server.url, { deadlineMs: 600_000 }), replay, { from: 19, logs, onProgress }, ({ next }) => {
    if (next <= 23) chain.mine()
  })
  expectChain(replay, chain)
  expect(failures).toEqual(['timeout'])
})

it('a node that is down for a minute: asked a few times, and followed at bulk speed when it is back', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const client = clientOf(server.url, { retry: { attempts: 4 } })
  const replay = new Replay(0)
  const seen: FollowProgress[] = []
  let down: { from: number; posts: number; until: number } | undefined
  await followTo(chain, client, replay, { from: 0, logs, onProgress: (progress) => void seen.push(progress) }, ({ next }) => {
    if (next !== 21) return
    chain.mine(500)
    server.script((_, response) => void response.writeHead(502).end('bad gateway'))
    const posts = server.requests.length
    const from = clock.now()
    void sleep(60_000).then(() => {
      down = { from, posts: server.requests.length - posts, until: clock.now() }
      server.script(chain.node())
    })
  })
  expectChain(replay, chain)
  // Each attempt of a look with its retries; the waits between looks grow.
  expect(down?.posts).toBeGreaterThan(4)
  expect(down?.posts).toBeLessThan(60)
  expect(seen.find(({ failure }) => failure !== undefined)).toMatchObject({ number: 20n, failure: { kind: 'server' } })
})

it("a node whose 'latest' is always two blocks ahead of what it gives: each block comes soon after the node gives it", async () => {
  const chain = new ForkingChain(40)
  const given = () => chain.blocks.slice(0, -2)
  const server = await serve(chain.node({ chain: given, answer: (entry) => (entry.params[0] === 'latest' ? chain.reply(entry) : undefined) }))
  const end = 160
  void (async () => {
    while (chain.head < end + 2) {
      await sleep(1000)
      chain.mine()
    }
  })()
  let longest = 0
  let last: number | undefined
  await followTo(chain, clientOf(server.url), new Replay(30), { from: 30 }, ({ next }) => {
    if (last !== undefined) longest = Math.max(longest, clock.now() - last)
    last = clock.now()
    return next > end ? 'stop' : undefined
  })
  expect(longest).toBeLessThan(2500)
})

it('a consumer that stalls for a minute: no requests beyond what is read ahead, and no block is lost', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const replay = new Replay(0)
  let posts = 0
  await followTo(chain, clientOf(server.url), replay, { from: 0, logs }, async ({ next }) => {
    if (next !== 21) return
    const before = server.requests.length
    for (let i = 0; i < 60; i++) {
      chain.mine(5)
      if (i % 10 === 9) chain.reorganise(12)
      await sleep(1000)
    }
    posts = server.requests.length - before
  })
  expectChain(replay, chain)
  expect(posts).toBe(0)
})

it('logs that the node leaves out of a block are taken from its receipts, because of its bloom', async () => {
  const chain = new ForkingChain(20, () => 2)
  const server = await serve(chain.node({ answer: (entry) => (entry.method === 'eth_getLogs' ? { jsonrpc: '2.0', id: entry.id, result: [] } : undefined) }))
  const replay = new Replay(0)
  await followTo(chain, clientOf(server.url), replay, { from: 0, logs })
  expectChain(replay, chain)
})

it('ends with an error that waiting cannot mend', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const client = clientOf(server.url)
  const error = await errorOf(
    followTo(chain, client, new Replay(0), { from: 0 }, ({ next }) => {
      if (next !== 21) return
      chain.mine()
      server.script((_, response) => void response.writeHead(401).end('no'))
    }),
  )
  expect(error).toMatchObject({ kind: 'auth' })
})

it('ends when the node contradicts itself again and again', async () => {
  const chain = new ForkingChain(20)
  const odd = { ...(chain.blocks[20] as ForkBlock), parentHash: chain.hashes[3] as `0x${string}` }
  const server = await serve(chain.node({ chain: () => [...chain.blocks.slice(0, 20), odd] }))
  const error = await errorOf(followTo(chain, clientOf(server.url), new Replay(0), { from: 0 }))
  expect(error).toMatchObject({ name: 'IntegrityError', message: expect.stringMatching(/^block 20 (names|is not a child)/) })
})

it.each([
  ['a few times', 3],
  ['again and again', Number.POSITIVE_INFINITY],
])('what a node says in unknown words, %s', async (_, times) => {
  const chain = new ForkingChain(20)
  let said = 0
  const answer = (entry: Entry) => {
    if (entry.method !== 'eth_getBlockReceipts' || Number(entry.params[0]) < 20) return undefined
    return said++ < times ? failed(entry, -32000, 'receipts are being written') : undefined
  }
  const server = await serve(chain.node({ answer }))
  const replay = new Replay(0)
  const done = followTo(chain, clientOf(server.url), replay, { from: 0, logs, receipts: true })
  if (times === 3) {
    await done
    expectChain(replay, chain)
  } else expect(await errorOf(done)).toMatchObject({ name: 'RpcError', kind: 'execution', message: expect.stringContaining('receipts are being written') })
})

it.each([
  ['for five seconds', 5_000],
  ['for good', Number.POSITIVE_INFINITY],
])('a gateway that has lost its node %s', async (_, ms) => {
  const chain = new ForkingChain(20)
  const right = chain.node()
  let lostAt = Number.POSITIVE_INFINITY
  const server = await serve((request, response) => {
    if (clock.now() < lostAt || clock.now() >= lostAt + ms) return right(request, response)
    return void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no node</html>')
  })
  const replay = new Replay(0)
  const done = followTo(chain, clientOf(server.url), replay, { from: 0, logs }, ({ next }) => {
    if (next !== 21) return
    lostAt = clock.now()
    chain.mine()
  })
  if (ms === 5_000) {
    await done
    expectChain(replay, chain)
  } else {
    expect(await errorOf(done)).toMatchObject({ name: 'HttpError', status: 404 })
    expect(clock.now() - lostAt).toBeGreaterThan(15_000)
    expect(clock.now() - lostAt).toBeLessThan(60_000)
  }
})

it('the first call fails as any call does', async () => {
  const server = await serve((_, response) => void response.writeHead(502).end('no'))
  const error = await errorOf(followTo(new ForkingChain(0), clientOf(server.url), new Replay(0), { from: 0 }))
  expect(error).toMatchObject({ kind: 'server' })
})

describe('a cursor of another chain', () => {
  const cursorOf = async (chain: ForkingChain) => {
    const server = await serve(chain.node())
    for await (const { cursor } of follow(clientOf(server.url), { from: 3 })) return cursor
    throw new Error('no item')
  }

  it('is refused by its chain id, and by its block 0', async () => {
    const cursor = await cursorOf(new ForkingChain(9))
    const other = await serve(new ForkingChain(9, undefined, 'other').node())
    const client = clientOf(other.url)
    const next = (from: FollowCursor) => errorOf(follow(client, { from }).next())
    expect((await next({ ...cursor, chainId: 5 })).message).toBe("from: expected a cursor of the node's chain (chain id 1), received one of chain id 5")
    expect((await next(cursor)).message).toMatch(
      /^from: expected a cursor of the node's chain, which begins with 0x\w{64}, received one that begins with 0x\w{64}$/,
    )
    expect((await next({ ...cursor, genesis: null, from: 1 })).message).toMatch(
      /^block 3, which was delivered last, is not part of the node's chain any more, and it does not know/,
    )
  })

  it('a chain without block 0 or a chain id is not distinguished by them', async () => {
    const chain = new ForkingChain(9)
    const server = await serve(
      chain.node({
        answer: (entry) =>
          entry.params[0] === '0x0'
            ? failed(entry, 4444, 'pruned history unavailable')
            : entry.method === 'eth_chainId'
              ? failed(entry, -32601, 'the method eth_chainId does not exist')
              : undefined,
      }),
    )
    for await (const { cursor } of follow(clientOf(server.url), { from: 3 })) {
      expect(cursor).toEqual({ chainId: null, genesis: null, from: 3, number: 3, hashes: [chain.hashes[3]] })
      break
    }
  })
})

it('ends with the reason of the signal, also while it waits', async () => {
  const chain = new ForkingChain(9)
  const server = await serve(chain.node())
  const stop = new AbortController()
  const reason = new Error('enough')
  void sleep(5000).then(() => stop.abort(reason))
  expect(await errorOf(followTo(new ForkingChain(99), clientOf(server.url), new Replay(0), { from: 0, signal: stop.signal }))).toBe(reason)
})

it('ends with what its consumer throws into it, even if it is an error that is repeated elsewhere', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const failures: unknown[] = []
  const stream = follow(clientOf(server.url), { from: 3, onProgress: ({ failure }) => void (failure && failures.push(failure)) })
  await stream.next()
  const mine = new NetworkError('mine')
  expect(await errorOf(stream.throw(mine))).toBe(mine)
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  expect(failures).toEqual([])
})

it('ends with what is thrown while an item is made: its block must not be left out', async () => {
  const chain = new ForkingChain(20)
  const server = await serve(chain.node())
  const mine = new NetworkError('mine')
  const block = (bytes: Buffer) => ({ linked: linkedFields(parseResult(bytes)) })
  const reader = { blocks: { block, receipts: () => ({ linked: [] }), item: ({ linked }: ReturnType<typeof block>) => linked } }
  const job = checkFollowOptions({ from: 3 })
  const stream = followStream(clientOf(server.url), job, reader as never, () => {
    throw mine
  })
  expect(await errorOf(stream.next())).toMatchObject({ message: 'mine' })
})

it('ends when the client is closed, also while it waits', async () => {
  const chain = new ForkingChain(9)
  const server = await serve(chain.node())
  const client = clientOf(server.url)
  void sleep(5000).then(() => client.close())
  expect(await errorOf(followTo(new ForkingChain(99), client, new Replay(0), { from: 0 }))).toMatchObject({ kind: 'closed' })
})
