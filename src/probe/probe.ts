import * as check from '../check.ts'
import type { Client } from '../client/client.ts'
import type { Connection } from '../client/endpoint.ts'
import { connectionsOf, napOf } from '../client/internals.ts'
import { type HexlineError, MalformedReplyError, OptionError, RpcError, TimeoutError } from '../errors.ts'
import type { ServiceMethodName } from '../eth/methods.ts'
import { type Scrub, scrubStart } from '../http/secrets.ts'
import { errorFor } from '../rpc/call-failure.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { show } from '../text.ts'
import { LONGEST_TIMER } from '../wait/clock.ts'
import { stopWith } from '../wait/stop-with.ts'
import { Asker, type Heard, isRefusal, type Refusal } from './asker.ts'
import { exactly, type Figure, unknown } from './figure.ts'
import { type EndpointHistory, historyOf, noHistory } from './history.ts'
import { archiveDepth, batchLimit, logRangeLimit, responseLimit } from './limits.ts'
import { type Facts, METHODS, methodsOf, nothingOf, type Support, TAGS, type Tag, tagsOf } from './methods.ts'
import { rateLimit } from './rate.ts'

/** Options of `probe`. */
export interface ProbeOptions {
  /** Most calls to each endpoint, counting each call of a batch. Default 500. */
  readonly maxCalls?: number | undefined
  /** Longest batch to try, in calls. Default 100, a client's default. */
  readonly maxBatch?: number | undefined
  /** Longest range of blocks to try with `eth_getLogs`. Default 100,000. */
  readonly maxLogRange?: number | undefined
  /** Longest reply to ask for, in bytes. Default 4 MiB. */
  readonly maxReplyBytes?: number | undefined
  /**
   * Calls in the burst that tests for a rate limit, part of `maxCalls`. `false`: no burst. Default
   * 50.
   */
  readonly rateCalls?: number | false | undefined
  /** Longest wait for one POST, in ms. Default 10,000; the client's `timeoutMs` applies, too. */
  readonly timeoutMs?: number | undefined
  /** Ends the probe with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called after every POST with the current step and the number of calls made. */
  readonly onProgress?: ((progress: ProbeProgress) => void) | undefined
}

/** How far a probe is: the step that begins, and the calls made so far. */
export interface ProbeProgress {
  /** Host and port of the endpoint. */
  readonly endpoint: string
  readonly step: string
  readonly calls: number
  readonly maxCalls: number
}

/** The figures of a client's endpoints, in their order. Plain data, for JSON. */
export interface ProbeReport {
  readonly endpoints: readonly EndpointReport[]
}

/** What `probe` found out about one endpoint. */
export interface EndpointReport {
  /** Host and port; several of one host are numbered. */
  readonly endpoint: string
  /** Why it could not be probed: it is unreachable, or refuses every call. Null when it answers. */
  readonly error: string | null
  readonly chainId: Figure
  readonly clientVersion: Figure<string>
  /** Number of its latest block. */
  readonly head: Figure
  /** Latency of single small calls, one after the other, in ms. */
  readonly latencyMs: { readonly median: number | null; readonly p95: number | null; readonly calls: number }
  /** Calls that one POST may hold; 1 where batches are refused. */
  readonly batchCalls: Figure
  /** Bytes that the reply to one POST may have. */
  readonly replyBytes: Figure
  /** Blocks that one `eth_getLogs` may cover. */
  readonly logRange: Figure
  /** Calls that may be made in one second. */
  readonly rate: Figure
  /** Blocks below the head whose state it has. */
  readonly archiveDepth: Figure
  /** How far back its blocks, receipts, logs and state reach. */
  readonly history: EndpointHistory
  /** The 28 methods of the service. */
  readonly methods: Readonly<Record<ServiceMethodName, Support>>
  /** The five block tags. */
  readonly tags: Readonly<Record<Tag, Support>>
  /** What the probe took. */
  readonly cost: { readonly calls: number; readonly posts: number; readonly seconds: number }
}

/** Options with every default filled in. */
export type ProbeSettings = Pick<ProbeOptions, 'signal' | 'onProgress'> &
  Readonly<Record<'maxCalls' | 'maxBatch' | 'maxLogRange' | 'maxReplyBytes' | 'rateCalls' | 'timeoutMs', number>>

/** Small calls that measure latency. */
const LATENCY_CALLS = 10
/** With fewer calls, the other figures cannot be found. */
const FEWEST = 60

/** See `probe` in index.ts, which loads this one when it is first called. */
export async function probe(client: Client, options: ProbeOptions = {}): Promise<ProbeReport> {
  const settings = checkProbe(options)
  const connections = connectionsOf(client)
  if (connections === undefined) throw new OptionError('client', 'a client from createClient', show(client))
  const probed: Probed[] = []
  const { stop, release } = stopWith(settings.signal)
  // The POSTs bypass the client, which ends this when it is closed.
  const untilClosed = napOf(client)('probe', Number.POSITIVE_INFINITY, undefined)
  untilClosed.over.catch((closed) => stop.abort(closed))
  try {
    for (const connection of connections) probed.push(await probeEndpoint(connection, { ...settings, signal: stop.signal }))
  } finally {
    untilClosed.wake()
    release()
  }
  const [first] = probed
  if (first?.error !== undefined && probed.every(({ error }) => error !== undefined)) throw errorFor(first.error, first.report.cost.posts)
  return { endpoints: probed.map(({ report }) => report) }
}

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkProbe(options: ProbeOptions): ProbeSettings {
  check.onlyKnown('options', options, ['maxCalls', 'maxBatch', 'maxLogRange', 'maxReplyBytes', 'rateCalls', 'timeoutMs', 'signal', 'onProgress'])
  const { maxCalls = 500, maxBatch = 100, maxLogRange = 100_000, maxReplyBytes = 4 * 1024 * 1024, timeoutMs = 10_000, signal, onProgress } = options
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  const { rateCalls: given = 50 } = options
  const rateCalls = given === false ? 0 : check.whole('rateCalls', given)
  return {
    maxCalls: check.whole('maxCalls', maxCalls, FEWEST + rateCalls),
    maxBatch: check.whole('maxBatch', maxBatch),
    maxLogRange: check.whole('maxLogRange', maxLogRange),
    maxReplyBytes: check.whole('maxReplyBytes', maxReplyBytes),
    rateCalls,
    timeoutMs: check.whole('timeoutMs', timeoutMs, 1, LONGEST_TIMER),
    signal,
    onProgress,
  }
}

/** What an endpoint answered, with the failure of its first call if it answers nothing. */
interface Probed {
  readonly report: EndpointReport
  readonly error: HexlineError | undefined
}

async function probeEndpoint({ name, post, scrub = (text) => text }: Connection, settings: ProbeSettings): Promise<Probed> {
  const { maxCalls, signal, timeoutMs, rateCalls, onProgress } = settings
  const begun = performance.now()
  let step = 'chain id'
  const onPost = (calls: number) => onProgress?.({ endpoint: name, step, calls, maxCalls })
  const asker = new Asker({ post, maxCalls, reserved: rateCalls, timeoutMs, signal, onPost })
  const during = <T>(what: string, learn: () => Promise<T>): Promise<T> => {
    step = what
    return learn()
  }

  const first = await asker.one('eth_chainId')
  const error = isRefusal(first) && !isOfTheCall(first) ? errorOf(first, name) : undefined
  // An endpoint that is unreachable, or refuses every call, is asked nothing more.
  const learn = <T>(what: string, how: () => Promise<T>, otherwise: T): Promise<T> => (error === undefined ? during(what, how) : Promise.resolve(otherwise))
  const nothing = unknown('the endpoint does not answer')

  const clientVersion = await learn<Figure<string>>('version', async () => textOf(await asker.one('web3_clientVersion'), scrub), nothing)
  const latency = await learn('latency', () => latencyOf(asker, scrub), { latencyMs: { median: null, p95: null, calls: 0 }, head: nothing })
  const { tags, latest } = await learn('tags', () => tagsOf(asker), { tags: nothingOf(TAGS), latest: undefined })
  const head = latency.head.value ?? 0
  const facts = factsOf(head, latest)
  const methods = await learn('methods', () => methodsOf(asker, facts), nothingOf(METHODS))
  const needsHead = latency.head.value === null ? unknown(`the number of the latest block: ${latency.head.how}`) : undefined
  const depth = needsHead ?? (await learn('archive depth', () => archiveDepth(asker, head), nothing))
  const logRange = needsHead ?? (await learn('log range', () => logRangeLimit(asker, head, settings.maxLogRange), nothing))
  // Batches of the call whose latency was measured.
  const isAnswered = latency.latencyMs.calls > 0
  const batchCalls = isAnswered ? await learn('batch limit', () => batchLimit(asker, settings.maxBatch), nothing) : (needsHead ?? nothing)
  const replyBytes = needsHead ?? (await learn('reply limit', () => responseLimit(asker, head, batchCalls, settings.maxReplyBytes), nothing))
  const known = { head, chainId: numberOf(first, scrub).value, archiveDepth: depth, methods }
  const history = needsHead === undefined ? await learn('history', () => historyOf(asker, known), noHistory(nothing)) : noHistory(needsHead)
  const rate = rateCalls === 0 ? unknown('not tried') : await learn('rate', () => rateLimit(asker), nothing)

  const report: EndpointReport = {
    endpoint: name,
    error: error === undefined ? null : serverMessage(error),
    chainId: numberOf(first, scrub),
    clientVersion,
    head: latency.head,
    latencyMs: latency.latencyMs,
    batchCalls,
    replyBytes,
    logRange,
    rate,
    // A node that answers with a newer state seems to have all of the old one.
    archiveDepth: history.oldState.isRight === false ? unknown(history.oldState.how) : depth,
    history,
    methods,
    tags,
    cost: { calls: asker.calls, posts: asker.posts, seconds: Math.round(performance.now() - begun) / 1000 },
  }
  return { report, error }
}

function errorOf({ kind, why, error }: Refusal, endpoint: string): HexlineError {
  if (error !== undefined) return error
  const context = { method: 'probe', endpoint }
  return kind === 'timeout' ? new TimeoutError(`${endpoint}: ${why}`, context) : new MalformedReplyError(`${endpoint}: ${why}`, context)
}

/** True for an error about the call itself: the node does answer. */
function isOfTheCall({ kind, error }: { readonly kind: string; readonly error?: HexlineError }): boolean {
  return error instanceof RpcError && !['auth', 'quota', 'rate-limit', 'overloaded'].includes(kind)
}

async function latencyOf(asker: Asker, scrub: Scrub): Promise<{ latencyMs: EndpointReport['latencyMs']; head: Figure }> {
  const times: number[] = []
  let last: Heard = { kind: 'spent', why: 'not asked' }
  for (let i = 0; i < LATENCY_CALLS; i++) {
    last = await asker.one('eth_blockNumber')
    if (!isRefusal(last)) times.push(last.ms)
  }
  times.sort((a, b) => a - b)
  return { latencyMs: { median: rank(times, 0.5), p95: rank(times, 0.95), calls: times.length }, head: numberOf(last, scrub) }
}

/** A percentile by nearest rank, in ms to one decimal place; null without samples. */
function rank(sorted: readonly number[], share: number): number | null {
  const time = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return time === undefined ? null : Math.round(time * 10) / 10
}

/** A raw quantity as a number. */
function numberOf(heard: Heard, scrub: Scrub): Figure {
  if (isRefusal(heard)) return unknown(heard.why)
  const number = typeof heard.value === 'string' && /^0x[0-9a-f]{1,14}$/i.test(heard.value) ? Number(heard.value) : Number.NaN
  return Number.isSafeInteger(number) ? exactly(number, 'reported by the endpoint') : odd(heard.value, scrub)
}

function textOf(heard: Heard, scrub: Scrub): Figure<string> {
  if (isRefusal(heard)) return unknown(heard.why)
  return typeof heard.value === 'string' ? exactly(scrubStart(heard.value, 200, scrub), 'reported by the endpoint') : odd(heard.value, scrub)
}

/** An unexpected answer, scrubbed, since an endpoint can echo its URL in any of them. */
function odd(value: unknown, scrub: Scrub): Figure<never> {
  return unknown(`it answered ${typeof value === 'string' ? show(scrubStart(value, 200, scrub)) : scrub(show(value))}`)
}

function factsOf(head: number, latest: unknown): Facts {
  const { hash, transactions } = (typeof latest === 'object' && latest !== null ? latest : {}) as { hash?: unknown; transactions?: unknown }
  const first: unknown = Array.isArray(transactions) ? transactions[0] : undefined
  const zeroHash = `0x${'00'.repeat(32)}`
  return { head, blockHash: typeof hash === 'string' ? hash : zeroHash, transactionHash: typeof first === 'string' ? first : zeroHash }
}
