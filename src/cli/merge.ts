import { Command } from 'commander'
import { checkIsFolder } from '../dataset/folder/folder.ts'
import { mergeDataset } from '../dataset/index.ts'
import { OptionError } from '../errors.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { countOf, sizeOf } from './output/units.ts'
import { onSignals } from './signals.ts'

interface Flags extends MessageFlags {
  readonly into?: string
}

/** `hexline merge`: parts of shards as one folder of tables. */
export function mergeCommand(io: Io): Command {
  return new Command('merge')
    .summary('make one folder of what several shards exported')
    .description(
      'Merges the output of shards, from one folder or several, into a single folder of tables. ' +
        'Checks that no block is missing and that each range continues the one before it; otherwise names what is missing or contradictory, changes nothing, and exits with 1.',
    )
    .argument('<folder...>', 'the folders of the shards')
    .option('--into <folder>', 'the folder to make: a new or empty one (default: the first of the others)')
    .option('--quiet', 'print errors only')
    .option('--json', 'print the summary and errors as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline merge mainnet
  hexline merge mainnet-1 mainnet-2 mainnet-3 --into mainnet

How to export in shards is in docs/scale.md.`,
    )
    .action((folders: string[], flags: Flags) => mergeFolders(folders, flags, io))
}

async function mergeFolders(folders: readonly string[], flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}; the same command starts over`, code)))
  try {
    for (const folder of folders) await checkIsFolder(folder, '<folder>')
    const { from, to, ranges, files, rows, bytes } = await mergeDataset(folders, { ...(flags.into !== undefined && { into: flags.into }), signal: stop.signal })
    const range = to < from ? 'no blocks' : `blocks ${from} to ${to}`
    messages.tell(
      `${flags.into ?? folders[0]} has ${range}: ${countOf(ranges, 'range')}, ${countOf(files, 'file')}, ${countOf(rows, 'row')}, ${sizeOf(bytes)}`,
      {
        ...{ type: 'dataset', from: from.toString(), to: to.toString(), ranges, files, rows, bytes },
      },
    )
  } catch (error) {
    throw inCommand(error)
  } finally {
    release()
  }
}

/** Options that have other names in the command. */
const called: Readonly<Record<string, string>> = { dirs: '<folder>', dir: '<folder>', into: '--into' }

function inCommand(error: unknown): unknown {
  const name = error instanceof OptionError ? called[error.option] : undefined
  return name === undefined ? error : new OptionError(name, (error as OptionError).expected, (error as OptionError).received)
}
