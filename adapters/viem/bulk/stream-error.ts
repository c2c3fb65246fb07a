import type { Client } from '../../../src/client/client.ts'
import { HexlineError, OptionError } from '../../../src/errors.ts'
import { viemError } from '../format/viem-error.ts'

/** viem's names for hexline's options. */
const viemNames: Readonly<Record<string, string>> = { from: 'fromBlock', to: 'toBlock', receipts: 'includeReceipts' }

/** An `OptionError` under viem's name for the parameter. Any other error is returned unchanged. */
export function withParameterName(error: unknown): unknown {
  if (!(error instanceof OptionError)) return error
  // `from` may be an object, whose fields have names such as `from.hashes`.
  const option = error.option.replace(/^\w+/, (name) => viemNames[name] ?? name)
  return new OptionError(option, error.expected, error.received)
}

/**
 * The error that the iteration of a stream throws: viem's own if a call failed, and otherwise
 * hexline's. `asked` has the params to show if the call was of that method.
 */
export function streamError(error: unknown, { endpoints }: Client, asked?: { readonly method: string; readonly params: readonly unknown[] }): unknown {
  if (!(error instanceof HexlineError) || error.method === undefined) return withParameterName(error)
  return viemError(error, error.method === asked?.method ? asked : { method: error.method }, endpoints)
}
