import {
  AbstractProvider,
  Block,
  Contract,
  HDNodeWallet,
  type JsonRpcApiProviderOptions,
  JsonRpcProvider,
  Network,
  type Networkish,
  TransactionReceipt as Receipt,
  Result,
  type TransactionReceipt,
  TransactionResponse,
} from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAnvil } from './anvil.ts'
import { isNewEthers } from './peers.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'

/** anvil has the key of each of its ten accounts, and so have we. */
export const account = (index: number) => HDNodeWallet.fromPhrase(MNEMONIC, '', `m/44'/60'/0'/0/${index}`)

/** anvil signs for this one. */
export const alice = account(0).address
/** Signs here: anvil is sent the signed transaction. */
export const bob = account(1)
/** Receives. */
export const carol = account(2).address

/** One node, and an ethers provider of it. Nothing is mined but by `mine`. */
export interface Bed {
  readonly url: string
  /** Asks the node each time, and each 20 ms for blocks. */
  readonly provider: JsonRpcProvider
  readonly isHexline: boolean
  /** A provider of the same class with other settings, of this node or of another. It ends with the flow. */
  make(options?: JsonRpcApiProviderOptions, url?: string, network?: Networkish): JsonRpcProvider
  /** The node itself, past the provider. */
  ask<T = unknown>(method: string, ...params: unknown[]): Promise<T>
  /** Mines one block with what has been sent, and gives the receipts, in the order of the hashes. */
  mine(...hashes: string[]): Promise<(TransactionReceipt | null)[]>
  /** Mines empty blocks until the promise resolves: ethers looks for events once there is a block that it has not seen. `looked` is the method that it then calls. */
  mineUntil<T>(done: Promise<T>, looked?: string): Promise<T>
  /** Resolves as soon as so many more calls of this method by the bed's providers have been answered: that is when a listener is known to listen. */
  answered(method: string, count?: number): Promise<void>
}

type State = <T>(name: string, run: (bed: Bed) => Promise<T>, check: (result: T) => void | Promise<void>, options?: { needsNew?: boolean }) => void

/** Runs a flow over both providers, compares, and gives what came over hexline to `check`. */
export interface Flow extends State {
  /** Over hexline alone, where ethers' own provider hangs, prints or falls silent. The name says which. */
  readonly alone: State
}

/**
 * Gives the function that states a test: the same flow over ethers' `JsonRpcProvider` and over `HexlineProvider`, each on an anvil of its own,
 * with results that must be equal in all that `shown` shows, and that pass the check. The two nodes have the same first timestamp and
 * blocks 12 s apart, so that hashes are equal, too. What a flow does to its node is undone after it.
 */
export function ethersFlows(prepare: (bed: Bed) => Promise<unknown> = async () => {}): Flow {
  let sides: Side[]
  let snapshots: unknown[]

  beforeAll(async () => {
    sides = await Promise.all([startSide(false), startSide(true)])
    for (const side of sides) {
      const bed = side.makeBed()
      expect(bed.provider instanceof HexlineProvider).toBe(bed.isHexline)
      await setMining(bed)
      await prepare(bed)
      await side.endProviders()
    }
  })
  beforeEach(async () => {
    snapshots = await Promise.all(sides.map(({ url }) => askNode(url, 'evm_snapshot')))
  })
  afterEach(async () => {
    await Promise.all(
      sides.map(async (side, i) => {
        await side.endProviders()
        await askNode(side.url, 'evm_revert', snapshots[i])
        // A snapshot does not hold these.
        await askNode(side.url, 'anvil_dropAllTransactions')
        await setMining({ ask: (method, ...params) => askNode(side.url, method, ...params) })
      }),
    )
  })
  afterAll(async () => {
    await Promise.all((sides ?? []).map((side) => side.stop()))
  })

  const alone: State = (name, run, check, { needsNew = false } = {}) =>
    it.skipIf(needsNew && !isNewEthers)(name, async () => check(await run((sides[1] as Side).makeBed())))
  const both: State = (name, run, check, { needsNew = false } = {}) =>
    it.skipIf(needsNew && !isNewEthers)(name, async () => {
      // Both to the end, so that none goes on while its node is being reverted. ethers keeps caches by provider: each flow has new ones.
      const beds = sides.map(({ makeBed }) => makeBed())
      const [ofEthers, ofHexline] = await Promise.allSettled(beds.map(run))
      if (ofEthers?.status === 'rejected') throw ofEthers.reason
      if (ofHexline?.status === 'rejected') throw ofHexline.reason
      const [first, second] = beds.map(({ url }, i) => shown((i === 0 ? ofEthers : ofHexline)?.value, url))
      expect(second).toStrictEqual(first)
      await check(ofHexline?.value as never)
    })
  return Object.assign(both, { alone })
}

interface Side {
  readonly url: string
  makeBed(): Bed
  endProviders(): Promise<void>
  stop(): Promise<void>
}

/** A provider, and its calls that are not answered yet. */
interface Made {
  readonly provider: JsonRpcProvider
  readonly pending: ReadonlySet<Promise<unknown>>
}

async function startSide(isHexline: boolean): Promise<Side> {
  const anvil = await startAnvil({ timestamp: 1_700_000_000 })
  const providers: Made[] = []
  const endProviders = async () => {
    for (const { provider, pending } of providers.splice(0)) {
      // ethers' own leaves promises about its filters alone, which reject when it is destroyed.
      if (!isHexline) await provider.removeAllListeners()
      while (!isHexline && pending.size > 0) await Promise.allSettled(pending)
      provider.destroy()
    }
  }
  return {
    url: anvil.url,
    makeBed: () => bedOn(anvil.url, isHexline, providers),
    endProviders,
    async stop() {
      await endProviders()
      await anvil.stop()
    },
  }
}

async function setMining({ ask }: Pick<Bed, 'ask'>): Promise<void> {
  await ask('evm_setAutomine', false)
  await ask('anvil_setBlockTimestampInterval', 12)
  // What the next block's fee follows from, a revert does not undo.
  await ask('anvil_setNextBlockBaseFeePerGas', '0x3b9aca00')
}

function bedOn(url: string, isHexline: boolean, made: Made[]): Bed {
  const Provider = isHexline ? HexlineProvider : JsonRpcProvider
  const awaited: { method: string; count: number; resolve: () => void }[] = []
  const make = (options: JsonRpcApiProviderOptions = {}, to = url, network?: Networkish) => {
    // For its first blob anvil prepares a trusted setup, which on a busy machine takes longer than hexline waits by default.
    const provider = new Provider(to, network, { ...fast, ...(isHexline && { timeoutMs: 120_000 }), ...options })
    const pending = overhear(provider, (method) => {
      for (const each of awaited) if (each.method === method && --each.count === 0) each.resolve()
    })
    made.push({ provider, pending })
    return provider
  }
  const provider = make()
  const ask = <T>(method: string, ...params: unknown[]) => askNode<T>(url, method, ...params)
  const answered = (method: string, count = 1) => new Promise<void>((resolve) => awaited.push({ method, count, resolve }))
  return {
    url,
    provider,
    isHexline,
    make,
    ask,
    answered,
    async mine(...hashes) {
      await ask('evm_mine')
      return Promise.all(hashes.map((hash) => provider.getTransactionReceipt(hash)))
    },
    async mineUntil(done, looked = 'eth_blockNumber') {
      let isDone = false
      const end = done.finally(() => {
        isDone = true
      })
      while (!isDone) {
        const looking = answered(looked)
        await ask('evm_mine')
        await Promise.race([end, looking])
      }
      return end
    },
  }
}

/** What the flows set unless they say otherwise: ethers would answer from its cache for 250 ms, and look for blocks each 4 s. */
export const fast = { cacheTimeout: -1, pollingInterval: 20, batchStallTime: 1 } as const

/** The network of anvil, for providers that are not to ask for it. */
export const network = Network.from(31337)

/** Has a provider tell what it has been answered, and gives the calls that it waits for. */
function overhear(provider: JsonRpcProvider, onAnswer: (method: string) => void): Made['pending'] {
  const pending = new Set<Promise<unknown>>()
  const send = provider.send.bind(provider)
  provider.send = (method, params) => {
    const call = send(method, params).then((result) => {
      onAnswer(method)
      return result
    })
    pending.add(call)
    const end = () => pending.delete(call)
    call.then(end, end)
    return call
  }
  return pending
}

/** A call of a node past every provider. */
export async function askNode<T = unknown>(url: string, method: string, ...params: unknown[]): Promise<T> {
  const { body } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const reply = (await body.json()) as { result: T; error?: { message: string } }
  if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`)
  return reply.result
}

/**
 * What ethers shows of a value, as plain data with the names of its classes. Left out are providers, which are different, the ids of payloads, which say
 * how many calls a provider has made before, and the port of the node.
 */
export function shown(value: unknown, url: string): unknown {
  if (typeof value === 'string') return value.replaceAll(url, 'URL').replaceAll(/"id": ?\d+/g, '"id": 0')
  if (typeof value !== 'object' || value === null) return value
  const each = (inner: unknown) => shown(inner, url)
  if (value instanceof AbstractProvider) return 'a provider'
  if (value instanceof Contract) return { target: value.target }
  if (value instanceof Result) return { values: value.toArray().map(each), names: namesOf(value) }
  if (Array.isArray(value)) return value.map(each)
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, each(inner)]))
  const fields = Object.entries(value).filter(([, inner]) => typeof inner !== 'function')
  const object: Record<string, unknown> = Object.fromEntries(fields.map(([name, inner]) => [name, each(inner)]))
  if (typeof object.id === 'number' && 'jsonrpc' in object) object.id = 0
  if (Object.getPrototypeOf(value) !== Object.prototype) object.class = value.constructor.name
  if (value instanceof Error) object.message = each(value.message)
  if (value instanceof Network) Object.assign(object, value.toJSON())
  if (value instanceof Block) Object.assign(object, { transactions: value.transactions, prefetched: prefetched(value).map(each) })
  if (value instanceof Receipt) object.logs = value.logs.map(each)
  if (value instanceof TransactionResponse) object.signature = value.signature.toJSON()
  return object
}

function namesOf(result: Result): unknown {
  try {
    return Object.keys(result.toObject())
  } catch {
    return 'some have none'
  }
}

function prefetched(block: Block): unknown[] {
  try {
    return block.prefetchedTransactions
  } catch {
    // ethers' way of saying that there are hashes only.
    return ['none']
  }
}

/** The error with which a promise rejects, for the comparison. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return promise.then(
    () => {
      throw new Error('it was expected to fail')
    },
    (error) => error,
  )
}

/** The first `count` values that a callback is given. */
export function collector<T>(count: number): { add(value: T): void; all: Promise<T[]>; readonly values: readonly T[] } {
  const values: T[] = []
  let resolve: (values: T[]) => void
  const all = new Promise<T[]>((each) => {
    resolve = each
  })
  return {
    values,
    all,
    add(value) {
      values.push(value)
      if (values.length === count) resolve(values.slice())
    },
  }
}
