import { type Command, Option } from 'commander'
import type { Endpoint } from '../endpoint.ts'
import { OptionError } from '../errors.ts'
import { checkChain, nodeUrl } from '../eth/chains.ts'
import type { Messages } from './messages.ts'

/** The flags that name a node. */
export interface NodeFlags {
  readonly rpc?: string
  readonly chain?: string
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly deadline?: string
}

/** `deadline` is the default of `--deadline`, in seconds. */
export function addNodeFlags(command: Command, deadline = '120'): Command {
  return command
    .option('--rpc <url>', "the node's URL (env: HEXLINE_RPC_URL)")
    .option('--chain <name>', 'a chain of the service, such as eth or base, instead of --rpc')
    .option('--base-url <url>', "with --chain: the service's address (env: HEXLINE_RPC_BASE_URL)")
    .addOption(new Option('--api-key <key>', 'with --chain: the key (env: HEXLINE_API_KEY, which is safer)'))
    .option('--deadline <seconds>', `give up when a call has had no answer for so long (default: ${deadline})`)
}

/** The node that the flags name, and else the environment. Throws `OptionError`. */
export function endpointFrom(flags: NodeFlags, env: NodeJS.ProcessEnv, messages: Messages): Endpoint {
  const { rpc, chain } = flags
  if (rpc !== undefined && chain !== undefined) throw new OptionError('--chain', 'no --rpc beside it', 'both')
  if (chain === undefined) {
    for (const [flag, value] of [
      ['--base-url', flags.baseUrl],
      ['--api-key', flags.apiKey],
    ] as const) {
      if (value !== undefined) throw new OptionError(flag, 'a --chain beside it', 'none')
    }
    const url = rpc ?? env.HEXLINE_RPC_URL
    if (!url) throw new OptionError('--rpc', "the node's URL, here or in HEXLINE_RPC_URL, or --chain", 'nothing')
    return url
  }
  if (flags.apiKey !== undefined) messages.warn('a key given as an argument can be seen by others on this machine; HEXLINE_API_KEY cannot')
  checkChain(chain)
  const address = {
    baseUrl: given(flags.baseUrl ?? env.HEXLINE_RPC_BASE_URL, '--base-url', "the service's address, here or in HEXLINE_RPC_BASE_URL"),
    chain,
    apiKey: given(flags.apiKey ?? env.HEXLINE_API_KEY, '--api-key', 'the key, here or in HEXLINE_API_KEY'),
  }
  nodeUrl(address)
  return address
}

function given(value: string | undefined, flag: string, expected: string): string {
  if (value) return value
  throw new OptionError(flag, expected, 'nothing')
}

/** The deadline of a call, as `createClient` takes it. Throws `OptionError`. */
export function deadlineFrom({ deadline }: NodeFlags): { deadlineMs?: number } {
  return deadline === undefined ? {} : { deadlineMs: 1000 * numberFrom('--deadline', deadline) }
}

/** Throws `OptionError` for text that is no number. */
export function numberFrom(flag: string, text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number)) return number
  throw new OptionError(flag, 'a number', JSON.stringify(text))
}
