import { Command, Option } from 'commander'
import type { AuditReport } from '../bulk/audit.ts'
import { checkLogOptions, type GetLogsOptions } from '../bulk/get-logs.ts'
import { type CopiedLog, copiedLogs } from '../bulk/log-lines.ts'
import { type LogProgress, LogStream } from '../bulk/log-stream.ts'
import { createClient } from '../client/create-client.ts'
import { OptionError } from '../errors.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'
import { type LimitFlags, limitFlags, limitsFrom } from './blocks.ts'
import { eventTopic } from './event-topic.ts'
import { Meter } from './meter.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { addNodeFlags, endpointFrom } from './node.ts'
import { Interrupted, Unfinished } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { lineForTerminal } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { openOutput, outFile } from './output/open-output.ts'
import type { Output } from './output/output.ts'
import { redact } from './output/redact.ts'
import { count } from './output/units.ts'
import { collect } from './params.ts'
import { type RangeFlags, rangeFlags, rangeFrom, rangeOfLast, startFlag } from './range.ts'
import { onSignals } from './signals.ts'
import { Tally } from './tally.ts'

/** The flags that say which logs. */
export interface LogsFlags extends LimitFlags, RangeFlags {
  readonly address?: readonly string[]
  readonly topic?: readonly string[]
  readonly event?: string
  readonly audit?: 'none' | 'bloom' | 'receipts' | 'peer'
}

interface Flags extends LogsFlags, MessageFlags, MetricsFlags {
  readonly out?: string
  readonly force: boolean
}

const NEWLINE = Buffer.from('\n')

/** `hexline logs`: the logs of a range of blocks as NDJSON. */
export function logsCommand(io: Io): Command {
  const command = new Command('logs')
    .summary('the logs of a range of blocks as NDJSON')
    .description(
      'Writes the logs of a range of blocks as NDJSON, one log per line, to stdout or to a file. The file appears once it is complete. ' +
        'The range may have any length. --audit finds logs that the node leaves out, and --audit receipts proves that none is missing.',
    )
  return logsFlags(command)
    .option(...METRICS_FLAG)
    .option('--quiet', 'print errors only')
    .option('--json', 'print progress and errors as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline logs --rpc http://127.0.0.1:8545 --address 0xdAC17F958D2ee523a2206206994597C13D831ec7 --event 'Transfer(address,address,uint256)' --from 0 --to finalized --out transfers.ndjson
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline logs --event 'Transfer(address,address,uint256)' --topic any --topic 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 --from 21000000 --to latest
  HEXLINE_API_KEY=… hexline logs --base-url https://rpc.example.com --chain base --address 0x4200000000000000000000000000000000000006 --from 20000000 --to finalized --audit receipts

The exit code is 1 if --audit is given and blocks remain that could not be proven.`,
    )
    .action((flags: Flags) => withMetrics(flags, io, () => writeLogs(flags, io)))
}

/** Adds the flags that say which logs, and where to. */
export function logsFlags(command: Command): Command {
  return limitFlags(
    rangeFlags(addNodeFlags(command))
      .option('--address <address>', 'logs of this contract; repeat it, or separate several with commas', collect)
      .option('--event <signature>', "logs of this event, such as 'Transfer(address,address,uint256)'")
      .option(
        '--topic <topic>',
        'the topic at the next position, after that of --event; repeat it. Commas separate alternatives, `any` is any, and an address is padded',
        collect,
      )
      .addOption(
        new Option(
          '--audit <level>',
          'how to find logs that are missing: by the bloom of each header those of whole blocks, by the receipts of each block single ones, too, or by a second node (default: bloom if the range is final)',
        ).choices(['none', 'bloom', 'receipts', 'peer']),
      )
      .option('--out <file>', 'write to a file instead of stdout (-)')
      .option('--force', 'replace the file if it exists', false),
  )
}

/** Which logs, as options of `getLogs`. Throws `OptionError`. */
export function logsOptionsFrom(flags: LogsFlags): GetLogsOptions {
  return {
    ...filterFrom(flags),
    ...rangeFrom(flags),
    ...(flags.audit !== undefined && { audit: flags.audit }),
  }
}

async function writeLogs(flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const tally = new Tally()
  const out = outFile(flags.out)
  const sharesTerminal = out === undefined && io.stdout.isTTY === true
  const meter = new Meter<LogProgress>(io, messages, { ...flags, sharesTerminal }, tally, (progress) => detailOf(progress))
  let written = 0
  const checked = checkLogOptions({
    ...logsOptionsFrom(flags),
    signal: stop.signal,
    // The size of the lines: that of the replies is not zero where there are no logs.
    onProgress: (progress) => meter.update({ ...progress, bytes: written }),
  })
  const endpoint = endpointFrom(flags, io.env, messages)
  if (flags.audit === 'peer' && !Array.isArray(endpoint)) throw new OptionError('--audit', 'several nodes for peer, by repeating --rpc', 'one')
  const client = createClient(endpoint, { ...limitsFrom(flags), layers: (defaults) => [...defaults, tally.layer] })
  const lines = new BlocksOfLines()
  let output: Output | undefined
  let stream: LogStream<CopiedLog> | undefined
  const release = onSignals((name, code) => {
    const isLost = out !== undefined && !output?.isKept
    stop.abort(new Interrupted(`ended by ${name}${isLost ? `; ${out} was not written: start again with ${startFlag(flags)}` : ''}`, code))
  })
  try {
    output = await openOutput(out, flags.force, io.stdout, stop)
    meter.start()
    let first: bigint | undefined
    try {
      const options = await rangeOfLast(checked, flags, client.with({ signal: stop.signal }))
      first = options.range?.from
      stream = new LogStream(client, { ...options, onAudit: reportCost }, copiedLogs())
      for await (const page of stream.pages()) {
        meter.writing()
        for (const { value, json } of page.items) {
          lines.add(Number(value.blockNumber))
          written += json.length + 1
          await output.write(output.isTerminal ? [lineForTerminal([json, NEWLINE])] : [json, NEWLINE])
        }
        lines.pageEnds(page.to)
        meter.written()
      }
      await output.commit()
    } catch (error) {
      // The reader has closed our output, such as `head`.
      if (output.isClosedByReader) return
      meter.clear()
      const kept = await output.abandon(() => messages.tell('waiting for the reader of the output', { type: 'waiting-for-reader' }))
      const isWorthSaying = kept !== undefined && (kept.lines > 0 || kept.isCut || error instanceof Interrupted)
      if (!isWorthSaying || first === undefined) throw error
      const { next, before } = lines.after(kept.lines, Number(first))
      throw new Unfinished(error, BigInt(next), kept.isCut, before)
    }
    meter.finish()
    if (stream !== undefined) reportAudit(stream.audit)
  } finally {
    meter.clear()
    release()
    await client.close()
  }

  function reportAudit({ level, unproven, reasons }: AuditReport): void {
    if (unproven > 0) {
      const why = Object.entries(reasons).map(([reason, blocks]) => `${count(blocks)} because ${reason}`)
      const sentence = `${count(unproven)} ${unproven === 1 ? 'block' : 'blocks'} could not be proven: ${why.join('; ')}`
      if (flags.audit !== undefined) throw new Error(sentence)
      messages.warn(sentence)
    } else if (level === 'none' && flags.audit === undefined) {
      messages.tell('not audited, because the range is not final: use --audit or --to finalized to find blocks that were left out', {
        type: 'not-audited',
      })
    }
  }

  function reportCost({ level, estimate }: AuditReport): void {
    if (level === 'none') return
    const { headers, receipts } = estimate
    const about = level === 'bloom' ? 'at most about ' : ''
    const ofBlocks = receipts === 0 ? 'of hardly any block' : `of ${about}${count(receipts)} ${receipts === 1 ? 'block' : 'blocks'}`
    meter.makeRoom()
    const limits = level === 'bloom' ? '. It finds blocks whose logs are all missing; --audit receipts finds single missing logs, too' : ''
    messages.tell(`audit by ${level}: ${count(headers)} ${headers === 1 ? 'header' : 'headers'}, and the receipts ${ofBlocks}${limits}`, {
      type: 'audit',
      level,
      headers,
      receipts,
    })
  }
}

function detailOf({ logs, splits, audit }: LogProgress): { text: string; json: object } {
  const { level, suspects, recovered, discarded, unproven } = audit
  const parts = [`${count(logs)} ${logs === 1 ? 'log' : 'logs'}`]
  if (splits > 0) parts.push(`${count(splits)} ${splits === 1 ? 'split' : 'splits'}`)
  if (recovered > 0) parts.push(`${count(recovered)} recovered`)
  if (discarded > 0) parts.push(`${count(discarded)} discarded`)
  if (unproven > 0) parts.push(`${count(unproven)} unproven`)
  return { text: parts.join(', '), json: { logs, splits, audit: { level, suspects, recovered, discarded, unproven } } }
}

/** The filter that the flags name. Throws `OptionError`. */
export function filterFrom({ address = [], topic = [], event }: Pick<Flags, 'address' | 'topic' | 'event'>): Pick<GetLogsOptions, 'address' | 'topics'> {
  const addresses = address.flatMap((each) => each.split(',')).map((each) => each.trim())
  const topics = topic.map((each, i) => topicFrom(each, i + (event === undefined ? 0 : 1)))
  if (event !== undefined) topics.unshift(eventTopic(event))
  return { ...(addresses.length > 0 && { address: addresses as Address[] }), ...(topics.length > 0 && { topics }) }
}

function topicFrom(text: string, position: number): Hash | Hash[] | null {
  if (text === 'any') return null
  const topics = text.split(',').map((each) => paddedTopic(each.trim(), position))
  return topics.length === 1 ? (topics[0] as Hash) : topics
}

/** Of an address, the word that an indexed parameter has. */
function paddedTopic(text: string, position: number): Hash {
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) return text as Hash
  if (position > 0 && /^0x[0-9a-fA-F]{40}$/.test(text)) return `0x${text.slice(2).padStart(64, '0')}`
  throw new OptionError('--topic', position > 0 ? 'a topic (32 bytes in hex), an address, or `any`' : 'a topic (32 bytes in hex), or `any`', redact(text))
}

/** Which block each line belongs to, to say where to resume. */
class BlocksOfLines {
  readonly #blocks: number[] = []
  readonly #firstLines: number[] = []
  #lines = 0
  #complete = -1

  add(block: number): void {
    if (this.#blocks.at(-1) !== block) {
      this.#blocks.push(block)
      this.#firstLines.push(this.#lines)
    }
    this.#lines++
  }

  /** All lines of blocks up to this one were added. */
  pageEnds(block: number): void {
    this.#complete = block
  }

  /**
   * The first block that is not complete after this many lines, and how many of its lines are among
   * them.
   */
  after(lines: number, from: number): { readonly next: number; readonly before: number } {
    const isWhole = lines >= this.#lines && (this.#blocks.at(-1) ?? -1) <= this.#complete
    if (isWhole) return { next: Math.max(from, this.#complete + 1), before: 0 }
    const at = this.#firstLines.findLastIndex((first) => first <= lines)
    return { next: this.#blocks[at] as number, before: lines - (this.#firstLines[at] as number) }
  }
}
