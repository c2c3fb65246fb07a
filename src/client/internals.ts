import type { BodyPool } from '../rpc/body-pool.ts'
import type { PooledCall } from '../rpc/call.ts'
import type { CallRecord } from '../rpc/call-record.ts'
import { DEFAULTS } from '../rpc/defaults.ts'
import type { CurrentLimits } from '../rpc/limits/endpoint-limits.ts'
import type { Budget } from '../rpc/limits/rate/given-budget.ts'
import type { Pacing } from '../rpc/limits/rate/pacer.ts'
import type { Backoff } from '../rpc/retry-delay.ts'
import { type Clock, systemClock } from '../wait/clock.ts'
import { type Nap, Waiting } from '../wait/waiting.ts'
import type { Connection } from './endpoint.ts'
import type { Listen } from './subscribe.ts'

/*
 * What hexline's own modules share with a client beyond its public interface. The symbols are
 * registered process-wide, so that the ES modules also work with a client of the CommonJS build,
 * and vice versa. No public type mentions them.
 */

const INTERNALS = Symbol.for('hexline.internals')

interface Internals {
  readonly connections: readonly Connection[]
  readonly clock: Clock
  /** What each endpoint is sent from now on. */
  readonly limits: () => readonly CurrentLimits[]
  readonly timeoutMs: number
  readonly deadlineMs: number
  readonly backoff: Backoff
  /** Undefined where no endpoint is a WebSocket. */
  readonly listen: Listen | undefined
  readonly nap: NapUntil
  readonly paceBy: PaceBy
}

/** An endpoint whose calls get another pacer. */
export interface PacedEndpoint {
  /** The same in all processes, and without a secret. */
  readonly fingerprint: string
  readonly clock: Clock
  /** The rate that the user gave. */
  readonly given: Budget | undefined
  /** Has the calls that wait look whether they may go. */
  readonly wake: () => void
}

/** Gives each endpoint another pacer. */
export type PaceBy = (make: (endpoint: PacedEndpoint) => Pacing) => void

/**
 * Waits until `until` on the client's clock, or until it is woken. Rejects with the signal's
 * reason, and with `ClosedError`, which names `method`, when the client is closed.
 */
export type NapUntil = (method: string, until: number, signal: AbortSignal | undefined) => Nap

/** Attaches internals to a new client. A copy of its public fields does not have them. */
export function withInternals<C extends object>(client: C, internals: Internals): C {
  return Object.defineProperty(client, INTERNALS, { value: internals })
}

/**
 * The endpoints of a client, for POSTs that bypass its queue and for hiding their secrets;
 * undefined unless `createClient` made the client.
 */
export function connectionsOf(client: object | null | undefined): readonly Connection[] | undefined {
  return internalsOf(client)?.connections
}

/** The clock of a client's calls. */
export function clockOf(client: object): Clock {
  return internalsOf(client)?.clock ?? systemClock
}

/** What each endpoint of a client is sent from now on; empty unless `createClient` made it. */
export function limitsOf(client: object): readonly CurrentLimits[] {
  return internalsOf(client)?.limits() ?? []
}

/** Timeout of one attempt of a client's calls, in ms. */
export function timeoutOf(client: object): number {
  return internalsOf(client)?.timeoutMs ?? DEFAULTS.timeoutMs
}

/** Deadline of a client's calls, in ms; infinite unless `createClient` made it. */
export function deadlineOf(client: object): number {
  return internalsOf(client)?.deadlineMs ?? Number.POSITIVE_INFINITY
}

/** How the waits between attempts of a client's calls grow. */
export function backoffOf(client: object): Backoff {
  return internalsOf(client)?.backoff ?? DEFAULTS
}

/** Gives each endpoint of a client another pacer; undefined unless `createClient` made it. */
export function paceByOf(client: object): PaceBy | undefined {
  return internalsOf(client)?.paceBy
}

/** Gives `other`, which calls `client` for its requests, the internals of `client`. */
export function withInternalsOf<C extends object>(client: object, other: C): C {
  const internals = internalsOf(client)
  return internals === undefined ? other : withInternals(other, internals)
}

/**
 * Subscribes with raw params, for raw results; undefined where no endpoint is a WebSocket, and for
 * a client that `createClient` has not made.
 */
export function listenOf(client: object): Listen | undefined {
  return internalsOf(client)?.listen
}

/** Waiting that the client ends when it is closed. */
export function napOf(client: object): NapUntil {
  return internalsOf(client)?.nap ?? napAlone
}

/** For a client that `createClient` has not made. */
const napAlone: NapUntil = (method, until, signal) => new Waiting(systemClock).nap({ method, signal, deadline: Number.POSITIVE_INFINITY }, until)

function internalsOf(client: object | null | undefined): Internals | undefined {
  return (client as { readonly [INTERNALS]?: Internals } | null | undefined)?.[INTERNALS]
}

/**
 * Marks a request for bytes that `readUnread` will check, and holds the pool for its body's memory.
 */
export const UNREAD: unique symbol = Symbol.for('hexline.unread')

/**
 * The record of a request whose result may not be decodable. The error then names the result's
 * origin.
 */
export const RECORD: unique symbol = Symbol.for('hexline.record')

/** Decodes the result of a request from its bytes, as `PooledCall` says. */
export const DECODE: unique symbol = Symbol.for('hexline.decode')

/** Names of endpoints that a request goes to only if there is no other. */
export const AVOID: unique symbol = Symbol.for('hexline.avoid')

/** The name of the only endpoint that a request goes to. */
export const ONLY: unique symbol = Symbol.for('hexline.only')

/** The request does not wait for the end of the turn of the event loop, as `PooledCall` says. */
export const AT_ONCE: unique symbol = Symbol.for('hexline.atOnce')

/** Whether the request shares its POST, as `PooledCall` says. */
export const ALONE: unique symbol = Symbol.for('hexline.alone')

/** The caller has another way to get the result where endpoints lack the method. */
export const HAS_SUBSTITUTE: unique symbol = Symbol.for('hexline.hasSubstitute')

/** Fields that hexline's own modules add to a request of `client.send`. */
export interface RequestMarks {
  readonly [AVOID]?: readonly string[] | undefined
  readonly [ONLY]?: string | undefined
  readonly [UNREAD]?: BodyPool | undefined
  readonly [RECORD]?: CallRecord
  readonly [DECODE]?: PooledCall['decode']
  readonly [AT_ONCE]?: boolean | undefined
  readonly [HAS_SUBSTITUTE]?: boolean | undefined
  readonly [ALONE]?: PooledCall['alone']
}
