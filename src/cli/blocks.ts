import { Command, Option } from 'commander'
import { checkOptions, type Progress } from '../bulk/get-blocks.ts'
import { blockLines } from '../bulk/lines.ts'
import type { RangeEnd } from '../bulk/range.ts'
import { createClient } from '../client.ts'
import { OptionError } from '../errors.ts'
import type { Quantity } from '../eth/quantity.ts'
import { Interrupted } from './failure.ts'
import { Meter } from './meter.ts'
import { openOutput } from './output.ts'

interface Flags {
  readonly rpc?: string
  readonly from: string
  readonly to: string
  readonly transactions: 'full' | 'hashes'
  readonly receipts: boolean
  readonly out?: string
}

/** `hexline blocks`: a range of blocks as NDJSON. */
export function blocksCommand(): Command {
  return new Command('blocks')
    .description('Writes a range of blocks as NDJSON, one block a line: to stdout, or to a file that appears when it is whole.')
    .addOption(new Option('--rpc <url>', 'the node').env('HEXLINE_RPC_URL'))
    .requiredOption('--from <block>', 'first block: a number')
    .requiredOption('--to <block>', 'last block, included: a number, or latest, safe, finalized')
    .addOption(new Option('--transactions <kind>', 'whole transactions, or their hashes').choices(['full', 'hashes']).default('full'))
    .option('--receipts', 'each block with the receipts of its transactions', false)
    .option('--out <file>', 'write to a file instead of stdout')
    .addHelpText(
      'after',
      `
Examples:
  hexline blocks --rpc http://127.0.0.1:8545 --from 0 --to latest --out blocks.ndjson
  hexline blocks --rpc https://rpc.example.com/KEY --from 21000000 --to 21000999 --receipts | gzip > blocks.ndjson.gz`,
    )
    .action(writeBlocks)
}

async function writeBlocks(flags: Flags): Promise<void> {
  if (!flags.rpc) throw new OptionError('endpoint', "the node's URL, here or in HEXLINE_RPC_URL", 'nothing')
  const stop = new AbortController()
  const meter = new Meter(process.stderr)
  let last: bigint | undefined
  const options = checkOptions({
    from: blockOf(flags.from) as Quantity,
    to: blockOf(flags.to) as RangeEnd,
    transactions: flags.transactions,
    receipts: flags.receipts,
    signal: stop.signal,
    onProgress: (progress: Progress) => {
      last = progress.number
      meter.update(progress)
    },
  })
  const client = createClient(flags.rpc)
  const release = onSignals((name, code) => {
    const next = (last ?? options.range.from - 1n) + 1n
    stop.abort(new Interrupted(`ended by ${name}${flags.out ? `; ${flags.out} was not written` : `; go on with --from ${next}`}`, code))
  })
  try {
    const output = await openOutput(flags.out, stop)
    try {
      for await (const line of blockLines(client, options)) await output.write(line)
      await output.commit()
    } catch (error) {
      await output.discard()
      throw output.isClosedByReader(error) ? undefined : error
    }
    meter.finish()
  } catch (error) {
    meter.clear()
    // Whoever reads our output has had enough: `| head`.
    if (error !== undefined) throw error
  } finally {
    release()
    await client.close()
  }
}

/** Decimal digits are a number; hex and tags go as they are. */
function blockOf(text: string): bigint | string {
  return /^\d+$/.test(text) ? BigInt(text) : text
}

function onSignals(act: (name: string, exitCode: number) => void): () => void {
  const onInt = () => act('Ctrl-C', 130)
  const onTerm = () => act('SIGTERM', 143)
  // Once: a second signal ends the process in its own way.
  process.once('SIGINT', onInt)
  process.once('SIGTERM', onTerm)
  return () => {
    process.off('SIGINT', onInt)
    process.off('SIGTERM', onTerm)
  }
}
