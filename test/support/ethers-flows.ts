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
  WebSocketProvider,
} from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAnvil } from './anvil.ts'
import { isNewEthers } from './peers.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'

/** anvil has the keys of its ten accounts, and the tests derive the same ones. */
export const account = (index: number) => HDNodeWallet.fromPhrase(MNEMONIC, '', `m/44'/60'/0'/0/${index}`)

/** anvil signs for this account. */
export const alice = account(0).address
/** This account signs here, and anvil gets the signed transaction. */
export const bob = account(1)
/** This account receives. */
export const carol = account(2).address

/** One node, and an ethers provider for it. Only `mine` mines blocks. */
export interface Bed {
  readonly url: string
  /** Makes a request each time, and polls for blocks every 20 ms. */
  readonly provider: JsonRpcProvider
  readonly isHexline: boolean
  /**
   * A provider of the same class with other settings, for this node or another. It is destroyed
   * when the flow ends.
   */
  make(options?: JsonRpcApiProviderOptions, url?: string, network?: Networkish): JsonRpcProvider
  /** Calls the node directly, without the provider. */
  ask<T = unknown>(method: string, ...params: unknown[]): Promise<T>
  /**
   * Mines one block with the pending transactions, and resolves to the receipts in the order of the
   * hashes.
   */
  mine(...hashes: string[]): Promise<(TransactionReceipt | null)[]>
  /**
   * Mines empty blocks until the promise resolves, since ethers looks for events only when there is
   * a new block. `looked` is the method that it uses for that.
   */
  mineUntil<T>(done: Promise<T>, looked?: string): Promise<T>
  /**
   * Resolves when the bed's providers have received this many more answers to the method, which
   * shows that a listener is active.
   */
  answered(method: string, count?: number): Promise<void>
}

type State = <T>(
  name: string,
  run: (bed: Bed) => Promise<T>,
  check: (result: T) => void | Promise<void>,
  options?: { needsNew?: boolean; needsHttp?: boolean },
) => void

/** Runs a flow with both providers, compares the results, and passes hexline's to `check`. */
export interface Flow extends State {
  /**
   * Runs a flow with hexline only, where ethers' own provider hangs, prints or falls silent. The
   * name says which.
   */
  readonly alone: State
}

/**
 * Returns a function that declares a test: the same flow with ethers' `JsonRpcProvider` and with
 * `HexlineProvider`, each on its own anvil. The results must be equal in everything that `shown`
 * shows, and pass the check. Both nodes have the same first timestamp and blocks 12 s apart, so
 * that hashes are equal, too. The changes of a flow to its node are reverted afterwards. Over a
 * `webSocket`, ethers' own is a `WebSocketProvider`.
 */
export function ethersFlows(prepare: (bed: Bed) => Promise<unknown> = async () => {}, { over = usual }: { over?: Over } = {}): Flow {
  let sides: Side[]
  let snapshots: unknown[]

  beforeAll(async () => {
    sides = await Promise.all([startSide(false, over), startSide(true, over)])
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
        // A snapshot does not include these.
        await askNode(side.url, 'anvil_dropAllTransactions')
        await setMining({ ask: (method, ...params) => askNode(side.url, method, ...params) })
      }),
    )
  })
  afterAll(async () => {
    await Promise.all((sides ?? []).map((side) => side.stop()))
  })

  const cannotRun = ({ needsNew = false, needsHttp = false }) => (needsNew && !isNewEthers) || (needsHttp && over === 'mixed')
  const alone: State = (name, run, check, needs = {}) => it.skipIf(cannotRun(needs))(name, async () => check(await run((sides[1] as Side).makeBed())))
  const both: State = (name, run, check, needs = {}) =>
    it.skipIf(cannotRun(needs))(name, async () => {
      // Waits for both, so that neither continues while its node is being reverted. ethers caches
      // by provider, so each flow gets new ones.
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

/** A provider, and its unanswered calls. */
interface Made {
  readonly provider: JsonRpcProvider
  readonly pending: ReadonlySet<Promise<unknown>>
}

/**
 * How the two providers reach their nodes; `mixed`: ethers' own over HTTP, and hexline over a
 * WebSocket.
 */
type Over = 'http' | 'webSocket' | 'mixed'
let usual: Over = 'http'

/** Declares the flows of other files again, with hexline over a WebSocket. */
export async function overWebSocket(load: () => Promise<unknown>): Promise<void> {
  usual = 'mixed'
  await load()
  usual = 'http'
}

/**
 * How the flows that are declared now write a node's URL: those that talk to it by a line of their
 * own.
 */
export function lineUrl(): (url: string) => string {
  const isHttp = usual === 'http'
  return (url) => (isHttp ? url : url.replace('http://', 'ws://'))
}

async function startSide(isHexline: boolean, over: Over): Promise<Side> {
  const anvil = await startAnvil({ timestamp: 1_700_000_000 })
  const providers: Made[] = []
  const endProviders = async () => {
    for (const { provider, pending } of providers.splice(0)) {
      // ethers itself leaves promises unhandled, which reject when the provider is destroyed: those
      // of its filters, and `confirmations()` in the listener of `wait()`. flows-destroy.test.ts
      // destroys providers that are busy.
      await provider.removeAllListeners()
      while (pending.size > 0) await Promise.allSettled(pending)
      provider.destroy()
    }
  }
  return {
    url: anvil.url,
    makeBed: () => bedOn(anvil.url, isHexline, over, providers),
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
  // Reverting does not restore the base fee of the next block.
  await ask('anvil_setNextBlockBaseFeePerGas', '0x3b9aca00')
}

function bedOn(url: string, isHexline: boolean, over: Over, made: Made[]): Bed {
  const isOverHttp = over === 'http' || (over === 'mixed' && !isHexline)
  const nodeUrl = isOverHttp ? url : url.replace('http', 'ws')
  // What the flows use of it is what it shares with a `JsonRpcProvider`.
  const ofEthers = (over === 'webSocket' ? WebSocketProvider : JsonRpcProvider) as typeof JsonRpcProvider
  const Provider = isHexline ? HexlineProvider : ofEthers
  const awaited: { method: string; count: number; resolve: () => void }[] = []
  const make = (options: JsonRpcApiProviderOptions = {}, to = nodeUrl, network?: Networkish) => {
    // For its first blob anvil prepares a trusted setup, which takes longer than hexline's default
    // timeout on a busy machine.
    const provider = new Provider(isOverHttp ? to : to.replace('http://', 'ws://'), network, { ...fast, ...(isHexline && { timeoutMs: 500_000 }), ...options })
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

/**
 * Defaults of the flows: ethers would answer from its cache for 250 ms, and poll for blocks every 4
 * s.
 */
export const fast = { cacheTimeout: -1, pollingInterval: 20, batchStallTime: 1 } as const

/** The network of anvil, for providers that need not request it. */
export const network = Network.from(31337)

/** Reports each answer that a provider gets. Returns its pending calls. */
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

/** Calls a node directly, without any provider. */
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
 * What ethers shows of a value, as plain data with the names of its classes. It omits providers,
 * which differ, the ids of payloads, which count a provider's earlier calls, and the node's port.
 */
function shown(value: unknown, url: string): unknown {
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
    // ethers' sign that a block has only hashes.
    return ['none']
  }
}

/** The error of a rejected promise, for comparison. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return promise.then(
    () => {
      throw new Error('it was expected to fail')
    },
    (error) => error,
  )
}

/** Collects the first `count` values passed to a callback. */
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
