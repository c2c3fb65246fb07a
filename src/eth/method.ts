import { fault } from './codec/codec-path.ts'
import type { Hex } from './codec/hex.ts'
import { block, type Param, type ParamList, withDefault } from './params.ts'

/**
 * One method: how its arguments are encoded and its result decoded, and whether it may be repeated.
 */
export interface Method<P extends readonly unknown[], R> {
  readonly params: Params<P>
  /**
   * Decodes a parsed result in place. `params` are the ones that were sent. Throws `CodecError`.
   */
  readonly result: (value: unknown, params: readonly unknown[]) => R
  /** True when the call may run twice. */
  readonly safe: boolean
}

/** Codecs of a method's parameters, and the type of the arguments that they take. */
export interface Params<P extends readonly unknown[]> {
  readonly codecs: readonly Param<never>[]
  /** Carries the type; never has a value. */
  readonly args?: P
}

/** A method that only reads, and may run twice. */
export function read<P extends readonly unknown[], R>(params: Params<P>, result: Method<P, R>['result']): Method<P, R> {
  return { params, result, safe: true }
}

/** A method that changes something. */
export function write<P extends readonly unknown[], R>(params: Params<P>, result: Method<P, R>['result']): Method<P, R> {
  return { params, result, safe: false }
}

/** Codecs for arguments of the type `P`, whose labels name them. */
export function params<P extends readonly unknown[]>(...codecs: ParamList<P>): Params<P> {
  return { codecs }
}

/** The block of a state method: always sent, since several nodes refuse a call without it. */
export const latest = withDefault(block, 'latest')

/** Bytes, or a value of fixed size, in hex: as sent. */
export const hex = (value: unknown): Hex => {
  if (typeof value === 'string' && value.startsWith('0x')) return value as Hex
  throw fault('bytes in hex', value)
}
