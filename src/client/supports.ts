import { HexlineError, RpcError } from '../errors.ts'
import { isSafe } from '../eth/methods.ts'
import { ethereum } from '../eth/protocol.ts'
import { setBounded } from '../rpc/set-bounded.ts'
import type { Clock } from '../wait/clock.ts'

/** How long an answer is believed, in ms. It may change: nodes are upgraded. */
const BELIEVED_MS = 600_000
/** JSON-RPC 2.0: the method does not exist. */
const NO_SUCH_METHOD = -32601
/** An error about the call itself proves that the endpoint has the method, as a result does. */
const ANSWERS: ReadonlySet<string> = new Set(['execution', 'invalid', 'lagging', 'pruned', 'not-found', 'range-too-large', 'response-too-large'])

/** What anvil says over a WebSocket, both of a method that it lacks and of missing arguments. */
const SAYS_NOTHING = /\bdid not match any variant of untagged enum\b/

/**
 * What is called in place of a method without its arguments. Methods that send a transaction get an
 * empty one, which every node refuses. For methods with results of hundreds of megabytes, it is a
 * small one of the same namespace.
 */
const INSTEAD: Readonly<Record<string, readonly [method: string, ...params: unknown[]]>> = {
  eth_sendRawTransaction: ['eth_sendRawTransaction', '0x'],
  eth_sendRawTransactionSync: ['eth_sendRawTransactionSync', '0x'],
  txpool_content: ['txpool_status'],
  txpool_inspect: ['txpool_status'],
}

/** Sends a call to this endpoint alone, and gives its result. */
export type AskOne = (endpoint: string, method: string, params: readonly unknown[], signal: AbortSignal) => Promise<unknown>

/** The same with its signal. */
type Ask = (endpoint: string, method: string, params: readonly unknown[]) => Promise<unknown>

/**
 * Which methods the endpoints of a client have. Each is asked by a call of the method without its
 * arguments: a node that has the method refuses that for its arguments. A method that changes
 * something is not called. The namespaces of `rpc_modules` tell at least whether it is missing.
 */
export class Supported {
  readonly #endpoints: readonly string[]
  readonly #clock: Clock
  /** By endpoint and method. */
  readonly #answers = new Map<string, { readonly has: boolean; readonly until: number }>()

  constructor(endpoints: readonly string[], clock: Clock) {
    this.#endpoints = endpoints
    this.#clock = clock
  }

  /** Learns from the failure of a call that its endpoint lacks the method. */
  note(error: unknown): void {
    if (!(error instanceof RpcError) || error.code !== NO_SUCH_METHOD) return
    const { endpoint, method } = error
    if (endpoint !== undefined && method !== undefined) this.#remember(endpoint, method, false)
  }

  /**
   * True as soon as an endpoint is known to have the method: the others are then not waited for.
   * False if none has, undefined if none is known to have it and one did not say. Rejects where
   * `ask` does for a reason other than a node's answer.
   */
  async supports(method: string, ask: AskOne): Promise<boolean | undefined> {
    if (this.#endpoints.some((endpoint) => this.#known(endpoint, method) === true)) return true
    const enough = new AbortController()
    const askUntil: Ask = (endpoint, asked, params) => ask(endpoint, asked, params, enough.signal)
    const answers = this.#endpoints.map((endpoint) => this.#at(endpoint, method, askUntil))
    try {
      return await Promise.any(answers.map(ifTrue))
    } catch {
      return (await Promise.all(answers)).includes(undefined) ? undefined : false
    } finally {
      enough.abort()
    }
  }

  /** The last answer of an endpoint, unless it has expired. */
  #known(endpoint: string, method: string): boolean | undefined {
    const known = this.#answers.get(keyOf(endpoint, method))
    return known !== undefined && this.#clock.now() < known.until ? known.has : undefined
  }

  async #at(endpoint: string, method: string, ask: Ask): Promise<boolean | undefined> {
    const known = this.#known(endpoint, method)
    if (known !== undefined) return known
    const [has, hasData] = await Promise.all([
      isSafe(method) || Object.hasOwn(INSTEAD, method) ? answersTo(endpoint, method, ask) : servesNamespace(endpoint, method, ask),
      hasWhatItReads(endpoint, method, ask),
    ])
    if (has === undefined) return undefined
    this.#remember(endpoint, method, has && hasData)
    return has && hasData
  }

  #remember(endpoint: string, method: string, has: boolean): void {
    setBounded(this.#answers, keyOf(endpoint, method), { has, until: this.#clock.now() + BELIEVED_MS })
  }
}

/** Resolves if the answer is true, and rejects otherwise. */
async function ifTrue(answer: Promise<boolean | undefined>): Promise<true> {
  if ((await answer) === true) return true
  throw undefined
}

function keyOf(endpoint: string, method: string): string {
  return `${endpoint} ${method}`
}

async function answersTo(endpoint: string, method: string, ask: Ask): Promise<boolean | undefined> {
  const [asked, ...params] = Object.hasOwn(INSTEAD, method) ? (INSTEAD[method] as readonly [string, ...unknown[]]) : [method]
  try {
    await ask(endpoint, asked, params)
    return true
  } catch (error) {
    if (!(error instanceof RpcError)) return undefinedUnlessFinal(error)
    if (error.kind === 'unsupported') return false
    return ANSWERS.has(error.kind) && !SAYS_NOTHING.test(error.said) ? true : undefined
  }
}

/** False if the endpoint does not serve the method's namespace; it may still lack the method. */
async function servesNamespace(endpoint: string, method: string, ask: Ask): Promise<false | undefined> {
  try {
    const modules = await ask(endpoint, 'rpc_modules', [])
    const [namespace = ''] = method.split('_')
    return isObject(modules) && Object.keys(modules).length > 0 && !Object.hasOwn(modules, namespace) ? false : undefined
  } catch (error) {
    return undefinedUnlessFinal(error)
  }
}

/** False if the endpoint says that it keeps nothing of what the method reads. */
async function hasWhatItReads(endpoint: string, method: string, ask: Ask): Promise<boolean> {
  const { traitOf, askHistory, historyOf, partOf } = ethereum
  const reads = traitOf(method)?.reads
  if (reads === undefined) return true
  try {
    const floors = historyOf(await ask(endpoint, askHistory.method, askHistory.params))
    return Number.isFinite(floors.get(reads) ?? floors.get(partOf[reads] ?? '') ?? 0)
  } catch (error) {
    undefinedUnlessFinal(error)
    return true
  }
}

/** Passes on that the caller has given up, or that the client is closed. */
function undefinedUnlessFinal(error: unknown): undefined {
  if (error instanceof HexlineError && error.kind !== 'closed') return undefined
  throw error
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
