import { Command } from 'commander'
import { checkLogOptions } from '../bulk/get-logs.ts'
import type { AuditReport } from '../bulk/logs/audit.ts'
import { type CopiedLog, copiedLogs } from '../bulk/logs/log-lines.ts'
import { type LogProgress, LogStream } from '../bulk/logs/log-stream.ts'
import { createClient } from '../client/create-client.ts'
import { OptionError } from '../errors.ts'
import { tellAudit, tellCostOfAudit } from './audit-messages.ts'
import { limitsFrom } from './blocks.ts'
import { BlocksOfLines } from './blocks-of-lines.ts'
import { FailureCount } from './failure-count.ts'
import { type LogsFlags, logsFlags, logsOptionsFrom } from './log-flags.ts'
import { Meter } from './meter.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { endpointFrom } from './node.ts'
import { Unfinished } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { lineForTerminal } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { count } from './output/units.ts'
import { rangeOfLast } from './range.ts'
import { type OutFlags, sharesTerminal, writeLines } from './write-lines.ts'

interface Flags extends LogsFlags, OutFlags, MessageFlags, MetricsFlags {}

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

async function writeLogs(flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const failures = new FailureCount()
  const place = { ...flags, sharesTerminal: sharesTerminal(flags, io) }
  const meter = new Meter<LogProgress>(io, messages, place, failures, (progress) => detailOf(progress))
  let written = 0
  const checked = checkLogOptions({
    ...logsOptionsFrom(flags),
    signal: stop.signal,
    // The size of the lines: that of the replies is not zero where there are no logs.
    onProgress: (progress) => meter.update({ ...progress, bytes: written }),
  })
  const endpoint = endpointFrom(flags, io.env, messages)
  if (flags.audit === 'peer' && !Array.isArray(endpoint)) throw new OptionError('--audit', 'several nodes for peer, by repeating --rpc', 'one')
  const client = createClient(endpoint, { ...limitsFrom(flags), layers: (defaults) => [...defaults, failures.layer] })
  const lines = new BlocksOfLines()
  const tellCost = (report: AuditReport) => {
    if (report.level === 'none') return
    meter.makeRoom()
    tellCostOfAudit(messages, report)
  }
  let stream: LogStream<CopiedLog> | undefined
  let first: bigint | undefined
  const isWritten = await writeLines(flags, io, {
    client,
    stop,
    messages,
    meter,
    async write(output) {
      const options = await rangeOfLast(checked, flags, client.with({ signal: stop.signal }))
      first = options.range?.from
      stream = new LogStream(client, { ...options, onAudit: tellCost }, copiedLogs())
      for await (const page of stream.pages()) {
        meter.writing()
        for (const { value, json } of page.items) {
          if (output.isKept) lines.add(Number(value.blockNumber))
          written += json.length + 1
          await output.write(output.isTerminal ? [lineForTerminal([json, NEWLINE])] : [json, NEWLINE])
        }
        lines.pageEnds(page.to, output.lines)
        meter.written()
      }
    },
    unfinished(error, kept) {
      if (first === undefined) return error
      const { next, before } = lines.after(kept.lines, Number(first))
      return new Unfinished(error, BigInt(next), kept.isCut, before)
    },
  })
  if (isWritten && stream !== undefined) tellAudit(messages, stream.audit, flags.audit !== undefined)
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
