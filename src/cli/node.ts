import { type Command, Option } from 'commander'
import { nodeUrl as checkNodeUrl } from '../check.ts'
import type { Endpoint } from '../client/endpoint.ts'
import { OptionError } from '../errors.ts'
import { chains, checkChain, nodeUrl } from '../eth/chains.ts'
import { isRouteWord } from '../http/secrets.ts'
import { LONGEST_TIMER } from '../wait/clock.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'
import { redact } from './output/redact.ts'
import { collect } from './params.ts'

/** The flags that name a node and limit the time of a call. */
export interface NodeFlags {
  /** Several nodes of one chain. */
  readonly rpc?: readonly string[]
  readonly chain?: string
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly deadline?: string
  readonly timeout?: string
}

/** `deadline` is the default of `--deadline`, in seconds. */
export function addNodeFlags(command: Command, deadline = '120'): Command {
  return command
    .option('--rpc <url>', "the node's URL; repeat it for several nodes of one chain (env: HEXLINE_RPC_URL, which is safer where a URL holds a key)", collect)
    .option('--chain <name>', 'a chain of the service, such as eth or base, instead of --rpc')
    .option('--base-url <url>', "with --chain: the service's address (env: HEXLINE_RPC_BASE_URL)")
    .addOption(new Option('--api-key <key>', 'with --chain: the key (env: HEXLINE_API_KEY, which is safer)'))
    .option('--deadline <seconds>', `give up on a call after this time, including all attempts and waits (default: ${deadline})`)
    .option('--timeout <seconds>', 'give up on a POST after this time, from its start to the last byte of the reply (default: 30)')
}

/**
 * The node or nodes that the flags name, or else the environment, where spaces separate several
 * URLs. `argument` is a URL that takes the place of `--rpc`. Throws `OptionError`.
 */
export function endpointFrom(flags: NodeFlags, env: Io['env'], messages: Messages, argument?: string): Endpoint | readonly Endpoint[] {
  const { chain } = flags
  const rpc = argument === undefined ? flags.rpc : [argument]
  const other = argument === undefined ? '--rpc' : 'a URL as an argument'
  if (rpc !== undefined && chain !== undefined) throw new OptionError('--chain', `either --chain or ${other}`, 'both')
  if (chain === undefined) {
    for (const [flag, value] of [
      ['--base-url', flags.baseUrl],
      ['--api-key', flags.apiKey],
    ] as const) {
      if (value !== undefined) throw new OptionError(flag, '--chain as well', 'no --chain')
    }
    const keyed = rpc?.find(mayHoldKey)
    if (keyed !== undefined) warnOfKey(messages, keyed, 'HEXLINE_RPC_URL')
    const endpoint = endpointOf(rpc === undefined ? urlsIn(env) : rpc, rpc === undefined ? 'HEXLINE_RPC_URL' : argument === undefined ? '--rpc' : 'the URL')
    if (endpoint === undefined) throw new OptionError('--rpc', "the node's URL, here or in HEXLINE_RPC_URL, or --chain", 'nothing')
    return endpoint
  }
  if (flags.apiKey !== undefined) messages.warn('other users of this machine can see a key given as an argument; use HEXLINE_API_KEY instead')
  if (flags.baseUrl !== undefined) warnOfKey(messages, flags.baseUrl, 'HEXLINE_RPC_BASE_URL')
  checkChain(chain)
  const address = {
    baseUrl: required(flags.baseUrl ?? env.HEXLINE_RPC_BASE_URL, '--base-url', "the service's address, here or in HEXLINE_RPC_BASE_URL"),
    chain,
    apiKey: required(flags.apiKey ?? env.HEXLINE_API_KEY, '--api-key', 'the key, here or in HEXLINE_API_KEY'),
  }
  nodeUrl(address)
  return address
}

/** The node or nodes of HEXLINE_RPC_URL, if it names any. Throws `OptionError`. */
export function endpointIn(env: Io['env']): Endpoint | readonly Endpoint[] | undefined {
  return endpointOf(urlsIn(env), 'HEXLINE_RPC_URL')
}

function urlsIn({ HEXLINE_RPC_URL: text = '' }: Io['env']): string[] {
  return text.split(/\s+/).filter((url) => url !== '')
}

/** How several URLs are given. */
const several = { HEXLINE_RPC_URL: 'URLs with spaces between them', '--rpc': 'one URL, and --rpc again for another one', 'the URL': 'one URL' }

/** An error names where the URL comes from, and of several, which one is wrong. */
function endpointOf(urls: readonly string[], source: keyof typeof several): Endpoint | readonly Endpoint[] | undefined {
  for (const [i, url] of urls.entries()) {
    const where = urls.length === 1 ? source : `${source}, URL ${i + 1} of ${urls.length}`
    // Such a text is a valid URL: the second one would be part of the path of the first.
    if (/,(?:https?|wss?):\/\//i.test(url)) throw new OptionError(where, several[source], 'URLs with a comma between them')
    checkNodeUrl(where, url, 'https://rpc.example.com/KEY')
  }
  return urls.length < 2 ? urls[0] : urls
}

function required(value: string | undefined, flag: string, expected: string): string {
  if (value) return value
  throw new OptionError(flag, expected, 'nothing')
}

/**
 * Warns of a URL given as an argument that holds more than an address. `variable` is the safe
 * alternative.
 */
export function warnOfKey(messages: Messages, url: string, variable: string): void {
  if (mayHoldKey(url)) messages.warn(`other users of this machine can see a URL given as an argument, and it may hold a key; use ${variable} instead`)
}

function mayHoldKey(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, pathname } = new URL(text)
  // Other schemes are refused anyway.
  if (!['http:', 'https:', 'ws:', 'wss:'].includes(protocol)) return false
  const isPlain = (part: string) => part === '' || isRouteWord(part) || Object.hasOwn(chains, part) || /^v\d{1,2}$/.test(part)
  return username !== '' || password !== '' || search !== '' || !pathname.split('/').every(isPlain)
}

/** The time limits of a call and of a POST, as options of `createClient`. Throws `OptionError`. */
export function timesFrom({ deadline, timeout }: NodeFlags): { deadlineMs?: number; timeoutMs?: number } {
  return {
    ...(deadline !== undefined && { deadlineMs: millisecondsFrom('--deadline', deadline) }),
    ...(timeout !== undefined && { timeoutMs: millisecondsFrom('--timeout', timeout, LONGEST_SECONDS) }),
  }
}

/** The longest time that a timer can wait, in whole seconds. */
export const LONGEST_SECONDS = Math.floor(LONGEST_TIMER / 1000)

/** Parses seconds, and returns ms. Throws `OptionError`. */
export function millisecondsFrom(flag: string, text: string, most?: number): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text)
  if (seconds > 0 && (most === undefined || seconds <= most)) return 1000 * seconds
  throw new OptionError(flag, `a number of seconds above 0, such as 30${most === undefined ? '' : `, at most ${most}`}`, redact(text))
}

/** Parses a number. Throws `OptionError`. */
export function numberFrom(flag: string, text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number)) return number
  throw new OptionError(flag, 'a number', redact(text))
}
