import type { HexlineError } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Resource } from './history.ts'

/** What routing has to know about a method. */
export interface Trait {
  /** The block that a call needs: its number, `HEAD` for the newest, undefined for none. */
  readonly needs?: (params: readonly unknown[]) => number | undefined
  /** It names by a hash what may be in the newest block: null is an answer, and may be wrong. */
  readonly mayBeNew?: true
  /** What it reads of that block, or of the oldest block of its range. */
  readonly reads?: Resource
  /** The oldest block that a call needs, where that is not the same block. */
  readonly oldest?: (params: readonly unknown[]) => number | undefined
  /** The newest block of a range that nodes end at their heads without a word. */
  readonly endsAtHead?: (params: readonly unknown[]) => number | undefined
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
  /** Asks for a block by its number. */
  readonly askBlock: (number: number) => Pick<Call, 'method' | 'params'>
  /** Asks for its chain. */
  readonly askChain: Pick<Call, 'method' | 'params'>
  /** The chain's id in the result of `askChain`; undefined when the result is invalid. */
  readonly chainOf: (result: unknown) => number | undefined
  /**
   * What each resource is a part of: an endpoint that has dropped a block has hardly kept its
   * receipts and logs.
   */
  readonly partOf: Readonly<Record<Resource, Resource>>
  /** Asks how far back an endpoint's data reach. */
  readonly askHistory: Pick<Call, 'method' | 'params'>
  /**
   * The oldest block of each resource in the result of `askHistory`; infinite where it has none.
   */
  readonly historyOf: (result: unknown) => ReadonlyMap<Resource, number>
  /** The oldest block that the endpoint has, if the failure names it. */
  readonly oldestIn: (error: HexlineError) => number | undefined
}

/** The newest block, whatever its number. */
export const HEAD = Number.POSITIVE_INFINITY
