import { Command } from 'commander'
import { nodeUrl } from '../check.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import type { Endpoint } from '../client/endpoint.ts'
import { checkIsFolder } from '../dataset/folder/folder.ts'
import { type DatasetReport, verifyDataset } from '../dataset/index.ts'
import { OptionError } from '../errors.ts'
import { FailureCount } from './failure-count.ts'
import { Meter } from './meter.ts'
import { endpointIn, type NodeFlags, numberFrom, timesFrom, warnOfKey } from './node.ts'
import { Interrupted } from './output/failure.ts'
import { type Io, widthOf } from './output/io.ts'
import { toJson } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { table, wrapped } from './output/table.ts'
import { count, countOf, sizeOf } from './output/units.ts'
import { onSignals } from './signals.ts'

interface Flags extends MessageFlags, Pick<NodeFlags, 'deadline' | 'timeout'> {
  /** True without a URL. */
  readonly against?: string | true
  readonly sample?: string
  readonly seed?: string
  readonly senders?: boolean
}

/** `hexline verify`: check a folder of tables against its own hashes. */
export function verifyCommand(io: Io): Command {
  return new Command('verify')
    .summary('check a folder of tables against its own hashes')
    .description(
      'Verifies a folder that hexline export wrote, without a node: the digests of all files, that no block is missing, that each names the one before it as its parent, ' +
        'that the tables agree with one another, and every hash and root that the columns allow. Prints what was proven and what could not be. Stops at the first mismatch, names its file, block and field, and exits with 1.',
    )
    .argument('<folder>', 'the folder')
    .option('--against [url]', 'also compare blocks with this node, row by row (without a URL: HEXLINE_RPC_URL, which is safer where the URL holds a key)')
    .option('--sample <blocks>', 'with --against: how many blocks to compare, with the first and the last one (default: 20)')
    .option('--seed <number>', 'with --against: compare the same blocks as a run that printed this number')
    .option('--senders', 'also recover the sender of each transaction from its signature, which is slow')
    .option('--deadline <seconds>', 'with --against: give up on a call after this time, including all attempts and waits (default: 120)')
    .option('--timeout <seconds>', 'with --against: give up on a POST after this time (default: 30)')
    .option('--json', 'print one JSON object')
    .option('--quiet', 'print the table and errors only')
    .addHelpText(
      'after',
      `
Examples:
  hexline verify mainnet
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline verify mainnet --against --sample 100
  hexline verify mainnet --json | jq .skipped

What each line means is in docs/datasets.md.`,
    )
    .action((folder: string, flags: Flags) => verifyFolder(folder, flags, io))
}

async function verifyFolder(folder: string, flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const { sample, seed, deadline, timeout, senders = false } = flags
  for (const [flag, value] of Object.entries({ '--sample': sample, '--seed': seed, '--deadline': deadline, '--timeout': timeout }))
    if (value !== undefined && flags.against === undefined) throw new OptionError(flag, '--against as well', 'no --against')
  await checkIsFolder(folder, '<folder>')
  const stop = new AbortController()
  const failures = new FailureCount()
  const meter = new Meter(io, messages, flags, failures)
  const endpoint = nodeOf(flags, io)
  if (typeof flags.against === 'string') warnOfKey(messages, flags.against, 'HEXLINE_RPC_URL')
  const client: Client | undefined =
    endpoint === undefined ? undefined : createClient(endpoint, { ...timesFrom(flags), layers: (defaults) => [...defaults, failures.layer] })
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}`, code)))
  try {
    meter.start()
    const report = await verifyDataset(folder, {
      senders,
      ...(client && { against: client }),
      ...(sample !== undefined && { sample: numberFrom('--sample', sample) }),
      ...(seed !== undefined && { seed: numberFrom('--seed', seed) }),
      signal: stop.signal,
      onProgress: (progress) => meter.update(progress),
    })
    meter.finish()
    await printText(io.stdout, flags.json ? `${toJson(report)}\n` : textOf(report, widthOf(io.stdout)))
  } catch (error) {
    throw inCommand(error)
  } finally {
    meter.clear()
    release()
    await client?.close()
  }
}

/** Options that have other names in other commands. */
const called: Readonly<Record<string, string>> = { dir: '<folder>', seed: '--seed' }

function inCommand(error: unknown): unknown {
  const name = error instanceof OptionError ? called[error.option] : undefined
  return name === undefined ? error : new OptionError(name, (error as OptionError).expected, (error as OptionError).received)
}

function nodeOf({ against }: Flags, { env }: Io): Endpoint | readonly Endpoint[] | undefined {
  if (against === undefined) return undefined
  if (typeof against === 'string') return nodeUrl('--against', against, 'https://rpc.example.com/KEY').href
  const endpoint = endpointIn(env)
  if (endpoint === undefined) throw new OptionError('--against', "the node's URL, here or in HEXLINE_RPC_URL", 'nothing')
  return endpoint
}

/** Lists are wrapped to this many columns where no terminal is narrower. */
const WIDTH = 80

/** What each check proves; others have their own names. */
const meanings: Readonly<Record<string, string>> = {
  files: 'digests and sizes of all files',
  rows: 'rows: counts, order, and what they repeat',
  link: 'each names the block before as its parent',
  header: 'hash of the header',
  transactionHashes: 'hash of each transaction',
  transactionsRoot: 'transactions root',
  receiptsRoot: 'receipts root, with the logs',
  logsBloom: 'logs bloom',
  withdrawalsRoot: 'withdrawals root',
  uncles: 'no uncles',
  prices: 'prices of gas',
  size: 'size of the block',
  senders: 'senders, by their signatures',
  against: 'rows at the node',
}

interface Line {
  readonly check: string
  readonly proven: number
  readonly unproven: number
  readonly reason: string
}

/**
 * Without each header and link, the chain of hashes is broken: then the last one is only what the
 * folder says.
 */
function lastHashText({ checks, blocks, to }: DatasetReport, lastHash: string): string {
  const isChain = checks.header === blocks && checks.link === blocks
  return isChain
    ? `what is proven follows from the hash of block ${to}:\n  ${lastHash}`
    : `hash of block ${to}, from which nothing follows, since not all headers are proven:\n  ${lastHash}`
}

/** `width` is that of the terminal. */
function textOf(report: DatasetReport, width: number | undefined): string {
  const { checks, skipped, uncovered, against, chainId, from, to, files, rows, bytes, lastHash } = report
  const lines = Object.keys(meanings)
    .filter((name) => name in checks || name in skipped)
    .flatMap((name): Line[] => {
      const proven = checks[name] ?? 0
      const reasons = Object.entries(skipped[name] ?? {}).sort(([, a], [, b]) => b - a)
      const first = reasons.shift()
      const check = meanings[name] as string
      return [
        { check, proven, unproven: first?.[1] ?? 0, reason: first?.[0] ?? '' },
        ...reasons.map(([reason, unproven]) => ({ check: '', proven: 0, unproven, reason })),
      ]
    })
  const range = from === null || to === null ? 'no blocks' : `blocks ${from} to ${to}`
  const head = `${range} of chain ${chainId}: ${countOf(files, 'file')}, ${countOf(rows, 'row')}, ${sizeOf(bytes)}`
  const proven = table<Line>(
    [
      { title: 'check', of: ({ check }) => check },
      { title: 'proven', of: ({ proven, check }) => (check === '' ? '' : count(proven)), right: true },
      { title: 'not', of: ({ unproven }) => (unproven === 0 ? '' : count(unproven)), right: true },
      { title: 'why not', of: ({ reason }) => reason },
    ],
    lines,
    width,
  )
  const notes = [
    ...(uncovered.length === 0 ? [] : [wrapped(`covered by no hash or root: ${uncovered.join(', ')}`, Math.min(WIDTH, width ?? WIDTH) - 2).join('\n  ')]),
    ...(against === null ? [] : [`compared with the node: ${countOf(against.blocks, 'block')} (--seed ${against.seed})`]),
    ...(lastHash === null ? [] : [lastHashText(report, lastHash)]),
  ]
  return `${[head, '', proven, '', ...notes].join('\n')}\n`
}
