import { type Command, Option } from 'commander'
import type { GetLogsOptions } from '../bulk/get-logs.ts'
import { OptionError } from '../errors.ts'
import { type Address, type Hash, isHash } from '../eth/codec/hex.ts'
import { type LimitFlags, limitFlags } from './blocks.ts'
import { eventTopic } from './event-topic.ts'
import { addNodeFlags } from './node.ts'
import { redact } from './output/redact.ts'
import { collect } from './params.ts'
import { type RangeFlags, rangeFlags, rangeFrom } from './range.ts'

/** The flags that say which logs. */
export interface LogsFlags extends LimitFlags, RangeFlags {
  readonly address?: readonly string[]
  readonly topic?: readonly string[]
  readonly event?: string
  readonly audit?: 'none' | 'bloom' | 'receipts' | 'peer'
}

/** Adds the flags that say which logs, and where to. */
export function logsFlags(command: Command): Command {
  return limitFlags(
    rangeFlags(addNodeFlags(command))
      .option('--address <address>', 'logs of this contract; repeat it, or separate several with commas', collect)
      .option('--event <signature>', "logs of this event, such as 'Transfer(address,address,uint256)'")
      .option(
        '--topic <topic>',
        'the topic at the next position, after that of --event; repeat it. Separate alternatives with commas; `any` matches any topic, and an address is padded',
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

/** The filter that the flags name. Throws `OptionError`. */
export function filterFrom({ address = [], topic = [], event }: Pick<LogsFlags, 'address' | 'topic' | 'event'>): Pick<GetLogsOptions, 'address' | 'topics'> {
  const addresses = address.flatMap((each) => each.split(',')).map((each) => each.trim())
  const topics = topic.map((each, i) => topicFrom(each, i + (event === undefined ? 0 : 1)))
  if (event !== undefined) topics.unshift(eventTopic(event))
  return { ...(addresses.length > 0 && { address: addresses as Address[] }), ...(topics.length > 0 && { topics }) }
}

function topicFrom(text: string, position: number): Hash | Hash[] | null {
  const alternatives = text.split(',').map((each) => each.trim())
  if (alternatives.includes('any')) {
    if (alternatives.length === 1) return null
    throw new OptionError('--topic', '`any` alone, or topics separated by commas', redact(text))
  }
  const topics = alternatives.map((each) => paddedTopic(each, position))
  return topics.length === 1 ? (topics[0] as Hash) : topics
}

/** Of an address, the word that an indexed parameter has. */
function paddedTopic(text: string, position: number): Hash {
  if (isHash(text)) return text
  if (position > 0 && /^0x[0-9a-fA-F]{40}$/.test(text)) return `0x${text.slice(2).padStart(64, '0')}`
  throw new OptionError('--topic', position > 0 ? 'a topic (32 bytes in hex), an address, or `any`' : 'a topic (32 bytes in hex), or `any`', redact(text))
}
