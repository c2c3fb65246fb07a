import { type Command, Option } from 'commander'
import { type CheckedRange, type RangeEnd, resolveRange } from '../bulk/range.ts'
import type { Client } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import type { Quantity } from '../eth/codec/quantity.ts'
import { redact } from './output/redact.ts'

/** The flags of a range. With `--last`, `from` is null. */
export interface RangeFlags {
  readonly from: string | null
  readonly to: string
  readonly last?: string
}

/** Adds the flags of a range; with `orFollow`, `--to follow`, too. */
export function rangeFlags(command: Command, orFollow = false): Command {
  return command
    .requiredOption('--from <block>', 'first block: a number, in decimal or hex')
    .requiredOption(
      '--to <block>',
      `last block, included: a number, or earliest, latest, safe, finalized${orFollow ? '; or follow, as `hexline follow` does' : ''}`,
    )
    .addOption(new Option('--last <count>', 'this many blocks up to --to (default: latest), instead of --from').implies({ from: null, to: 'latest' }))
}

/** The range as options; with `--last`, from block 0 until `rangeOfLast`. Throws `OptionError`. */
export function rangeFrom({ from, to, last }: RangeFlags): { readonly from: Quantity; readonly to: RangeEnd } {
  if (last !== undefined) {
    if (from !== null) throw new OptionError('--last', 'no --from with it', redact(from))
    countFrom(last)
  }
  return { from: (from === null ? 0 : blockFrom(from)) as Quantity, to: blockFrom(to) as RangeEnd }
}

/** The options, with the range that `--last` stands for once the node has told its end. */
export async function rangeOfLast<O extends { readonly range: CheckedRange | undefined }>(options: O, { last }: RangeFlags, client: Client): Promise<O> {
  if (last === undefined || options.range === undefined) return options
  const { to } = await resolveRange(client, options.range)
  const from = to - countFrom(last) + 1n
  return { ...options, range: { from: from < 0n ? 0n : from, to } }
}

/** The flag that says where the range begins. */
export function startFlag({ from, last }: RangeFlags): string {
  return from === null ? `--last ${last}` : `--from ${blockFrom(from)}`
}

/** Parses decimal digits; hex and tags stay as they are. */
export function blockFrom(text: string): bigint | string {
  return /^\d+$/.test(text) ? BigInt(text) : text
}

function countFrom(last: string): bigint {
  if (/^\d+$/.test(last) && BigInt(last) > 0n) return BigInt(last)
  throw new OptionError('--last', 'a number of blocks, at least 1', redact(last))
}
