import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { isSafe } from '../eth/methods.ts'
import type { PooledCall, Reply, Send } from '../rpc/call.ts'
import { reportCall } from '../rpc/call-events.ts'
import type { Pin } from '../rpc/pin.ts'
import { show } from '../text.ts'
import type { Clock } from '../wait/clock.ts'
import type { LinkedSignals } from '../wait/linked-signals.ts'
import type { Request } from './client.ts'
import { ALONE, AT_ONCE, AVOID, DECODE, HAS_SUBSTITUTE, ONLY, RECORD, type RequestMarks, UNREAD } from './internals.ts'
import { type CallSettings, checkCallSettings, type Settings } from './options.ts'

/** The parts of a client that sending a call needs. */
export interface Sending {
  readonly pipeline: Send
  readonly defaults: Settings
  readonly clock: Clock
  readonly links: LinkedSignals
}

/** Sends a request as one call. Throws `OptionError` for invalid settings. */
export type SendRequest = (request: Request & RequestMarks) => Promise<Reply>

/** No endpoint has failed a new call. */
const NOT_TRIED: readonly string[] = Object.freeze([])

/**
 * The function that turns requests into calls of the pipeline. A setting of a call is the request's
 * own, else that of `own`, else the client's default. A call ends with its own signal and with each
 * of `signals`.
 *
 * Only the start of a call is reported here. Its end is reported by the caller, who gives the
 * request a record for it.
 */
export function callSender(
  { pipeline, defaults, clock, links }: Sending,
  own: Omit<CallSettings, 'signal'>,
  signals: readonly AbortSignal[],
  pin: Pin | undefined,
): SendRequest {
  return (request) => {
    const given = settingsOf(request)
    const { method, params = [], as = 'value', required = false } = request
    if (as !== 'value' && as !== 'bytes') throw new OptionError('as', "'value' or 'bytes'", show(as))
    check.flag('required', required)
    const priority = given.priority ?? own.priority ?? 'interactive'
    const record = request[RECORD]
    const now = clock.now()
    const all = withSignal(signals, given.signal)
    const linked = all.length > 1 ? links.link(all) : undefined
    const bodies = request[UNREAD]
    const call: PooledCall = {
      method,
      // Params by name are an object. Only a user's layer would inspect them.
      params: params as readonly unknown[],
      signal: linked?.signal ?? all[0],
      deadline: now + (given.deadlineMs ?? own.deadlineMs ?? defaults.deadlineMs),
      attempts: given.attempts ?? own.attempts ?? (priority === 'bulk' ? Number.POSITIVE_INFINITY : defaults.attempts),
      timeoutMs: shorter(given.timeoutMs ?? own.timeoutMs, defaults.timeoutMs),
      whilePaused: given.whilePaused ?? own.whilePaused,
      priority,
      as,
      isUnread: bodies !== undefined,
      bodies,
      decode: request[DECODE],
      atOnce: request[AT_ONCE],
      hasSubstitute: request[HAS_SUBSTITUTE],
      alone: request[ALONE],
      required,
      safe: isSafe(method),
      tried: request[AVOID] ?? NOT_TRIED,
      avoid: request[AVOID],
      heldBy: request[ONLY],
      // A question to one endpoint neither follows the pin nor moves it.
      pin: request[ONLY] === undefined ? pin : undefined,
      record,
    }
    if (record !== undefined) {
      record.deadline = call.deadline
      reportCall(call, record, now)
    }
    const reply = pipeline(call)
    return linked === undefined ? reply : reply.finally(linked.release)
  }
}

/** The signals, with one more unless it is among them. */
export function withSignal(signals: readonly AbortSignal[], signal: AbortSignal | undefined): readonly AbortSignal[] {
  return signal === undefined || signals.includes(signal) ? signals : [...signals, signal]
}

const NONE: CallSettings = {}

/**
 * The settings among the fields of a request, checked. Most requests have none, and skip the work.
 */
function settingsOf(request: Request): CallSettings {
  for (const key in request) {
    if (key === 'method' || key === 'params' || key === 'as' || key === 'required' || key === 'signal') continue
    const { method, params, as, required, ...settings } = request
    return checkCallSettings(settings)
  }
  if (request.signal === undefined) return NONE
  check.signal(request.signal)
  return request
}

/** The endpoint enforces its own timeout, since it knows how far the POST has come. */
function shorter(timeoutMs: number | undefined, ofEndpoint: number): number | undefined {
  return timeoutMs !== undefined && timeoutMs < ofEndpoint ? timeoutMs : undefined
}
