import { CodecError, type ErrorKind, HexlineError, HttpError, MalformedReplyError, OptionError, RpcError } from '../../errors.ts'
import { methodMeant } from '../../eth/methods.ts'
import type { Scrub } from '../../http/secrets.ts'
import { excerpt } from '../../text.ts'
import { withoutSecret } from './given.ts'

/** Ended by the user: Ctrl-C, or SIGTERM. */
export class Interrupted extends Error {
  /** 128 and the number of the signal, as shells count. */
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** A job that failed in its middle, with what its reader has so far. */
export class Unfinished extends Error {
  override readonly cause: unknown
  /** First block whose line the reader does not have whole. */
  readonly next: bigint
  /** The output ends in the middle of that block's line. */
  readonly isCut: boolean

  constructor(cause: unknown, next: bigint, isCut: boolean) {
    super('unfinished')
    this.cause = cause
    this.next = next
    this.isCut = isCut
  }
}

/** Wrong usage that no option alone stands for. */
export class UsageError extends Error {}

/** 2 for wrong usage, 128 + signal when interrupted, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Unfinished) return exitCodeOf(error.cause)
  if (error instanceof Interrupted) return error.exitCode
  const isUsage = error instanceof OptionError || error instanceof UsageError || (error instanceof CodecError && error.kind === 'invalid')
  return isUsage ? 2 : 1
}

/**
 * One line that says what went wrong, and what to do where that helps. Options are named as on the command line. `scrub` hides
 * what a server may echo of the arguments.
 */
export function messageOf(error: unknown, scrub: Scrub = (text) => text): string {
  if (error instanceof Unfinished) {
    const { next } = error
    const cut = error.isCut ? `the output ends in the middle of the line of block ${next}: remove that part, and ` : ''
    return `${messageOf(error.cause, scrub)}; ${cut}go on with --from ${next}`
  }
  if (error instanceof OptionError) return `${flagOf(error.option)}: expected ${error.expected}, received ${withoutSecret(error.received)}`
  if (error instanceof CodecError && error.kind === 'invalid')
    return `${error.path === '' ? '' : `${error.path}: `}expected ${error.expected.replace('(maxArrayLength)', '(--max-array)')}, received ${withoutSecret(error.received)}`
  // The command's own sentences are as long as they are; what a server says is cut.
  if (!(error instanceof HexlineError)) return error instanceof Error ? error.message : String(error)
  const message = excerpt(scrub(error.message)).replace('(deadlineMs)', '(--deadline)')
  const hint = hintFor(error)
  return hint === undefined ? message : `${message}; ${hint}`
}

const flags: Readonly<Record<string, string>> = {
  endpoint: '--rpc',
  baseUrl: '--base-url',
  apiKey: '--api-key',
  chain: '--chain',
  from: '--from',
  to: '--to',
  transactions: '--transactions',
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
}

function flagOf(option: string): string {
  for (const table of ['seed', 'prices']) if (option.startsWith(table)) return `--${table}: ${option}`
  if (option.startsWith('allowedHosts')) return '--allow-host'
  return Object.hasOwn(flags, option) ? (flags[option] as string) : option
}

const hints: Readonly<Partial<Record<ErrorKind, string>>> = {
  network: 'is the node running, and the URL right?',
  timeout: 'is the node up, and not overloaded?',
  unsupported: 'does the node have this method, and is it spelt right?',
  auth: 'check the key',
  quota: 'the key is used up for now',
  'rate-limit': 'ask for less at a time with --rate or --concurrency, or later',
  lagging: 'the node may still be catching up, or keep no history that far back: try another one',
  pruned: 'the node has no history that far back: try an archive node',
}

/** The same for the REST groups, whose operations have names of their own. */
const serviceHints: Readonly<Partial<Record<ErrorKind, string>>> = {
  network: 'is the service running, and the address right?',
  timeout: 'is the service up, and not overloaded?',
  malformed: 'is this the address of this group? --lenient keeps fields that cannot be read',
  'not-found': 'is this the address of this group?',
  auth: 'check the key',
  quota: 'the key is used up for now',
  'rate-limit': 'ask again later',
}

function hintFor(error: unknown): string | undefined {
  if (!(error instanceof HexlineError)) return undefined
  // Nodes refuse a method that they do not know in one of these ways.
  const meant = error instanceof RpcError && ['unsupported', 'invalid', 'not-found'].includes(error.kind) ? methodMeant(error.method ?? '') : undefined
  if (meant !== undefined) return `did you mean ${meant}?`
  if (error.method?.startsWith('get')) return serviceHints[error.kind]
  const isNoNode =
    (error instanceof HttpError && ['not-found', 'invalid', 'unsupported'].includes(error.kind)) ||
    (error instanceof MalformedReplyError && error.kind === 'malformed')
  return isNoNode ? 'is this the URL of a JSON-RPC node?' : hints[error.kind]
}
