import * as check from '../check.ts'
import { CodecError, HexlineError, OptionError } from '../errors.ts'
import { byteDecoder, decodeResult, encodeArguments, isSafe } from '../eth/methods.ts'
import { withTransaction } from '../eth/send-raw-transaction.ts'
import type { Reply } from '../rpc/call.ts'
import { areCallsReported, reportAnswered, reportFailed } from '../rpc/call-events.ts'
import { CallRecord } from '../rpc/call-record.ts'
import { takeDecoded } from '../rpc/decoded-reply.ts'
import type { CurrentLimits } from '../rpc/limits/endpoint-limits.ts'
import { Pin } from '../rpc/pin.ts'
import { show } from '../text.ts'
import type { TurnClock } from '../wait/turn-clock.ts'
import { callSender, type Sending, withSignal } from './call-sender.ts'
import type { Client, Request } from './client.ts'
import type { Connection } from './endpoint.ts'
import { AVOID, DECODE, type NapUntil, ONLY, type PaceBy, RECORD, type RequestMarks, withInternals } from './internals.ts'
import { type CallSettings, checkCallSettings, givenSettings } from './options.ts'
import { ownParams, ownResult } from './own-json.ts'
import { scrubError } from './scrub-error.ts'
import { type Listen, noWebSocket, type Subscription, subscription } from './subscribe.ts'
import type { AskOne, Supported } from './supports.ts'

/** What a client shares with those that its `with` and `pinned` make. */
export interface Shared extends Sending {
  /** A function of the user's may have made a reply, and keep what is in it. */
  readonly mayKeepResults: boolean
  readonly endpoints: readonly string[]
  readonly close: () => Promise<void>
  readonly connections: readonly Connection[]
  readonly limits: () => readonly CurrentLimits[]
  /** The time at which calls end. */
  readonly turn: TurnClock
  /** Undefined where no endpoint is a WebSocket. */
  readonly listen: Listen | undefined
  readonly nap: NapUntil
  readonly paceBy: PaceBy
  readonly supported: Supported
}

/** A request that no one else has. */
type OwnRequest = Request & Omit<RequestMarks, typeof RECORD> & { [RECORD]?: CallRecord }

/**
 * The methods of a client over its pipeline, with these settings for its calls. Each of `signals`
 * ends them.
 */
export function clientOf(parts: Shared, own: Omit<CallSettings, 'signal'> = {}, signals: readonly AbortSignal[] = [], pin?: Pin): Client {
  const { defaults, endpoints, close, clock, turn, supported } = parts
  /** Sends a call. Its end is reported by `call` and by `sendAndReport`, which give it a record. */
  const send = callSender(parts, own, signals, pin)

  /** Sends a call and reports its end. The request gets a record for that if it has none. */
  function sendAndReport(request: OwnRequest): Promise<Reply> {
    if (!areCallsReported()) return send(request)
    request[RECORD] ??= new CallRecord()
    const record = request[RECORD]
    return send(request).then(
      (reply) => {
        reportAnswered(record, reply, turn)
        return reply
      },
      (reason) => {
        reportFailed(record, reason, turn)
        throw reason
      },
    )
  }

  /**
   * Resolves to the result, with one promise fewer. A failure may show that a method is missing.
   */
  function sendForResult(request: OwnRequest): Promise<unknown> {
    if (!areCallsReported()) return send(request).then(resultOf, noteAndThrow)
    const record = new CallRecord()
    request[RECORD] = record
    return send(request).then(
      (reply) => {
        reportAnswered(record, reply, turn)
        return resultOf(reply)
      },
      (reason) => {
        reportFailed(record, reason, turn)
        return noteAndThrow(reason)
      },
    )
  }

  function noteAndThrow(reason: unknown): never {
    supported.note(reason)
    throw reason
  }

  /** Throws `CodecError`. */
  function decoded(reply: Reply, method: string, params: readonly unknown[]): unknown {
    const already = takeDecoded(reply)
    if (already !== undefined) return already
    const taken = reply.take()
    // It is decoded in place.
    return decodeResult(method, parts.mayKeepResults ? ownResult(taken, method) : taken, params)
  }

  /** May another endpoint answer otherwise than the one that answered? */
  function mayDiffer(method: string, { endpoint }: CallRecord): boolean {
    return endpoint !== undefined && parts.connections.length > 1 && pin === undefined && isSafe(method)
  }

  /**
   * The result of a read of which this endpoint gave one that cannot be decoded, from one of the
   * others, which are asked one after the other; undefined where none gives one that can.
   */
  async function decodedElsewhere(
    method: string,
    params: readonly unknown[],
    { endpoint, deadline }: CallRecord,
  ): Promise<{ readonly value: unknown } | undefined> {
    const asked = [endpoint as string]
    for (;;) {
      const record = new CallRecord()
      const deadlineMs = Math.max(1, deadline - clock.now())
      try {
        const reply = await sendAndReport({ method, params, deadlineMs, [RECORD]: record, [DECODE]: byteDecoder(method, params), [AVOID]: asked })
        if (record.endpoint === undefined || asked.includes(record.endpoint)) return undefined
        asked.push(record.endpoint)
        return { value: decoded(reply, method, params) }
      } catch (error) {
        if (!(error instanceof HexlineError)) throw error
        if (!(error instanceof CodecError) || asked.length === parts.connections.length) return undefined
      }
    }
  }

  const client: Client = {
    async call(method: string, ...args: unknown[]) {
      const params = encodeArguments(method, args)
      const record = new CallRecord()
      let reply: Reply
      try {
        reply = await send({ method, params, [RECORD]: record, [DECODE]: byteDecoder(method, params) })
      } catch (reason) {
        supported.note(reason)
        reportFailed(record, reason, turn)
        throw reason
      }
      reportAnswered(record, reply, turn)
      try {
        return decoded(reply, method, params) as never
      } catch (error) {
        const elsewhere = mayDiffer(method, record) ? await decodedElsewhere(method, params, record) : undefined
        if (elsewhere !== undefined) return elsewhere.value as never
        throw await withTransaction(scrubError(error, parts.connections, record), method, params)
      }
    },

    request(request, options) {
      try {
        const { method, params } = request ?? {}
        const signal = options?.signal
        if (signal != null) check.signal(signal)
        const copied = ownParams(method, params)
        return sendForResult(signal == null ? { method, params: copied } : { method, params: copied, signal })
      } catch (error) {
        return Promise.reject(error)
      }
    },

    send(request) {
      try {
        return sendAndReport({ ...request, params: ownParams(request?.method, request?.params) })
      } catch (error) {
        return Promise.reject(error)
      }
    },

    with(settings) {
      const { signal, ...others } = givenSettings(checkCallSettings(settings))
      return clientOf({ ...parts, close: async () => {} }, { ...own, ...others }, withSignal(signals, signal), pin)
    },

    subscribe(event: string, options: object = {}): Subscription<never> {
      const { listen } = parts
      if (listen === undefined) throw noWebSocket()
      const ownListen: Listen = (params, subscriber, signal) => {
        const all = withSignal(signals, signal)
        const linked = all.length > 1 ? parts.links.link(all) : undefined
        return listen(params, subscriber, linked?.signal ?? all[0], linked?.release)
      }
      return subscription(event, options as Record<string, unknown>, ownListen, (error) => scrubError(error, parts.connections)) as Subscription<never>
    },

    async supports(method) {
      if (typeof method !== 'string' || method === '') throw new OptionError('method', 'the name of a method', show(method))
      const ask: AskOne = (endpoint, asked, params, signal) =>
        send({ method: asked, params, signal, attempts: ATTEMPTS_TO_ASK, [ONLY]: endpoint } as Request & RequestMarks).then(resultOf)
      return supported.supports(method, ask)
    },

    pinned: () => clientOf({ ...parts, close: async () => {} }, own, signals, new Pin()),

    endpoints,
    close,
    [Symbol.asyncDispose]: close,
  }
  const timeoutMs = Math.min(own.timeoutMs ?? defaults.timeoutMs, defaults.timeoutMs)
  return withInternals(client, {
    connections: parts.connections,
    clock,
    limits: parts.limits,
    timeoutMs,
    deadlineMs: own.deadlineMs ?? defaults.deadlineMs,
    backoff: defaults.backoff,
    listen: parts.listen,
    nap: parts.nap,
    paceBy: parts.paceBy,
  })
}

function resultOf(reply: Reply): unknown {
  return reply.take()
}

/** A question may be lost once. */
const ATTEMPTS_TO_ASK = 2
