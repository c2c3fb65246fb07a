import { CodecError, OptionError } from '../../errors.ts'
import { BloomTest } from '../../eth/bloom.ts'
import { type Address, type Hash, isHash } from '../../eth/codec/hex.ts'
import type { Log } from '../../eth/objects.ts'
import { address as addressParam, type LogFilter } from '../../eth/params.ts'
import { show } from '../../text.ts'

/** Topics of a filter by position: alternatives, or null for any. */
type Topics = readonly (readonly Hash[] | null)[]

/** The fields of a filter as `eth_getLogs` takes them. */
export interface FilterParams {
  readonly address?: Address | readonly Address[]
  readonly topics?: readonly (Hash | readonly Hash[] | null)[]
}

/** Which logs to fetch, apart from the range. Already checked. */
export interface CheckedFilter {
  /** One `eth_getLogs` for each group of addresses. */
  readonly groups: readonly FilterParams[]
  /** Tests the bloom of a header. */
  readonly bloom: BloomTest
  /** The filter selects by address or topic. */
  readonly isSelective: boolean
  /** Whether a log is one that the filter selects. */
  matches(log: Pick<Log, 'address' | 'topics'>): boolean
}

/** geth and reth refuse more addresses in one filter. */
const MOST_ADDRESSES = 1000
/** geth refuses more alternatives for one topic. */
const MOST_ALTERNATIVES = 1000
/** A log has at most this many topics. */
const MOST_TOPICS = 4

/** Checks the filter. Throws `OptionError`, also for an empty list: nodes take it for "any". */
export function checkFilter({ address, topics }: Pick<LogFilter, 'address' | 'topics'>): CheckedFilter {
  const addresses = address === undefined ? undefined : checkAddresses(address)
  const positions = topics === undefined ? [] : checkTopics(topics)
  const wire = positions.map((alternatives) => (alternatives?.length === 1 ? (alternatives[0] as Hash) : alternatives))
  const ofTopics = wire.length === 0 ? {} : { topics: wire }
  const groups =
    addresses === undefined ? [ofTopics] : groupsOf(addresses).map((each) => ({ address: each.length === 1 ? (each[0] as Address) : each, ...ofTopics }))
  const wanted = addresses && new Set<string>(addresses)
  const sets = positions.map((alternatives) => alternatives && new Set<string>(alternatives))
  return {
    groups,
    bloom: new BloomTest([...(addresses === undefined ? [] : [addresses]), ...positions.filter((alternatives) => alternatives !== null)]),
    isSelective: addresses !== undefined || positions.length > 0,
    matches: ({ address: given, topics: those }) => {
      if (wanted !== undefined && !wanted.has(given) && !wanted.has(given.toLowerCase())) return false
      for (let i = 0; i < sets.length; i++) {
        const set = sets[i] as Set<string> | null
        const topic = those[i]
        if (topic === undefined || (set !== null && !set.has(topic) && !set.has(topic.toLowerCase()))) return false
      }
      return true
    },
  }
}

/** In lower case, each once. */
function checkAddresses(address: Address | readonly Address[]): Address[] {
  const list: readonly unknown[] = Array.isArray(address) ? address : [address]
  if (list.length === 0) throw new OptionError('address', 'at least one address; omit the option for logs of all addresses', 'an empty array')
  return [...new Set(Array.from(list, (each, i) => checkAddress(Array.isArray(address) ? `address[${i}]` : 'address', each)))]
}

function checkAddress(name: string, value: unknown): Address {
  try {
    return (addressParam.encode(value as Address) as string).toLowerCase() as Address
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    throw new OptionError(name, error.expected, error.received)
  }
}

/** In lower case; trailing nulls, which any log fits, are left out. */
function checkTopics(topics: unknown): Topics {
  if (!Array.isArray(topics)) throw new OptionError('topics', 'an array with a topic, an array of topics or null for each position', show(topics))
  if (topics.length > MOST_TOPICS) throw new OptionError('topics', `at most ${MOST_TOPICS} positions`, `${topics.length}`)
  const positions = Array.from(topics, (each, i): readonly Hash[] | null => {
    const name = `topics[${i}]`
    if (each === null || each === undefined) return null
    if (!Array.isArray(each)) return [checkTopic(name, each)]
    if (each.length === 0) throw new OptionError(name, 'at least one topic, or null for any', 'an empty array')
    if (each.length > MOST_ALTERNATIVES) throw new OptionError(name, `at most ${MOST_ALTERNATIVES} topics`, `${each.length}`)
    return [...new Set(Array.from(each, (topic, j) => checkTopic(`${name}[${j}]`, topic)))]
  })
  while (positions.length > 0 && positions.at(-1) === null) positions.pop()
  return positions
}

function checkTopic(name: string, value: unknown): Hash {
  if (isHash(value)) return value.toLowerCase() as Hash
  throw new OptionError(name, 'a topic (32 bytes in hex)', show(value))
}

/** Groups of about the same size. */
function groupsOf(addresses: readonly Address[]): Address[][] {
  const count = Math.ceil(addresses.length / MOST_ADDRESSES)
  const size = Math.ceil(addresses.length / count)
  return Array.from({ length: count }, (_, i) => addresses.slice(i * size, (i + 1) * size))
}
