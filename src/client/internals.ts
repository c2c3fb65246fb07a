import type { BodyPool } from '../rpc/body-pool.ts'
import type { Tally } from '../rpc/tally.ts'
import { type Clock, systemClock } from '../wait/clock.ts'
import type { Connection } from './endpoint.ts'

/*
 * What hexline's own modules share with a client, past its public interface. The symbols are registered for the whole
 * process, so that the ES modules work with a client of the CommonJS build, and the other way round. No public type names
 * them.
 */

const INTERNALS = Symbol.for('hexline.internals')

interface Internals {
  readonly connections: readonly Connection[]
  readonly clock: Clock
}

/** Gives a new client its internals. A copy of its public fields does not have them. */
export function withInternals<C extends object>(client: C, internals: Internals): C {
  return Object.defineProperty(client, INTERNALS, { value: internals })
}

/** The endpoints of a client, for POSTs past its queue and to hide their secrets; undefined unless `createClient` made it. */
export function connectionsOf(client: object | null | undefined): readonly Connection[] | undefined {
  return internalsOf(client)?.connections
}

/** The clock that the calls of a client are on. */
export function clockOf(client: object): Clock {
  return internalsOf(client)?.clock ?? systemClock
}

function internalsOf(client: object | null | undefined): Internals | undefined {
  return (client as { readonly [INTERNALS]?: Internals } | null | undefined)?.[INTERNALS]
}

/** Marks a request for bytes that go to `readUnread`, with the memory that its body may be received in. */
export const UNREAD: unique symbol = Symbol.for('hexline.unread')

/** The tally of a request whose result may turn out to be unreadable: the error then says where the result came from. */
export const TALLY: unique symbol = Symbol.for('hexline.tally')

/** What hexline's own modules write on a request of `client.send`. */
export interface RequestMarks {
  readonly [UNREAD]?: BodyPool | undefined
  readonly [TALLY]?: Tally
}
