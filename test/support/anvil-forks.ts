import { createTestClient, http, publicActions, toHex } from 'viem'
import { foundry } from 'viem/chains'
import { onTestFinished } from 'vitest'
import { type Client, createClient, type Endpoint } from '../../src/index.ts'
import { follow, getLogs } from '../../src/index-bulk.ts'
import { startAnvil } from './anvil.ts'
import { transferCode } from './anvil-logs.ts'
import { randomFrom } from './random.ts'
import { Replay } from './replay.ts'

export const LOGGING: `0x${string}` = `0x${'c1'.repeat(20)}`

/** An anvil whose chain can be reorganised to any depth: by a snapshot at each block. */
export interface AnvilForks {
  readonly url: string
  head(): number
  /** Mines this many blocks, most of them with logs. */
  mine(count: number): Promise<void>
  /** Replaces the last `depth` blocks by `count` others. */
  reorganise(depth: number, count: number): Promise<void>
  /** Hashes of the blocks from `from` on. */
  hashes(from: number): Promise<string[]>
}

export async function startAnvilForks(seed: number): Promise<AnvilForks> {
  const anvil = await startAnvil({ disableBlockGasLimit: true })
  onTestFinished(() => anvil.stop())
  const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url, { timeout: 300_000 }) }).extend(publicActions)
  const random = randomFrom(seed)
  await node.setLoggingEnabled(false)
  await node.setAutomine(false)
  await node.setCode({ address: LOGGING, bytecode: transferCode })
  const [from] = (await node.request({ method: 'eth_accounts' } as never)) as [`0x${string}`]
  const snapshots: `0x${string}`[] = [await node.snapshot()]
  let calls = 0
  const word = (value: number) => toHex(value, { size: 32 }).slice(2)
  const mine = async (count: number) => {
    for (let i = 0; i < count; i++) {
      // A block that replaces another one is never the same, so each has a transaction of its own.
      const data = `0x${word(Math.floor(random() * 4))}${word(++calls)}${word(1)}`
      await node.request({ method: 'eth_sendTransaction', params: [{ from, to: LOGGING, data, gas: toHex(200_000) }] } as never)
      await node.mine({ blocks: 1 })
      snapshots.push(await node.snapshot())
    }
  }
  return {
    url: anvil.url,
    head: () => snapshots.length - 1,
    mine,
    async reorganise(depth, count) {
      const at = snapshots.length - 1 - depth
      await node.revert({ id: snapshots[at] as `0x${string}` })
      snapshots.length = at
      snapshots.push(await node.snapshot())
      await mine(count)
    },
    async hashes(first) {
      const hashes: string[] = []
      for (let number = first; number < snapshots.length; number++) hashes.push((await node.getBlock({ blockNumber: BigInt(number) })).hash)
      return hashes
    },
  }
}

const OVER = new Error('the driver has what it waited for')

/**
 * Follows an anvil while its chain is reorganised this often, and gives what the consumer has at
 * the end.
 */
export async function followForks(endpointsOf: (url: string) => Endpoint | Endpoint[], count: number, seed: number) {
  const chain = await startAnvilForks(seed)
  await chain.mine(35)
  await using client: Client = createClient(endpointsOf(chain.url), { retry: { baseDelayMs: 5 } })
  const random = randomFrom(seed + 1000)
  const below = (most: number) => Math.floor(random() * most)
  const replay = new Replay(below(30))
  const enough = new AbortController()
  let awaited: { readonly tip: string; readonly resolve: () => void } | undefined
  const arrive = () => {
    if (replay.hashes.at(-1) === awaited?.tip) awaited?.resolve()
  }
  const arrival = async () => {
    const [tip] = (await chain.hashes(chain.head())) as [string]
    await new Promise<void>((resolve) => {
      awaited = { tip, resolve }
      arrive()
    })
  }
  const driven = (async () => {
    for (let i = 0; i < count; i++) {
      const depth = 1 + below(Math.min(30, chain.head() - 1))
      // Shorter than it was, as long, or longer.
      await chain.reorganise(depth, Math.max(1, depth + below(8) - 3))
      if (random() < 0.5) await arrival()
    }
    await arrival()
    enough.abort(OVER)
  })()
  try {
    for await (const item of follow(client, { from: replay.from, logs: { address: LOGGING }, signal: enough.signal })) {
      replay.apply(item)
      arrive()
    }
  } catch (error) {
    if (error !== OVER) throw error
  }
  await driven
  const logs: object[] = []
  for await (const log of getLogs(client, { from: replay.from, to: 'latest', address: LOGGING })) logs.push(log)
  return { replay, hashes: await chain.hashes(replay.from), logs }
}
