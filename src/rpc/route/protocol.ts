import type { Call } from '../call.ts'

/** What routing has to know of a method. Each may be absent. */
export interface Trait {
  /** The block that a call needs: its number, `HEAD` for the newest, undefined for none. */
  readonly needs?: (params: readonly unknown[]) => number | undefined
  /** The newest block that a result tells of. */
  readonly tells?: (result: unknown, params: readonly unknown[]) => number | undefined
  /** It is not a read, and yet does no harm at a second endpoint. */
  readonly mayRunTwice?: true
  /** It gives the id of a filter, or takes one as its first parameter; only the endpoint that made the filter knows it. */
  readonly filter?: 'makes' | 'takes' | 'ends'
}

/** What routing has to know of the protocol that is spoken: nothing in `rpc` knows Ethereum. */
export interface Protocol {
  readonly traitOf: (method: string) => Trait | undefined
  /** Asks for an endpoint's newest block. */
  readonly askHead: Pick<Call, 'method' | 'params'>
  /** Asks for its chain. */
  readonly askChain: Pick<Call, 'method' | 'params'>
  /** The chain's id in the result of that; undefined when it is none. */
  readonly chainOf: (result: unknown) => number | undefined
}

/** The newest block, whatever its number. */
export const HEAD = Number.POSITIVE_INFINITY
