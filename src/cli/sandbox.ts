import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { type ChainSlug, chains } from '../eth/chains.ts'
import type { Sandbox, SandboxOptions } from '../sandbox/index.ts'
import { numberFrom, warnOfKey } from './node.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { toJson } from './output/json.ts'
import { type Messages, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { redact, redactPath } from './output/redact.ts'
import { syntaxFault } from './params.ts'
import { onSignals } from './signals.ts'

interface Flags {
  readonly port?: string
  readonly chain?: string
  readonly upstream?: string
  readonly latency?: string
  readonly rate?: string
  readonly faults?: string
  readonly notificationFaults?: string
  readonly maxBatch?: string
  readonly maxLogRange?: string
  readonly maxResults?: string
  readonly dropLogs?: string
  readonly lag?: string
  readonly prunedBelow?: string
  readonly seed?: string
  readonly prices?: string
  readonly likeProduction?: boolean
  readonly allowHost?: string[]
  readonly json?: boolean
}

/** `hexline sandbox`: the whole service on this machine, until Ctrl-C. */
export function sandboxCommand(io: Io): Command {
  return new Command('sandbox')
    .summary('the whole service on this machine')
    .description('Serves all four groups of the service on one local port, on top of a node, until Ctrl-C. Without --upstream, it starts anvil.')
    .option('--port <port>', 'port on 127.0.0.1 (default: any free one)')
    .option('--chain <name>', 'the chain to serve, such as eth or base (default: eth)')
    .option('--upstream <url>', 'the node to use, instead of starting anvil (env: HEXLINE_UPSTREAM_URL)')
    .option('--latency <ms>', 'delay every request')
    .option('--rate <calls>', 'refuse more than this many calls per second')
    .option('--faults <share>', 'make a share of the requests fail, such as 0.1, or a share for each fault: stalled=0.1,cut=0.05')
    .option('--notification-faults <share>', 'spoil a share of the notifications of subscriptions, or a share by each fault: cut=0.05,late=0.1,double=0.1')
    .option('--max-batch <calls>', 'refuse batches of more calls')
    .option('--max-log-range <blocks>', 'refuse eth_getLogs for more blocks')
    .option('--max-results <logs>', 'refuse eth_getLogs with more logs; with 10000,silent, send the first 10000 and do not say so')
    .option('--drop-logs <share>', 'leave a share of the logs out of eth_getLogs, such as 0.001')
    .option('--lag <blocks>', 'stay this many blocks behind the node')
    .option('--pruned-below <block>', 'have no blocks, receipts, logs or state from before this block')
    .option('--seed <file>', 'JSON file with records of the NFT and streams groups: { transfers, nfts, collections, streams }')
    .option('--prices <file>', 'JSON file with USD prices by token address, and of the native coin: { "native": { "usd": 2000, "usd24hAgo": 1950 } }')
    .option('--like-production', 'send values as real services do: nulls, booleans and lists where strings, numbers and objects are documented')
    .option('--allow-host <name...>', 'host names to accept in addition to 127.0.0.1 and localhost')
    .option('--json', 'print addresses and key as one line of JSON')
    .addHelpText(
      'after',
      `
Examples:
  hexline sandbox
  hexline sandbox --port 8600 --chain base --upstream http://127.0.0.1:8545
  hexline sandbox --latency 200 --rate 50 --faults 0.1
  hexline sandbox --max-log-range 2000 --max-results 10000,silent --drop-logs 0.001`,
    )
    .action((flags: Flags) => runSandbox(flags, io))
}

async function runSandbox(flags: Flags, io: Io): Promise<void> {
  // First of all: a signal must not leave a node behind that is just starting.
  let release = () => {}
  const ended = new Promise<Interrupted>((resolve) => {
    release = onSignals((name, code) => resolve(new Interrupted(`ended by ${name}`, code)))
  })
  try {
    await serveUntil(ended, flags, io)
  } finally {
    release()
  }
}

async function serveUntil(ended: Promise<Interrupted>, flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const options = await optionsFrom(flags, io.env, messages)
  const { startSandbox } = await import('../sandbox/index.ts')
  const sandbox = await startSandbox(options)
  try {
    const { chain, chainId } = sandbox
    if (chainId !== chains[chain])
      messages.warn(`the node has chain id ${chainId}, but ${chain} is ${chains[chain]}: clients may refuse it; choose the chain with --chain`)
    await printText(io.stdout, flags.json ? `${toJson(factsOf(sandbox))}\n` : textOf(sandbox, options))
    throw await ended
  } finally {
    await sandbox.stop()
  }
}

async function optionsFrom(flags: Flags, env: Io['env'], messages: Messages): Promise<SandboxOptions> {
  const { port, chain, latency, rate, faults, notificationFaults, seed, prices, likeProduction, allowHost } = flags
  const { maxBatch, maxLogRange, maxResults, dropLogs, lag, prunedBelow } = flags
  if (flags.upstream !== undefined) warnOfKey(messages, flags.upstream, 'HEXLINE_UPSTREAM_URL')
  const upstream = flags.upstream ?? env.HEXLINE_UPSTREAM_URL
  return {
    ...(port !== undefined && { port: numberFrom('--port', port) }),
    // startSandbox checks it, like every option.
    ...(chain !== undefined && { chain: chain as ChainSlug }),
    ...(upstream !== undefined && { upstream }),
    ...(latency !== undefined && { latencyMs: numberFrom('--latency', latency) }),
    ...(rate !== undefined && { callsPerSecond: numberFrom('--rate', rate) }),
    ...(faults !== undefined && { faults: faultsFrom('--faults', faults) }),
    ...(notificationFaults !== undefined && { notificationFaults: faultsFrom('--notification-faults', notificationFaults) }),
    ...(maxBatch !== undefined && { maxBatch: numberFrom('--max-batch', maxBatch) }),
    // Checked here: the same option of the probe has another flag.
    ...(maxLogRange !== undefined && { maxLogRange: check.whole('--max-log-range', numberFrom('--max-log-range', maxLogRange)) }),
    ...(maxResults !== undefined && { maxResults: maxResultsFrom(maxResults) }),
    ...(dropLogs !== undefined && { dropLogs: numberFrom('--drop-logs', dropLogs) }),
    ...(lag !== undefined && { lag: numberFrom('--lag', lag) }),
    ...(prunedBelow !== undefined && { prunedBelow: numberFrom('--pruned-below', prunedBelow) }),
    ...(seed !== undefined && { seed: await jsonFrom('--seed', seed) }),
    ...(prices !== undefined && { prices: await jsonFrom('--prices', prices) }),
    ...(likeProduction !== undefined && { likeProduction }),
    ...(allowHost !== undefined && { allowedHosts: allowHost }),
  }
}

/** `0.1`, or `stalled=0.1,cut=0.05`. */
function faultsFrom(flag: string, text: string): number | Record<string, number> {
  if (!text.includes('=')) return numberFrom(flag, text)
  const shares = text.split(',').map((part) => {
    const at = part.lastIndexOf('=')
    return [part.slice(0, at).trim(), numberFrom(flag, part.slice(at + 1))] as const
  })
  return Object.fromEntries(shares)
}

/** `10000`, or `10000,silent`. */
function maxResultsFrom(text: string): NonNullable<SandboxOptions['maxResults']> {
  const [, digits, silent] = /^(\d+)(,silent)?$/.exec(text) ?? []
  if (digits === undefined) throw new OptionError('--max-results', 'a number of logs, such as 10000, or 10000,silent', redact(text))
  return { most: Number(digits), silently: silent !== undefined }
}

/** Reads a JSON file; startSandbox checks the value. */
async function jsonFrom(flag: string, file: string) {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    // The message of Node.js ends with the file name.
    const reason = error instanceof SyntaxError ? syntaxFault(error) : (error as Error).message.replace(/, open .*$/s, '')
    throw new OptionError(flag, 'a JSON file', `${redactPath(file)} (${reason})`)
  }
}

function factsOf(sandbox: Sandbox): object {
  const { url, rpcUrl, dataUrl, nftUrl, streamsUrl, apiKey, quotaKeys, chain, chainId } = sandbox
  return { url, chain, chainId, rpcUrl, dataUrl, nftUrl, streamsUrl, apiKey, quotaKeys, nodeUrl: sandbox.nodeUrl() }
}

function textOf(sandbox: Sandbox, { upstream }: SandboxOptions): string {
  const { url, rpcUrl, dataUrl, nftUrl, streamsUrl, apiKey, quotaKeys, chain } = sandbox
  // Only the host of an upstream URL is shown: the rest may be a key.
  const node = upstream === undefined ? `anvil (${sandbox.upstream}, chain id ${chains[chain]})` : new URL(upstream).host
  return `The service runs at ${url} for ${chain}, on top of ${node}. Press Ctrl-C to stop.

export HEXLINE_RPC_BASE_URL=${rpcUrl}
export HEXLINE_DATA_URL=${dataUrl}
export HEXLINE_NFT_URL=${nftUrl}
export HEXLINE_STREAMS_URL=${streamsUrl}
export HEXLINE_API_KEY=${apiKey}

For any JSON-RPC client: ${sandbox.nodeUrl()}
A key that is out of quota: ${quotaKeys.join(', ')}
`
}
