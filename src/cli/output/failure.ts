import { CodecError, type ErrorKind, HexlineError, HttpError, IntegrityError, MalformedReplyError, OptionError, RpcError, TimeoutError } from '../../errors.ts'
import { methodMeant } from '../../eth/methods.ts'
import type { Scrub } from '../../http/secrets.ts'
import { excerpt, harmlessText, messagePrefix } from '../../text.ts'
import { redactReceived } from './redact.ts'
import { durationOf } from './units.ts'

/** The user ended the command, with Ctrl-C or a signal. */
export class Interrupted extends Error {
  /** 128 + the number of the signal, as in shells. */
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** A job that failed after part of its output was written. */
export class Unfinished extends Error {
  override readonly cause: unknown
  /** The first block whose line is not complete. */
  readonly next: bigint
  /** True when the output ends in the middle of that line. */
  readonly isCut: boolean
  /** Complete lines of that block, where a block has several. */
  readonly lines: number

  constructor(cause: unknown, next: bigint, isCut: boolean, lines = 0) {
    super('unfinished')
    this.cause = cause
    this.next = next
    this.isCut = isCut
    this.lines = lines
  }
}

/** Wrong usage that concerns more than one option. */
export class UsageError extends Error {
  readonly kind: ErrorKind = 'invalid'
}

/** A service that answered that it has no such record. */
export class NotFound extends Error {
  readonly kind: ErrorKind = 'not-found'
  readonly method: string
  readonly endpoint: string

  constructor(message: string, method: string, endpoint: string) {
    super(message)
    this.method = method
    this.endpoint = endpoint
  }
}

/** 2 for wrong usage, 128 + signal when interrupted, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Unfinished) return exitCodeOf(error.cause)
  if (error instanceof Interrupted) return error.exitCode
  const isUsage = error instanceof OptionError || error instanceof UsageError || (error instanceof CodecError && error.kind === 'invalid')
  return isUsage ? 2 : 1
}

/**
 * One line that says what went wrong and, where possible, what to do. Options have their names of
 * the command line. `scrub` hides arguments that a server echoes.
 */
export function messageOf(error: unknown, scrub: Scrub = (text) => text): string {
  if (error instanceof Unfinished) {
    const { next, lines, isCut, cause } = error
    if (isOfTheChain(cause)) return `${messageOf(cause, scrub)}; blocks written before may have been replaced, too`
    const part = lines === 0 ? 'that part' : lines === 1 ? 'that part and the line before it' : `that part and the ${lines} lines before it`
    const cut = isCut
      ? `the output ends in the middle of ${lines === 0 ? 'the line' : 'a line'} of block ${next}: remove ${part}, and `
      : lines > 0
        ? `the output ends between the lines of block ${next}: remove the last ${lines === 1 ? 'line' : `${lines} lines`}, and `
        : ''
    return `${messageOf(error.cause, scrub)}; ${cut}continue with --from ${next}`
  }
  if (error instanceof OptionError) return `${flagOf(error.option)}: expected ${inShell(error.expected)}, received ${redactReceived(error.received)}`
  if (error instanceof CodecError && error.kind === 'invalid')
    return `${error.path === '' ? '' : `${error.path}: `}expected ${inShell(error.expected)}, received ${redactReceived(error.received)}`
  if (!(error instanceof HexlineError)) return error instanceof Error ? error.message : String(error)
  // Only a server's text is shortened. What is wrong in a chain or a dataset names two hashes.
  if (error instanceof IntegrityError) return error.file === undefined ? harmlessText(scrub(error.message)) : error.message
  // The place in a reply alone would not say whose reply it is.
  const place = error instanceof CodecError ? messagePrefix(error) : ''
  const said = excerpt(scrub(`${place}${error.message}`))
    .replace('(deadlineMs)', '(--deadline)')
    .replace(/maxResponseBytes allows (?=\d+$)/, 'the command takes at most ')
  const message = error.kind === 'timeout' ? inSeconds(said, error) : said
  const hint = hintFor(error)
  return hint === undefined ? message : `${message}; ${hint}`
}

/** The time that ran out in the unit of the options, and the option that sets it. */
function inSeconds(said: string, error: HexlineError): string {
  const isOfDeadline = isOfService(error) || error.method === 'probe'
  const flag = error instanceof TimeoutError ? (isOfDeadline ? ' (--deadline)' : ' (--timeout)') : ''
  return said.replace(/(?<=within )(\d{1,15}) ms$/, (_, ms: string) => `${Number(ms) / 1000} s${flag}`)
}

/** What was expected, as one types it in a shell. */
function inShell(expected: string): string {
  return expected
    .replace('(maxArrayLength)', '(--max-array)')
    .replace("a block number, 'latest', or a cursor", 'a block number (decimal or hex) or latest')
    .replace('(a bigint, a safe integer or a hex string)', '(decimal or hex)')
    .replace(/\b(\w+): (?:true|'(\w+)')/g, (_, option: string, value?: string) => [flagOf(option), ...(value === undefined ? [] : [value])].join(' '))
}

/** Blocks contradict each other: which of them is to be replaced is not known. */
function isOfTheChain(error: unknown): boolean {
  return error instanceof IntegrityError && error.kind === 'integrity' && error.field === undefined && error.file === undefined
}

const flags: Readonly<Record<string, string>> = {
  endpoint: '--rpc',
  client: '--rpc',
  baseUrl: '--base-url',
  apiKey: '--api-key',
  chain: '--chain',
  from: '--from',
  to: '--to',
  transactions: '--transactions',
  receipts: '--receipts',
  address: '--address',
  topics: '--topic',
  audit: '--audit',
  confirmations: '--confirmations',
  provider: '--provider',
  dir: '--out',
  into: '--into',
  sample: '--sample',
  against: '--against',
  format: '--format',
  tables: '--tables',
  columns: '--columns',
  blocksPerFile: '--blocks-per-file',
  verify: '--verify',
  concurrency: '--concurrency',
  'batch.maxCalls': '--batch',
  'rate.callsPerSecond': '--rate',
  deadlineMs: '--deadline',
  'service.dataUrl': '--data-url',
  'service.nftUrl': '--nft-url',
  'service.streamsUrl': '--streams-url',
  'service.apiKey': '--api-key',
  maxArrayLength: '--max-array',
  maxCalls: '--max-calls',
  maxBatch: '--max-batch',
  maxLogRange: '--max-range',
  rateCalls: '--rate',
  timeoutMs: '--deadline',
  port: '--port',
  upstream: '--upstream',
  latencyMs: '--latency',
  callsPerSecond: '--rate',
  faults: '--faults',
  notificationFaults: '--notification-faults',
  maxResults: '--max-results',
  'maxResults.most': '--max-results',
  dropLogs: '--drop-logs',
  lag: '--lag',
  prunedBelow: '--pruned-below',
}

function flagOf(option: string): string {
  for (const table of ['seed', 'prices']) if (option.startsWith(table)) return `--${table}: ${option}`
  for (const [start, flag] of [
    ['address[', '--address'],
    ['topics[', '--topic'],
  ] as const)
    if (option.startsWith(start)) return `${flag}: ${option}`
  if (option.startsWith('allowedHosts')) return '--allow-host'
  if (option.startsWith('endpoint[')) return '--rpc'
  // As it is given: --faults cut=0.1.
  const [, shares = '', fault] = /^(\w+)\["([\w ]+)"\]$/.exec(option) ?? []
  if (fault !== undefined && Object.hasOwn(flags, shares)) return `${flags[shares]} ${fault}`
  return Object.hasOwn(flags, option) ? (flags[option] as string) : option
}

const hints: Readonly<Partial<Record<ErrorKind, string>>> = {
  network: 'is the node running, and is the URL right?',
  timeout: 'is the node down or overloaded?',
  server: 'try again later, or use another node',
  overloaded: 'try again later, or use another node',
  unsupported: 'does the node have this method, and is it spelt right?',
  auth: 'check the key',
  quota: 'use another key, or wait until the quota is renewed',
  'rate-limit': 'try again later, or set a lower --rate where the command has one',
  lagging: 'the node may still be syncing, or may not keep history that far back: try another node',
  'response-too-large': 'ask for less at a time',
  pruned: 'the node has no history that far back: try an archive node',
}

/** The same for the operations of the REST groups. */
const serviceHints: Readonly<Partial<Record<ErrorKind, string>>> = {
  network: 'is the service running, and is the address right?',
  timeout: 'is the service down or overloaded?',
  malformed: 'is this the address of this group? --lenient keeps invalid fields',
  'not-found': 'is this the address of this group?',
  auth: 'check the key',
  quota: 'use another key, or wait until the quota is renewed',
  'rate-limit': 'try again later',
}

/** An operation of a REST group. */
function isOfService({ method = '' }: HexlineError): boolean {
  return /^get(?:Wallet|Transaction$|Nft|Collections|Streams)/.test(method)
}

function hintFor(error: unknown): string | undefined {
  if (!(error instanceof HexlineError)) return undefined
  // Nodes report an unknown method as any of these kinds.
  const meant = error instanceof RpcError && ['unsupported', 'invalid', 'not-found'].includes(error.kind) ? methodMeant(error.method ?? '') : undefined
  if (meant !== undefined) return `did you mean ${meant}?`
  const pauseMs = error.kind === 'rate-limit' || error.kind === 'overloaded' ? (error.retryAfterMs ?? 0) : 0
  if (pauseMs >= 1000) return `try again in ${durationOf(pauseMs)}, as it asks`
  // No field is wrong: the reply could not be read, or its page does not lead on.
  if (isOfService(error) && error instanceof MalformedReplyError)
    return /: the service sent (?:a|no) cursor/.test(error.message) ? undefined : serviceHints['not-found']
  if (isOfService(error)) return serviceHints[error.kind]
  const isNoNode =
    (error instanceof HttpError && ['not-found', 'invalid', 'unsupported'].includes(error.kind)) ||
    (error instanceof MalformedReplyError && error.kind === 'malformed')
  return isNoNode ? 'is this the URL of a JSON-RPC node?' : hints[error.kind]
}
