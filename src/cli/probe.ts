import { Command } from 'commander'
import { createClient } from '../client/create-client.ts'
import { OptionError } from '../errors.ts'
import type { Figure } from '../probe/figure.ts'
import type { EndpointHistory } from '../probe/history.ts'
import type { Support } from '../probe/methods.ts'
import { checkProbe, type EndpointReport, type ProbeOptions, type ProbeProgress, type ProbeReport, probe } from '../probe/probe.ts'
import { harmlessText } from '../text.ts'
import { addNodeFlags, endpointFrom, LONGEST_SECONDS, millisecondsFrom, type NodeFlags, numberFrom, timesFrom } from './node.ts'
import { Interrupted } from './output/failure.ts'
import type { Io, TextStream } from './output/io.ts'
import { toJson } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { count, countOf, sizeOf } from './output/units.ts'
import { onSignals } from './signals.ts'

interface Flags extends NodeFlags, MessageFlags {
  readonly maxCalls?: string
  readonly maxBatch?: string
  readonly maxRange?: string
  /** `false` for `--no-rate`, else a number of calls. */
  readonly rate: string | boolean
}

/** `hexline probe`: the limits and features of a node. */
export function probeCommand(io: Io): Command {
  return addNodeFlags(
    new Command('probe')
      .summary('limits and features of a node')
      .description(
        'Measures the limits and features of a node: batch, reply, log range and rate limits, archive depth, history, methods, tags, version, latency. It makes a limited number of calls, one after the other. Each figure says how it was found.',
      )
      .argument('[url]', "the node's URL, instead of --rpc"),
    '10',
  )
    .option('--max-calls <n>', 'at most this many calls in total, counting each call of a batch (default: 500)')
    .option('--max-batch <calls>', 'longest batch to try (default: 100)')
    .option('--max-range <blocks>', 'longest log range to try (default: 100000)')
    .option('--rate <calls>', 'calls in the burst that tests for a rate limit (default: 50)')
    .option('--no-rate', 'no burst')
    .option('--json', 'print one JSON object')
    .option('--quiet', 'print the figures and errors only')
    .addHelpText(
      'after',
      `
Examples:
  hexline probe http://127.0.0.1:8545
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline probe --no-rate
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline probe --max-batch 1000 --max-calls 3000 --json | jq .endpoints[0].batchCalls`,
    )
    .action((url: string | undefined, flags: Flags) => probeNode(url, flags, io))
}

async function probeNode(url: string | undefined, flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  if (url !== undefined && flags.rpc !== undefined) throw new OptionError('--rpc', 'either --rpc or a URL as an argument', 'both')
  // Each call is one POST here, so its deadline is the POST's timeout.
  const { timeout, deadline } = flags
  const times = timeout !== undefined ? timesFrom({ timeout }) : deadline === undefined ? {} : { timeoutMs: postTimeout(deadline) }
  const client = createClient(endpointFrom(flags, io.env, messages, url), times)
  const stop = new AbortController()
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}`, code)))
  const progress = new ProgressLine(io.stderr, flags)
  try {
    const settings = checkProbe({ ...optionsFrom(flags), signal: stop.signal, onProgress: (step) => progress.show(step) })
    const { maxCalls, maxBatch, rateCalls } = settings
    const burst = rateCalls === 0 ? 'no burst' : `${count(rateCalls)} in one burst`
    messages.tell(`at most ${count(maxCalls)} calls to ${client.endpoints.join(', ')}: batches of up to ${count(maxBatch)}, ${burst}`, {
      type: 'bound',
      endpoints: client.endpoints,
      maxCalls,
      maxBatch,
      rateCalls,
    })
    const report = await probe(client, { ...settings, rateCalls: rateCalls === 0 ? false : rateCalls })
    progress.clear()
    await printText(io.stdout, flags.json ? `${toJson(report)}\n` : textOf(report, io.stdout.columns))
  } finally {
    progress.clear()
    release()
    await client.close()
  }
}

function optionsFrom({ maxCalls, maxBatch, maxRange, rate, deadline }: Flags): ProbeOptions {
  return {
    ...(maxCalls !== undefined && { maxCalls: numberFrom('--max-calls', maxCalls) }),
    ...(maxBatch !== undefined && { maxBatch: numberFrom('--max-batch', maxBatch) }),
    ...(maxRange !== undefined && { maxLogRange: numberFrom('--max-range', maxRange) }),
    ...(typeof rate === 'string' && { rateCalls: numberFrom('--rate', rate) }),
    ...(rate === false && { rateCalls: false as const }),
    ...(deadline !== undefined && { timeoutMs: postTimeout(deadline) }),
  }
}

function postTimeout(deadline: string): number {
  return Math.ceil(millisecondsFrom('--deadline', deadline, LONGEST_SECONDS))
}

/** Shows the current step on a terminal. */
class ProgressLine {
  readonly #stream: TextStream
  readonly #isShown: boolean

  constructor(stream: TextStream, { quiet, json }: MessageFlags) {
    this.#stream = stream
    this.#isShown = stream.isTTY === true && !quiet && !json
  }

  show({ step, calls, maxCalls }: ProbeProgress): void {
    if (this.#isShown) this.#stream.write(`\r${step}: ${count(calls)} of at most ${count(maxCalls)} calls\x1b[K`)
  }

  clear(): void {
    if (this.#isShown) this.#stream.write('\r\x1b[K')
  }
}

/** `columns` is the width of the terminal; undefined elsewhere, where lines are not wrapped. */
function textOf({ endpoints }: ProbeReport, columns: number | undefined): string {
  return endpoints
    .map(
      (report) =>
        `${rowsOf(report)
          .flatMap((row) => linesOf(row, columns))
          .join('\n')}\n`,
    )
    .join('\n')
}

const NAMES = 15

/** A row, wrapped to the width of the terminal. */
function linesOf([name, text]: readonly [string, string], columns = Number.POSITIVE_INFINITY): string[] {
  const lines = ['']
  for (const word of harmlessText(text).split(' ')) {
    const line = lines[lines.length - 1] as string
    if (line !== '' && NAMES + line.length + 1 + word.length > columns) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(NAMES)}${line}`)
}

function rowsOf(report: EndpointReport): [string, string][] {
  const { latencyMs, cost } = report
  const latency = latencyMs.median === null ? 'unknown' : `median ${latencyMs.median} ms, 95 % within ${latencyMs.p95} ms (${latencyMs.calls} calls)`
  return [
    ['endpoint', report.endpoint],
    ['version', plainly(report.clientVersion, (version) => version)],
    ['chain id', plainly(report.chainId, String)],
    ['latest block', plainly(report.head, count)],
    ['latency', latency],
    ['batch', told(report.batchCalls, (calls) => countOf(calls, 'call'))],
    ['reply', told(report.replyBytes, sizeOf)],
    ['log range', told(report.logRange, (blocks) => countOf(blocks, 'block'))],
    ['rate', told(report.rate, (calls) => `${countOf(calls, 'call')} a second`)],
    ['archive depth', told(report.archiveDepth, (blocks) => countOf(blocks, 'block'))],
    ...historyRows(report.history),
    ...supportRows('methods', report.methods),
    ...supportRows('tags', report.tags),
    ['cost', `${countOf(cost.calls, 'call')} in ${countOf(cost.posts, 'POST')}, ${cost.seconds.toFixed(1)} s`],
  ]
}

/** A figure that the endpoint reports. */
function plainly<T>({ value, how }: Figure<T>, say: (value: T) => string): string {
  return value === null ? `unknown (${how})` : say(value)
}

/** A figure that was measured. */
function told({ known, value, refused, how }: Figure, say: (value: number) => string): string {
  if (value === null) return `unknown (${how})`
  const amount =
    known === 'between' && refused !== null ? `between ${say(value)} and ${say(refused)}` : known === 'at least' ? `at least ${say(value)}` : say(value)
  return `${amount} (${how})`
}

/** The oldest block of each kind. */
function historyRows({ blocks, receipts, logs, state, oldState }: EndpointHistory): [string, string][] {
  const known = oldState.isRight === null ? 'not compared' : oldState.isRight ? 'right' : 'wrong'
  return [
    ['history', `blocks ${reaching(blocks)}`],
    ['', `receipts ${reaching(receipts)}`],
    ['', `logs ${reaching(logs)}`],
    ['', `state ${reaching(state)}`],
    ['', `an old value of the state: ${known} (${oldState.how})`],
  ]
}

/** How far back, by the number of the oldest block. */
function reaching({ known, value, refused, how }: Figure): string {
  if (value === null) return `unknown (${how})`
  if (known === 'between' && refused !== null) return `from between ${count(refused)} and ${count(value)} (${how})`
  return `from ${count(value)}${known === 'at least' ? ', if not earlier' : ''} (${how})`
}

/** How many are supported, and those that are not, or are not known, by the reason. */
function supportRows(name: string, all: Readonly<Record<string, Support>>): [string, string][] {
  const entries = Object.entries(all)
  const others = entries.filter(([, { supported }]) => supported !== true)
  const groups = new Map<string, { readonly support: Support; readonly names: string[] }>()
  for (const [other, support] of others) {
    const key = `${support.supported} ${support.how}`
    groups.set(key, { support, names: [...(groups.get(key)?.names ?? []), other] })
  }
  return [
    [name, `${entries.length - others.length} of ${entries.length}`],
    ...[...groups.values()].map(({ support: { supported, how }, names }): [string, string] => [
      '',
      `${supported === false ? 'not' : 'unknown:'} ${names.join(', ')} (${how})`,
    ]),
  ]
}
