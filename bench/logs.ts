/*
 * The logs of one contract for the workload `logs`: rare in most blocks, many in some. The server
 * refuses ranges as providers do, by their blocks and by their results.
 */

/** Most blocks in a range. */
export const MOST_BLOCKS = 2000
/** Most results in a reply. */
export const MOST_RESULTS = 10_000

/** The contract. */
export const CONTRACT = `0x${'c0'.repeat(20)}` as const

/** Numbers of blocks, and the mean number of logs in each. The sections repeat. */
const SECTIONS: readonly (readonly [blocks: number, mean: number])[] = [
  [850_000, 0.002],
  [100_000, 0.1],
  [40_000, 2],
  [8000, 8],
  [2000, 30],
]
const PERIOD = SECTIONS.reduce((sum, [blocks]) => sum + blocks, 0)

/** Number of logs in a block: from none to twice the mean of its section, the same in every run. */
export function logsIn(block: number): number {
  let at = block % PERIOD
  const random = randomOf(block)
  for (const [blocks, mean] of SECTIONS) {
    if (at < blocks) return mean < 0.5 ? Number(random < mean) : Math.floor(random * (2 * mean + 1))
    at -= blocks
  }
  return 0
}

/** A number from 0 to 1 for each block, by the mixing steps of MurmurHash3. */
function randomOf(block: number): number {
  let mixed = Math.imul(block ^ (block >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}

/** What a client must have seen of these blocks: the logs, and the sum of their block numbers. */
export function logSums(first: number, count: number): { readonly parts: number; readonly numbers: number } {
  let [parts, numbers] = [0, 0]
  for (let block = first; block < first + count; block++) {
    const logs = logsIn(block)
    parts += logs
    numbers += logs * block
  }
  return { parts, numbers }
}

/**
 * How the node refuses a range: in the words of Aurora for blocks, of Infura for results. The code
 * is not Infura's -32005, since viem repeats calls with it three times before it lets them fail.
 */
export interface Refusal {
  readonly code: number
  readonly message: string
}

/** The logs of the blocks `from` to `to` as a JSON array, or a refusal. */
export function logsReply(from: number, to: number): Buffer | Refusal {
  if (to - from + 1 > MOST_BLOCKS) return { code: -32000, message: `You can make eth_getLogs requests with up to a ${MOST_BLOCKS} block range` }
  let count = 0
  for (let block = from; block <= to; block++) count += logsIn(block)
  if (count > MOST_RESULTS) return { code: -32602, message: `query returned more than ${MOST_RESULTS} results` }
  if (count === 0) return Buffer.from('[]')
  const size = LOG.length + 1
  const reply = Buffer.from(MANY_LOGS.subarray(0, count * size + 1))
  let start = 1
  for (let block = from; block <= to; block++) {
    const logs = logsIn(block)
    const digits = Buffer.from(block.toString(16), 'latin1')
    for (let i = 0; i < logs; i++) {
      const index = FIRST_INDEX + i
      for (const at of NUMBERS) for (let k = 0; k < digits.length; k++) reply[start + at + k] = digits[k] as number
      for (const at of INDEXES) {
        reply[start + at] = DIGITS[index >>> 4] as number
        reply[start + at + 1] = DIGITS[index & 15] as number
      }
      start += size
    }
  }
  reply[reply.length - 1] = 0x5d // ']' in place of the last comma
  return reply
}

/** Indexes of logs and transactions start here, so that all have two digits. */
const FIRST_INDEX = 0x10
const DIGITS = Buffer.from('0123456789abcdef')
const NUMBER = '#######'
const INDEX = '@@'
/** An account whose address holds the number of the block and the index of the log. */
const account = (name: string) => `0x${'0'.repeat(24)}${name.repeat(31)}${NUMBER}${INDEX}`

/** A log as geth writes it. Blocks have seven digits, and the hashes of the other workloads. */
const LOG = JSON.stringify({
  address: CONTRACT,
  topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', account('a'), account('e')],
  data: `0x${'0'.repeat(50)}1${'0'.repeat(4)}${NUMBER}${INDEX}`,
  blockNumber: `0x${NUMBER}`,
  transactionHash: `0x${'7'.repeat(55)}${NUMBER}${INDEX}`,
  transactionIndex: `0x${INDEX}`,
  blockHash: `0x${'b'.repeat(57)}${NUMBER}`,
  blockTimestamp: '0x68d1a2b3',
  logIndex: `0x${INDEX}`,
  removed: false,
})
const placesOf = (mark: string) => [...LOG.matchAll(new RegExp(mark, 'g'))].map(({ index }) => index)
const NUMBERS = placesOf(NUMBER)
const INDEXES = placesOf(INDEX)
const MANY_LOGS = Buffer.from(`[${`${LOG},`.repeat(MOST_RESULTS)}`, 'latin1')
