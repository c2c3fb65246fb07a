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
function logsIn(block: number): number {
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

/**
 * What a client must have seen of these blocks: the logs, the sum of their block numbers, and their
 * size in bytes.
 */
export function logSums(first: number, count: number): { readonly parts: number; readonly numbers: number; readonly bytes: number } {
  let [parts, numbers] = [0, 0]
  for (let block = first; block < first + count; block++) {
    const logs = logsIn(block)
    parts += logs
    numbers += logs * block
  }
  return { parts, numbers, bytes: parts * SIZE }
}

/**
 * These blocks in the fewest ranges that the node accepts: what a client can know only afterwards.
 */
export function fittingRanges(first: number, count: number): (readonly [from: number, to: number])[] {
  const ranges: (readonly [number, number])[] = []
  let [from, logs] = [first, 0]
  for (let block = first; block < first + count; block++) {
    const more = logsIn(block)
    if (block - from === MOST_BLOCKS || logs + more > MOST_RESULTS) {
      ranges.push([from, block - 1])
      ;[from, logs] = [block, 0]
    }
    logs += more
  }
  if (count > 0) ranges.push([from, first + count - 1])
  return ranges
}

/**
 * How the node refuses a range: in the words of Aurora for blocks, of Infura for results. The code
 * is not Infura's -32005, since viem repeats calls with it three times before it lets them fail.
 */
export interface Refusal {
  readonly code: number
  readonly message: string
}

/** The logs of the blocks `from` to `to` as pieces of a JSON array, or a refusal. */
export function logsReply(from: number, to: number): Buffer[] | Refusal {
  if (to - from + 1 > MOST_BLOCKS) return { code: -32000, message: `You can make eth_getLogs requests with up to a ${MOST_BLOCKS} block range` }
  const pieces: Buffer[] = []
  let bytes = 0
  for (let chunk = Math.floor(from / CHUNK); chunk <= Math.floor(to / CHUNK); chunk++) {
    const { logs, starts } = madeChunk(chunk)
    const piece = logs.subarray(starts[Math.max(0, from - chunk * CHUNK)], starts[Math.min(CHUNK, to + 1 - chunk * CHUNK)])
    bytes += piece.length
    if (piece.length > 0) pieces.push(piece)
  }
  if (bytes > MOST_RESULTS * SIZE) return { code: -32602, message: `query returned more than ${MOST_RESULTS} results` }
  const last = pieces.pop()
  // Without the last comma.
  return [OPEN, ...pieces, ...(last === undefined ? [] : [last.subarray(0, -1)]), CLOSE]
}

/**
 * Makes the logs of these blocks, so that the server has nothing left to do but to send them: what
 * it needs of the machine is missing to the client.
 */
export function makeLogs(first: number, count: number): void {
  for (let chunk = Math.floor(first / CHUNK); chunk * CHUNK < first + count; chunk++) madeChunk(chunk)
}

/** The logs of some blocks, each followed by a comma, and where those of each block start. */
interface Chunk {
  readonly logs: Buffer
  readonly starts: Uint32Array
}

/** Blocks in a chunk. */
const CHUNK = 20_000
const chunks = new Map<number, Chunk>()

function madeChunk(chunk: number): Chunk {
  const known = chunks.get(chunk)
  if (known !== undefined) return known
  const first = chunk * CHUNK
  const starts = new Uint32Array(CHUNK + 1)
  for (let i = 0; i < CHUNK; i++) starts[i + 1] = (starts[i] as number) + logsIn(first + i) * SIZE
  const logs = Buffer.allocUnsafeSlow(starts[CHUNK] as number)
  for (let i = 0; i < CHUNK; i++) {
    const digits = Buffer.from((first + i).toString(16), 'latin1')
    for (let start = starts[i] as number, index = FIRST_INDEX; start < (starts[i + 1] as number); start += SIZE, index++) {
      PATTERN.copy(logs, start)
      for (const at of NUMBERS) digits.copy(logs, start + at)
      for (const at of INDEXES) {
        logs[start + at] = DIGITS[index >>> 4] as number
        logs[start + at + 1] = DIGITS[index & 15] as number
      }
    }
  }
  const made = { logs, starts }
  chunks.set(chunk, made)
  return made
}

const OPEN = Buffer.from('[')
const CLOSE = Buffer.from(']')
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
const PATTERN = Buffer.from(`${LOG},`, 'latin1')
const SIZE = PATTERN.length
