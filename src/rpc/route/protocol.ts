import type { Call } from '../call.ts'

/** What routing has to know about a method. */
export interface Trait {
  /** The block that a call needs: its number, `HEAD` for the newest, undefined for none. */
  readonly needs?: (params: readonly unknown[]) => number | undefined
  /** The newest block that a result proves to be there, which may be decoded. */
  readonly tells?: (result: unknown, params: readonly unknown[]) => number | undefined
  /** It is not a read, and may still go to a second endpoint. */
  readonly mayRunTwice?: true
  /**
   * It gives the id of a filter, or takes one as its first parameter; only the endpoint that made
   * the filter knows it.
   */
  readonly filter?: 'makes' | 'takes' | 'ends'
}

/** What routing has to know about the protocol: `rpc` does not know Ethereum. */
export interface Protocol {
  readonly traitOf: (method: string) => Trait | undefined
  /** Asks for an endpoint's newest block. */
  readonly askHead: Pick<Call, 'method' | 'params'>
  /** Asks for its chain. */
  readonly askChain: Pick<Call, 'method' | 'params'>
  /** The chain's id in the result of `askChain`; undefined when the result is invalid. */
  readonly chainOf: (result: unknown) => number | undefined
}

/** The newest block, whatever its number. */
export const HEAD = Number.POSITIVE_INFINITY
