import { channel } from 'node:diagnostics_channel'
import type { ErrorKind } from '../errors.ts'
import { processWide } from '../process-wide.ts'

/*
 * What hexline publishes on `node:diagnostics_channel`. Publishers ask `hasSubscribers` first:
 * without a subscriber, no message is made. No message holds a URL's path or query, a header, a
 * param, a result or a server's words: what is not there cannot leak.
 */

/**
 * `hexline:call:start`: a call of the user begins. Subscribers run in the async context of its
 * caller.
 */
export interface CallStartEvent {
  /** Number of the call in this process, as in its `CallEvent`. */
  readonly id: number
  readonly method: string
  readonly priority: 'interactive' | 'bulk'
}

/** `hexline:call`: a call of the user has ended, after all its attempts. */
export interface CallEvent {
  /** Number of the call in this process. */
  readonly id: number
  readonly method: string
  /**
   * Host and port of the endpoint that answered it or failed it last; undefined for a call that was
   * never sent.
   */
  readonly endpoint: string | undefined
  readonly priority: 'interactive' | 'bulk'
  /** How many times it was sent, as in `HexlineError.attempts`; 0 when it never was. */
  readonly attempts: number
  /** From the call to its end, in ms: waiting in line, attempts and the waits between them. */
  readonly durationMs: number
  /** `aborted`: by the caller's own signal. */
  readonly outcome: 'answered' | 'failed' | 'aborted'
  /**
   * The kind of the failure; undefined where there is none, or where a user's layer threw something
   * else.
   */
  readonly kind: ErrorKind | undefined
  /** `code` of the JSON-RPC error that it failed with; undefined where there is none. */
  readonly rpcCode: number | undefined
  /** Size of the result, in bytes after decompression; 0 when there is none. */
  readonly bytes: number
}

/** `hexline:post:start`: a POST begins. */
export interface PostStartEvent {
  /** Number of the POST in this process, as in its `PostEvent`. */
  readonly id: number
  readonly endpoint: string
  /** Calls in it. */
  readonly calls: number
  /**
   * The users' calls that it carries, by the ids of their events: none for hexline's own, several
   * for one that identical calls have joined.
   */
  readonly callIds: readonly number[]
}

/** `hexline:post`: a POST has ended. */
export interface PostEvent {
  /** Number of the POST in this process. */
  readonly id: number
  readonly endpoint: string
  /** Calls in it. */
  readonly calls: number
  /** Size of the reply's body, in bytes after decompression; 0 when none came. */
  readonly bytes: number
  /** From its start to the last byte of its reply, read, in ms. */
  readonly durationMs: number
  /** HTTP status, where a whole reply came; undefined also for an endpoint that is a function. */
  readonly status: number | undefined
  /** How many of its calls failed, by kind. Empty when each has a result. */
  readonly failures: Readonly<Partial<Record<ErrorKind, number>>>
  /** It was cut because all its calls were given up: its failures say nothing. */
  readonly isCut: boolean
}

/** `hexline:retry`: an attempt of a call has failed, and another one follows. */
export interface RetryEvent {
  readonly method: string
  /** The one that failed it. */
  readonly endpoint: string | undefined
  readonly kind: ErrorKind
  /**
   * The node's error code, else the HTTP status, else the system's code, such as -32005, 503 or
   * `ECONNRESET`; undefined when there is none.
   */
  readonly code: number | string | undefined
  /**
   * Number of the attempt that comes next: 2 for the first repetition, 1 if the call has not been
   * in a POST yet because its endpoint is paused.
   */
  readonly attempt: number
  /** How long the call waits before that, in ms. */
  readonly waitMs: number
}

/** `hexline:throttle`: an endpoint throttles, or its limits have been learnt anew. */
export interface ThrottleEvent {
  readonly endpoint: string
  /**
   * Why: `rate-limit` or `overloaded`, a refusal for its size, or what made hexline send less
   * (`timeout`, `network`, `server`, `malformed`, `not-found`); undefined when it sends more again.
   */
  readonly kind: ErrorKind | undefined
  /** Calls of the POST that failed in this way. */
  readonly calls: number
  /** How long the endpoint is paused from now on, in ms; 0 when it is not. */
  readonly pauseMs: number
  /** How long it asked to be left alone, in ms; undefined when it did not ask. */
  readonly retryAfterMs: number | undefined
  /** Longest batch from now on, in calls. */
  readonly maxCalls: number
  /** POSTs that may be in flight from now on. */
  readonly concurrency: number
  /** Calls per second from now on, where the user has set a rate or throttling has shown one. */
  readonly callsPerSecond: number | undefined
}

/**
 * `hexline:route`: an endpoint is taken out or used again, or a call moves to another one. Only
 * where there are several.
 */
export type RouteEvent =
  | {
      readonly change: 'left-out'
      readonly endpoint: string
      /**
       * `fails`: it cannot be reached, breaks off, answers nonsense or nothing. `refuses`: it
       * rejects the key, or a quota is used up, or nothing takes calls at its URL.
       */
      readonly reason: 'fails' | 'refuses'
      /**
       * After this time, in ms, it is asked whether it is back. If not, it is out for longer, with
       * another event.
       */
      readonly forMs: number
    }
  | { readonly change: 'back'; readonly endpoint: string }
  | {
      readonly change: 'taken-out'
      readonly endpoint: string
      readonly reason: 'wrong-chain'
      /** Ids of its chain, and of the chain of the others. */
      readonly chainId: number
      readonly expectedChainId: number | undefined
    }
  | {
      readonly change: 'moved'
      readonly method: string
      /** From which endpoint, and to which one. */
      readonly endpoint: string
      readonly to: string
      /**
       * Why, when the call moves at once. Undefined for a repetition, which `hexline:retry` has
       * told, and where the endpoint of a pinned call is out of use.
       */
      readonly kind: ErrorKind | undefined
    }

/** Each channel, and what its messages are. */
export interface Events {
  readonly 'hexline:call:start': CallStartEvent
  readonly 'hexline:call': CallEvent
  readonly 'hexline:post:start': PostStartEvent
  readonly 'hexline:post': PostEvent
  readonly 'hexline:retry': RetryEvent
  readonly 'hexline:throttle': ThrottleEvent
  readonly 'hexline:route': RouteEvent
}

export const callStartEvents = channelOf('hexline:call:start')
export const callEvents = channelOf('hexline:call')
export const postStartEvents = channelOf('hexline:post:start')
export const postEvents = channelOf('hexline:post')
export const retryEvents = channelOf('hexline:retry')
export const throttleEvents = channelOf('hexline:throttle')
export const routeEvents = channelOf('hexline:route')

/**
 * How many calls and POSTs of this process were numbered so far: calls that a channel or a watcher
 * is told of, and POSTs that a channel reports.
 */
export const numbered = processWide('numbered', () => ({ calls: 0, posts: 0 }))

/** One of node's channels, with the type of its messages. */
interface Channel<Message> {
  readonly hasSubscribers: boolean
  publish(message: Message): void
}

function channelOf<Name extends keyof Events>(name: Name): Channel<Events[Name]> {
  return channel(name)
}
