import { type AnswerKind, HexlineError, MalformedReplyError, ServiceError } from '../errors.ts'
import { classify } from '../eth/errors/classify.ts'
import { isLoopback } from '../http/compression.ts'
import { createExchange } from '../http/create-exchange.ts'
import type { HttpReply } from '../http/exchange.ts'
import { scrubJson } from '../http/scrub-json.ts'
import { type Scrub, scrubber, scrubStart } from '../http/secrets.ts'
import { patienceAfter } from '../rpc/call.ts'
import { errorFor } from '../rpc/call-failure.ts'
import { mayRepeat } from '../rpc/failure-kinds.ts'
import { type Repeatable, repeat, reportRetry } from '../rpc/retry.ts'
import { jittered, limitResetMs, retryAfterMs, waitSaid } from '../rpc/retry-delay.ts'
import { LONGEST_MESSAGE } from '../text.ts'
import type { Waiter } from '../wait/waiting.ts'
import { endpointAt } from './endpoint.ts'
import type { Settings } from './service.ts'

export interface Target {
  /** Base URL of the group. */
  readonly base: URL
  readonly apiKey: string
  readonly headers: Readonly<Record<string, string>>
  /** Name of the operation, for errors. */
  readonly operation: string
  /** Hides the key. */
  readonly scrub: Scrub
}

/** The JSON of a reply. */
export interface Answer {
  readonly body: unknown
  /** GETs that it took. */
  readonly attempts: number
}

export function targetOf(base: URL, apiKey: string, operation: string, settings: Settings): Target {
  const headers = { accept: 'application/json', 'user-agent': 'hexline', 'x-api-key': apiKey, ...settings.headers }
  return { base, apiKey, headers, operation, scrub: scrubber(base, headers, [apiKey]) }
}

/**
 * Gets JSON from the service; `path` is appended to the group's base URL. The GET waits in the
 * queue of its host and key, and is retried like any safe call: after 408, 5xx and network
 * failures, but never for an invalid key. A throttled GET does not count as a failed attempt.
 * Rejects with `ServiceError` for an error of the service, with other subclasses of `HexlineError`
 * if there is no usable reply, or with the reason of the caller's signal.
 */
export async function getJson({ base, apiKey, headers, operation, scrub }: Target, path: string, settings: Settings): Promise<Answer> {
  const endpoint = endpointAt(base.host, apiKey)
  const { waiting } = endpoint
  const exchange = createExchange({
    url: base,
    headers,
    connections: 1,
    timeoutMs: settings.timeoutMs,
    maxResponseBytes: settings.maxResponseBytes,
    compression: !isLoopback(base.hostname),
    dispatcher: settings.dispatcher ?? endpoint.dispatcher,
    scrub,
    alarms: waiting.alarms,
    progress: endpoint.progress,
  })
  const request = { method: 'GET', path: base.pathname.replace(/(?<!\/)\/+$/, '') + path } as const
  const waiter: Waiter = { method: operation, signal: settings.signal, deadline: waiting.clock.now() + settings.deadlineMs }
  let gets = 0
  const get = (stalls: number): Promise<unknown> => {
    const run = async (signal: AbortSignal) => {
      gets++
      try {
        return read(await exchange.send({ ...request, patience: patienceAfter(stalls) }, signal), operation, base.host, scrub)
      } catch (error) {
        if (!(error instanceof HexlineError)) throw error
        const failure = Object.assign(error, { method: operation })
        // A final error counts as an answer, since it shows that the service accepts calls at this
        // rate.
        if (failure instanceof ServiceError && mayRepeat(failure) !== true) return failure
        throw failure
      }
    }
    return endpoint.run({ ...waiter, run })
  }
  const task: Repeatable<unknown> = {
    ...waiter,
    attempts: settings.attempts,
    mayRepeat: ({ error }) => mayRepeat(error) === true,
    again: (_, { isLast, stalls }) => get(isLast ? Number.POSITIVE_INFINITY : stalls),
    beforeWait: (failure, attempt, waitMs) => reportRetry(operation, failure, attempt, waitMs),
  }
  const first = get(settings.attempts > 1 ? 0 : Number.POSITIVE_INFINITY)
  const answer = await first.catch((reason) => repeat(reason, task, jittered(settings.backoff), waiting))
  if (answer instanceof ServiceError) throw errorFor(answer, gets)
  return { body: answer, attempts: gets }
}

/** Takes a body with a byte order mark, too, as for JSON-RPC: `TextDecoder` leaves it out. */
function read(reply: HttpReply, operation: string, endpoint: string, scrub: Scrub): unknown {
  const { status } = reply
  let body: unknown
  let isJson = true
  try {
    body = JSON.parse(new TextDecoder().decode(reply.body))
  } catch {
    isJson = false
  }
  if (status >= 300 || status < 200) throw failure(reply, isJson ? body : undefined, operation, endpoint, scrub)
  if (isJson) return body
  const what = reply.body.length === 0 ? 'the reply is empty' : `the reply is not JSON, or only the start of it (${reply.body.length} bytes)`
  throw new MalformedReplyError(`${endpoint}: ${operation}: ${what}`, { method: operation, endpoint })
}

function failure(reply: HttpReply, parsed: unknown, operation: string, endpoint: string, scrub: Scrub): ServiceError {
  const { status, headers } = reply
  const body = parsed === undefined ? scrubStart(reply.body.toString('utf8', 0, 16_384), 500, scrub, '') : scrubJson(parsed, scrub)
  const said = messageIn(body)?.slice(0, LONGEST_MESSAGE)
  const asked = retryAfterMs(headers)
  // An HTML page comes from a gateway and does not describe the key.
  const kind = kindOf(status, (parsed !== undefined && said) || '', asked)
  const isThrottling = kind === 'rate-limit' || kind === 'overloaded'
  return new ServiceError(
    { operation, status, said, body },
    { endpoint, kind, retryAfterMs: asked ?? (isThrottling ? (waitSaid(said ?? '') ?? limitResetMs(headers)) : undefined) },
  )
}

/**
 * The message of an error's body. The service specification does not define such bodies. These are
 * common: `{ message }`, `{ message: [..] }`, `{ error }`.
 */
export function messageIn(body: unknown): string | undefined {
  if (typeof body === 'string') return body === '' ? undefined : body
  if (typeof body !== 'object' || body === null) return undefined
  const { message, error, details } = body as Record<string, unknown>
  for (const each of [message, error, details]) {
    if (typeof each === 'string' && each !== '') return each
    if (Array.isArray(each) && each.length > 0) return each.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join('; ')
  }
  return undefined
}

const USED_UP =
  /\b(?:quota|plan|usage|consumed|compute units|credits?|exhausted|used up|upgrade|(?:limit|quota) (?:(?:was|is|has been) )?(?:reached|exceeded)|free[- ](?:plan|tier))\b/i

/**
 * Status 401 stands both for an invalid key and for one that has used up its quota. The message
 * tells them apart.
 */
function kindOf(status: number, said: string, asked: number | undefined): AnswerKind {
  if (status === 401 || status === 402 || status === 403) return USED_UP.test(said) || status === 402 ? 'quota' : 'auth'
  if (status === 404) return 'not-found'
  if (status === 408) return 'timeout'
  // A daily or monthly quota does not recover while a call waits. Limits per second also say "limit
  // exceeded", so this check is stricter.
  if (status === 429) return classify({ method: '', status, message: said, retryAfterMs: asked }) === 'quota' ? 'quota' : 'rate-limit'
  if (status === 501) return 'unsupported'
  if (status >= 500) return status === 529 || (status === 503 && asked !== undefined) ? 'overloaded' : 'server'
  return 'invalid'
}
