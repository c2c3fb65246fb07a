import { beforeAll, expect, test } from 'vitest'
import { HeaderHashes } from '../../src/bulk/logs/header-hashes.ts'
import { HELD } from '../../src/follow/held-chain.ts'
import { type FollowItem, type FollowLogs, type FollowOptions, follow } from '../../src/index-bulk.ts'
import { CONTRACT } from '../support/forking-chain.ts'
import { randomFrom } from '../support/random.ts'
import { Replay } from '../support/replay.ts'
import { seeds } from '../support/runs.ts'
import { UnrulyNodes } from '../support/unruly-nodes.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const world = virtualWorld()
const { clock, clientOf, sleep } = world

/** Longer than all waits after failures. */
const MOST_MS = 600_000

/** How the URLs of a world are reached. */
const KINDS = { http: [false], webSocket: [true], both: [true, false], 'several of HTTP': [false, false, false], several: [true, false, true] } as const

interface Outcome {
  readonly wrong: string[]
  /** Why streams ended that had begun. */
  readonly ends: string[]
  /** The last failures that streams survived. */
  readonly failures: string[]
}

/**
 * Some minutes of a consumer that follows a chain. The chain grows and is reorganised, nodes lag,
 * go back and are on branches of their own, requests fail, sockets are lost. The consumer is slow
 * at times, and stops anywhere to go on from its cursor. At the end, all is well.
 */
async function history(kind: keyof typeof KINDS, seed: number): Promise<Outcome> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <V>(...values: readonly V[]) => values[below(values.length)] as V
  const wrong: string[] = []
  const ends: string[] = []
  const failures: string[] = []

  const confirmations = oneOf<number | 'safe' | 'finalized'>(0, 0, 0, 1, 3, 'safe', 'finalized')
  const finality = oneOf(6, 20, 64, 400)
  const isHonest = random() < 0.7
  const head = oneOf(12, 100, 600)
  const nodes = await UnrulyNodes.start({ world, random, head, urls: KINDS[kind], mostLateMs: oneOf(0, 500, 5_000), finality, isHonest })
  const { chain } = nodes
  const blockMs = oneOf(250, 2_000, 12_000)
  const receipts = random() < 0.3
  const logs = oneOf<FollowLogs | boolean>(false, true, { address: CONTRACT })
  const start = oneOf<number | 'latest'>(0, below(head), head + below(5), 'latest')
  const settings = { timeoutMs: oneOf(3_000, 30_000), deadlineMs: oneOf(10_000, 60_000), retry: oneOf({}, { attempts: 2 }) }
  const [first, ...others] = nodes.links as [string, ...string[]]
  const newClient = () => clientOf([first, ...others], settings)
  let client = newClient()

  let replay = start === 'latest' ? undefined : new Replay(start)
  let saved: string | undefined
  let isSlow = false
  let mayStop = true
  let isOver = false
  let stop = new AbortController()
  const apply = (item: FollowItem) => {
    if (item.type === 'rollback') {
      if (confirmations === 'finalized' && isHonest) wrong.push(`final blocks were rolled back to ${item.to}`)
      // Those above it follow it.
      const lowest = Number(item.to) + 1
      if (isHonest && (nodes.hashesAt[lowest]?.size ?? 0) < 2) wrong.push(`block ${lowest} was rolled back, which no node has replaced`)
    } else checkBlock(item)
    replay ??= new Replay(Number((item as Extract<FollowItem, { type: 'block' }>).block.number))
    replay.apply(item as never)
    saved = JSON.stringify(item.cursor)
  }
  const checkBlock = ({ block, logs: given }: Extract<FollowItem, { type: 'block' }> & { logs?: readonly object[] }) => {
    const number = Number(block.number)
    const known = nodes.byHash.get(block.hash)
    if (known === undefined) {
      if (isHonest) wrong.push(`block ${number} is of another chain`)
      return
    }
    const highest = typeof confirmations === 'number' ? nodes.highest.latest - confirmations : nodes.highest[confirmations]
    if (isHonest && number > highest) wrong.push(`block ${number} came when ${highest} was the highest`)
    if (logs !== false && given?.length !== known.logs) wrong.push(`block ${number} came with ${given?.length} of ${known.logs} logs`)
    if (given?.some((log) => (log as { blockHash: string }).blockHash !== block.hash)) wrong.push(`block ${number} came with logs of another one`)
    if (receipts && block.receipts?.length !== 1) wrong.push(`block ${number} came with ${block.receipts?.length} receipts`)
  }

  const consume = async () => {
    while (!isOver) {
      stop = new AbortController()
      const { signal } = stop
      const from = saved === undefined ? (replay?.from ?? start) : JSON.parse(saved)
      let items = 0
      const { isCalm } = nodes
      const onProgress: FollowOptions['onProgress'] = ({ failure }) => {
        if (failure !== undefined) failures.push(`${clock.now()} ${failure}`)
      }
      try {
        for await (const item of follow(client, { from, logs, receipts, confirmations, signal, onProgress })) {
          apply(item as FollowItem)
          items++
          if (isSlow) await sleep(below(oneOf(5, 500)))
          if (mayStop && random() < 0.01) break
          if (mayStop && random() < 0.005) throw new Error('consumer')
        }
      } catch (error) {
        const isOwn = signal.aborted || (error as Error).message === 'consumer'
        // As documented: more were replaced than are held, and a node denies for two seconds that
        // it knows them, because it is behind or answers with null.
        const isTooDeep = Number(/^none of the (\d+) blocks/.exec((error as Error).message)?.[1]) >= HELD
        if (!isOwn && !isTooDeep && items > 0) ends.push(`${clock.now()} ${error}`)
        if (!(isOwn || isTooDeep || items > 0 || !isCalm)) wrong.push(`the start failed at ${clock.now()}: ${error}`)
        if (wrong.length > 50) isOver = true
      }
      if (random() < 0.3) {
        await client.close()
        client = newClient()
      }
      if (!isOver) await sleep(below(oneOf(10, 3_000)))
    }
  }
  const consuming = consume()

  for (let changes = 10 + below(30); changes > 0; changes--) {
    await sleep(below(2 * blockMs))
    const roll = random()
    if (roll < 0.4) nodes.mine(1 + below(oneOf(1, 3, 40)))
    else if (roll < 0.45) nodes.mine(oneOf(100, 300))
    else if (roll < 0.6) nodes.reorganise(1 + below(oneOf(2, 8, 64, 300)), below(3))
    else if (roll < 0.68) nodes.branch(1 + below(oneOf(2, 8)))
    else if (roll < 0.73) nodes.goBack()
    else if (roll < 0.83) nodes.misbehave(oneOf(500, 3_000, 20_000))
    else if (roll < 0.9) nodes.cutSockets(random() < 0.5)
    else if (roll < 0.95) isSlow = !isSlow
    else stop.abort(new Error('stop'))
  }
  mayStop = false
  isSlow = false
  nodes.calmDown()
  const calmAt = clock.now()
  const wanted = () => {
    const last = typeof confirmations === 'number' ? chain.head - confirmations : confirmations === 'finalized' ? nodes.finalized : nodes.finalized + 2
    return chain.hashes.slice(replay?.from, last + 1)
  }
  const hasAll = () => replay !== undefined && replay.hashes.length > 0 && replay.hashes.join() === wanted().join()
  if (wanted().length === 0) nodes.mine(finality)
  for (let blocks = 0; (blocks < 5 || !hasAll()) && clock.now() < calmAt + MOST_MS; blocks++) {
    nodes.mine(1)
    for (let looks = 0; looks < 40 && !hasAll(); looks++) await sleep(500)
  }
  if (!hasAll()) wrong.push(`it has ${replay?.from} to ${(replay?.next ?? 0) - 1}, and not ${wanted().length} blocks up to ${chain.head}`)
  isOver = true
  stop.abort(new Error('stop'))
  await consuming
  await client.close()
  const { requests } = nodes
  nodes.mine(2)
  await sleep(60_000)
  if (nodes.requests > requests) wrong.push('requests were made after the end')
  return { wrong, ends, failures }
}

// Loading it takes real time, in which virtual time would go on.
beforeAll(async () => {
  await HeaderHashes.load(1)
  await import('../../src/ws/session.ts')
  await import('../../src/ws/handshake.ts')
})

for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[])
  test.each(seeds(6, 400))(`${kind}: history %i`, async (seed) => {
    const { wrong, ends, failures } = await history(kind, seed)
    expect({ wrong, ends, failures: wrong.length + ends.length > 0 ? failures.slice(-12) : [] }).toEqual({ wrong: [], ends: [], failures: [] })
  })
