import { type Command, InvalidArgumentError, Option } from 'commander'
import { OptionError } from '../errors.ts'
import type { RestOptions, Service } from '../rest/index.ts'
import { warnOfKey } from './node.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'

/** The flags that name the service's groups, and how a list is read. */
export interface ServiceFlags {
  readonly dataUrl?: string
  readonly nftUrl?: string
  readonly streamsUrl?: string
  readonly apiKey?: string
  readonly limit?: number
  readonly cursor?: string
  readonly all?: boolean
  readonly json?: boolean
  readonly lenient?: boolean
}

type Group = 'dataUrl' | 'nftUrl' | 'streamsUrl'

const groups: Readonly<Record<Group, { readonly flag: string; readonly env: string; readonly what: string }>> = {
  dataUrl: { flag: '--data-url', env: 'HEXLINE_DATA_URL', what: 'the data group' },
  nftUrl: { flag: '--nft-url', env: 'HEXLINE_NFT_URL', what: 'the NFT group' },
  streamsUrl: { flag: '--streams-url', env: 'HEXLINE_STREAMS_URL', what: 'the streams group' },
}

/** For commands that read one group. */
export function addServiceFlags(command: Command, group: Group): Command {
  const { flag, env, what } = groups[group]
  return command
    .option(`${flag} <url>`, `address of ${what} (env: ${env})`)
    .addOption(new Option('--api-key <key>', 'the key (env: HEXLINE_API_KEY, which is safer)'))
    .option('--lenient', 'keep invalid fields as they were sent')
    .option('--json', 'print a line of JSON for each record')
}

/** For commands that read a list. */
export function addListFlags(command: Command, mostPerPage?: number): Command {
  return command
    .option('--limit <n>', `records per page${mostPerPage === undefined ? '' : `, at most ${mostPerPage}`}`, whole)
    .option('--cursor <cursor>', 'start at this page')
    .option('--all', 'print all pages')
}

/** How flags with several values are sent. */
export interface ArrayFlags {
  readonly arrays?: RestOptions['arrays']
  readonly maxArray?: number
}

/** For commands with flags that take several values. */
export function addArrayFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--arrays <form>', 'how several values are sent in the query: a[0]=x, a[]=x, or a=x&a=y (default: indices)').choices([
        'indices',
        'brackets',
        'repeat',
      ]),
    )
    .option('--max-array <n>', 'at most this many values of one flag; common servers misread longer arrays (default: 20)', whole)
}

export function arrayOptions({ arrays, maxArray }: ArrayFlags): RestOptions {
  return { ...(arrays !== undefined && { arrays }), ...(maxArray !== undefined && { maxArrayLength: maxArray }) }
}

/** The service that the flags name, or else the environment. Throws `OptionError`. */
export function serviceFrom(flags: ServiceFlags, group: Group, env: Io['env'], messages: Messages): Service {
  const { flag, env: variable, what } = groups[group]
  const url = flags[group] ?? env[variable]
  if (!url) throw new OptionError(flag, `the address of ${what}, here or in ${variable}`, 'nothing')
  const apiKey = flags.apiKey ?? env.HEXLINE_API_KEY
  if (!apiKey) throw new OptionError('--api-key', 'the key, here or in HEXLINE_API_KEY', 'nothing')
  if (flags.apiKey !== undefined) messages.warn('other users of this machine can see a key given as an argument; use HEXLINE_API_KEY instead')
  if (flags[group] !== undefined) warnOfKey(messages, url, variable)
  return { [group]: url, apiKey }
}

export function restOptions({ lenient }: ServiceFlags): RestOptions {
  return lenient === true ? { lenient } : {}
}

/** Parses a whole number. */
export function whole(text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(number) && number >= 0) return number
  throw new InvalidArgumentError('It must be a whole number from 0 to 2^53 - 1.')
}
