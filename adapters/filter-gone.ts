import type { ErrorKind, RpcError } from '../src/errors.ts'

/** Kinds of errors that may mention a filter, and say nothing of whether the node has it. */
const ELSE: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['rate-limit', 'overloaded', 'unsupported', 'range-too-large', 'auth', 'quota'])

/**
 * Whether a node says that it does not have a filter, such as "filter not found" or "filter with
 * id: 0x1 does not exist".
 */
export function isFilterGone({ kind, said }: RpcError): boolean {
  return !ELSE.has(kind) && namesFilter(said)
}

/** Whether a node's words name a filter. The name of a method does not count. */
export function namesFilter(said: string): boolean {
  return /filter/i.test(said.replaceAll(/eth_\w+/g, ''))
}
