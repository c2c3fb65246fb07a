import {
  BaseError,
  type Chain,
  type Client,
  createClient,
  createPublicClient,
  createTestClient,
  createWalletClient,
  type Hash,
  type Hex,
  http,
  type PublicClientConfig,
  type TransactionReceipt,
  type Transport,
  webSocket,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type HexlineTransport, hexline } from '../../adapters/viem/index.ts'
import { type Anvil, startAnvil } from './anvil.ts'
import { isNewViem } from './peers.ts'

/** viem's chain for anvil, with the address where `putMulticall3` puts multicall3. */
export const chain = { ...foundry, contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } } } as const

const MNEMONIC = 'test test test test test test test test test test test junk'

/** anvil has the keys of its ten accounts, and the tests derive the same ones. */
export const account = (addressIndex: number) => mnemonicToAccount(MNEMONIC, { addressIndex })

/** anvil signs for this account. */
export const alice = account(0).address
/** This account signs here, and anvil gets the signed transaction. */
export const bob = account(1)
/** This account receives. */
export const carol = account(2).address

/** One node, and viem's clients for it with one transport. Only `mine` mines blocks. */
export interface Bed {
  readonly url: string
  readonly transport: Transport
  /** Reads. */
  readonly reader: ReturnType<typeof makeReader>
  /** Sends for alice, whose key anvil has. */
  readonly unlocked: ReturnType<typeof makeUnlocked>
  /** Sends transactions signed by bob. */
  readonly signer: ReturnType<typeof makeSigner>
  /** Controls anvil. */
  readonly tester: ReturnType<typeof makeTester>
  /** A client with other settings than `reader`. */
  readerWith(config: Partial<PublicClientConfig>): ReturnType<typeof makeReader>
  /**
   * Mines one block with the pending transactions, and resolves to the receipts in the order of the
   * hashes.
   */
  mine(...hashes: Hash[]): Promise<TransactionReceipt[]>
  /**
   * Resolves when the next call of this method has been answered, which shows that a watcher is
   * active.
   */
  answered(method: string): Promise<void>
}

/**
 * For its first blob anvil prepares a trusted setup, which takes longer than viem's default timeout
 * on a busy machine.
 */
const timeout = 500_000

const config = (transport: Transport) => ({ chain, transport, pollingInterval: 10, cacheTime: 0 })
const makeReader = (transport: Transport, other: Partial<PublicClientConfig> = {}) =>
  createPublicClient({ ...config(transport), ...(other as Record<string, never>) })
const makeUnlocked = (transport: Transport) => createWalletClient({ ...config(transport), account: alice })
const makeSigner = (transport: Transport) => createWalletClient({ ...config(transport), account: bob })
const makeTester = (transport: Transport) => createTestClient({ ...config(transport), mode: 'anvil' })

/**
 * Runs a flow with each transport, compares the results, and passes one to `check`. With an old
 * viem, flows with `needsNew` are skipped. Those with `isWorded` show the node's words for an
 * error: anvil has others over a WebSocket, where such a flow does not run.
 */
export type Flow = <T>(
  name: string,
  run: (bed: Bed) => Promise<T>,
  check: (result: T) => void | Promise<void>,
  options?: { needsNew?: boolean; isWorded?: boolean },
) => void

/** Makes the transport of a side, for the URL of its node. */
type MakeTransport = (url: string) => Transport

const overHttp: MakeTransport = (url) => http(url, { timeout })
const hexlineOverHttp: MakeTransport = (url) => hexline(url, { timeout })
const overWebSocket: MakeTransport = (url) => webSocket(url.replace('http', 'ws'), { timeout })
const hexlineOverWebSocket: MakeTransport = (url) => hexline(url.replace('http', 'ws'), { timeout })

/** What a flow is run with, viem's own transport first. */
const TRANSPORTS = {
  all: [overHttp, hexlineOverHttp, hexlineOverWebSocket],
  http: [overHttp, hexlineOverHttp],
  webSocket: [overWebSocket, hexlineOverWebSocket],
} as const

/**
 * Returns a function that declares a test: the same flow with viem's `http()` and with `hexline()`
 * over HTTP and over a WebSocket, each on its own anvil; or over one of them, against viem's own
 * transport. The results must be equal and pass the check. All nodes have the same first timestamp
 * and blocks 12 s apart, so that hashes are equal, too. The changes of a flow to its node are
 * reverted afterwards, unless the nodes are not `isRevertible`.
 */
export function viemFlows(
  prepare: (bed: Bed) => Promise<unknown> = async () => {},
  { isRevertible = true, over = 'all' }: { isRevertible?: boolean; over?: keyof typeof TRANSPORTS } = {},
): Flow {
  let sides: Side[]
  let snapshots: Hex[]

  beforeAll(async () => {
    sides = await Promise.all(TRANSPORTS[over].map(startSide))
    await Promise.all(
      sides.map(async ({ makeBed }) => {
        const bed = makeBed()
        await bed.tester.setAutomine(false)
        await bed.tester.setBlockTimestampInterval({ interval: 12 })
        await prepare(bed)
      }),
    )
  })
  beforeEach(async () => {
    if (!isRevertible) return
    snapshots = await Promise.all(sides.map(({ makeBed }) => makeBed().tester.snapshot()))
  })
  afterEach(async () => {
    if (!isRevertible) return
    await Promise.all(
      sides.map(async ({ makeBed }, i) => {
        const { tester } = makeBed()
        await tester.revert({ id: snapshots[i] as Hex })
        // A snapshot does not include these.
        await tester.request({ method: 'anvil_dropAllTransactions' } as never)
        await tester.setAutomine(false)
        await tester.setBlockTimestampInterval({ interval: 12 })
      }),
    )
  })
  afterAll(async () => {
    await Promise.all((sides ?? []).map((side) => side.stop()))
  })

  return (name, run, check, { needsNew = false, isWorded = false } = {}) =>
    it.skipIf(needsNew && !isNewViem)(name, async () => {
      // Waits for all, so that none continues while its node is being reverted. viem caches by
      // client, so each flow gets new ones.
      const results = await Promise.allSettled((isWorded ? sides.slice(0, 2) : sides).map(({ makeBed }) => run(makeBed())))
      for (const result of results) if (result.status === 'rejected') throw result.reason
      const [expected, ...others] = results.map((result) => (result as PromiseFulfilledResult<never>).value)
      for (const value of others) expect(value).toStrictEqual(expected)
      await check(expected as never)
    })
}

interface Side {
  makeBed(): Bed
  stop(): Promise<void>
}

async function startSide(makeTransport: (url: string) => Transport): Promise<Side> {
  const anvil = await startAnvil({ timestamp: 1_700_000_000 })
  const transport = makeTransport(anvil.url)
  return {
    makeBed: () => bedOn(anvil, transport),
    async stop() {
      await closeHexline(transport)
      await anvil.stop()
    },
  }
}

/**
 * Closes the hexline client of a transport, if there is one. A transport without its own URL has
 * one for each chain.
 */
export async function closeHexline(transport: Transport, ofChain: Chain = chain): Promise<void> {
  const client: Client = createClient({ chain: ofChain, transport })
  const { client: own } = client.transport as Partial<Client<HexlineTransport>['transport']>
  await own?.close()
}

function bedOn({ url }: Anvil, direct: Transport): Bed {
  const awaited: { method: string; resolve: () => void }[] = []
  const transport = overheard(direct, (method) => {
    for (const each of awaited) if (each.method === method) each.resolve()
  })
  const reader = makeReader(transport)
  const tester = makeTester(transport)
  return {
    url,
    transport,
    reader,
    tester,
    unlocked: makeUnlocked(transport),
    signer: makeSigner(transport),
    readerWith: (other) => makeReader(transport, other),
    async mine(...hashes) {
      await tester.mine({ blocks: 1 })
      return Promise.all(hashes.map((hash) => reader.getTransactionReceipt({ hash })))
    },
    answered: (method) => new Promise((resolve) => awaited.push({ method, resolve })),
  }
}

/** The same transport, which also reports each answer. */
function overheard(transport: Transport, onAnswer: (method: string) => void): Transport {
  return (options) => {
    const inner = transport(options)
    const request = async (args: { method: string }, settings?: object) => {
      const result = await inner.request(args, settings)
      onAnswer(args.method)
      return result
    }
    const { subscribe } = (inner.value ?? {}) as { subscribe?: (parameters: unknown) => Promise<unknown> }
    const subscribed = async (parameters: unknown) => {
      const subscription = await subscribe?.(parameters)
      onAnswer('eth_subscribe')
      return subscription
    }
    return { ...inner, request: request as typeof inner.request, value: { ...inner.value, ...(subscribe && { subscribe: subscribed }) } }
  }
}

/** Everything that viem shows of a failure, except the port. */
export async function failureOf({ url }: Pick<Bed, 'url'>, promise: Promise<unknown>): Promise<{ message: string; errors: object[] }> {
  try {
    await promise
  } catch (error) {
    const said = (text: unknown) => (typeof text === 'string' ? text.replaceAll(url, 'URL').replaceAll(url.replace('http', 'ws'), 'URL') : text)
    const errors: object[] = []
    // Below viem's own errors is the transport's failure, which with hexline is hexline's own.
    for (let each = error; each instanceof BaseError; each = each.cause) {
      const { name, details, shortMessage, metaMessages, code, data } = each as BaseError & { code?: unknown; data?: unknown }
      errors.push({ name, details: said(details), shortMessage: said(shortMessage), metaMessages: metaMessages?.map(said), code, data })
    }
    return { message: said((error as Error).message) as string, errors }
  }
  throw new Error('it was expected to fail')
}

/** Collects the first `count` values passed to a callback. */
export function collector<T>(count: number): { add(value: T): void; all: Promise<T[]> } {
  const values: T[] = []
  let resolve: (values: T[]) => void
  const all = new Promise<T[]>((each) => {
    resolve = each
  })
  return {
    add(value) {
      values.push(value)
      if (values.length === count) resolve(values.slice())
    },
    all,
  }
}
