/** What a scan tells about the JSON of an `eth_getLogs` result. */
export interface ScannedLogs {
  /** Number of logs. */
  readonly count: number
  /** Where it may be cut between two blocks, so that the pieces have some hundred logs each. */
  readonly cuts: readonly LogCut[]
}

/** A place between two logs of different blocks. */
interface LogCut {
  /** Index of the comma between them. */
  readonly at: number
  /** The block of the second one. */
  readonly block: number
  /** Number of logs before it. */
  readonly count: number
}

/** The key of a field that each log has once, with the beginning of its value. */
const KEY = Buffer.from('"blockNumber":"0x', 'latin1')
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const BETWEEN = Buffer.from('},{', 'latin1')
/** Least size of a log, in bytes: an address, two hashes, numbers, and their keys. */
const LEAST_SIZE = 300
/** Size of an address and its key. Where much stands before the key of the number, they do, too. */
const ADDRESS_SIZE = 56
/** Logs between two cuts. Their objects are few enough to be dropped while they are young. */
const LOGS_IN_PIECE = 500

/**
 * Counts logs, and finds where to cut between them, without decoding or checking anything: many
 * times quicker than a decoder. Undefined where the JSON is in an unusual form, or the logs are not
 * in the order of their blocks. It may be wrong about JSON that no node would write, so what it
 * says has to be compared with what is decoded.
 */
export function scanLogs(bytes: Buffer): ScannedLogs | undefined {
  const cuts: LogCut[] = []
  let count = 0
  let last = 0
  let cutAt = 0
  /** The comma before the log, and how far behind it the key of the previous log was. */
  let comma = 0
  let offset = 0
  /** How long the previous log was, with the comma before it. */
  let size = 0
  for (;;) {
    // Most logs have the key where the one before had it. Where that is too near for another whole
    // log and the beginning of the next one to lie in between, it is the key of this one.
    const isNear = offset < LEAST_SIZE + ADDRESS_SIZE
    const key = isNear && isKeyAt(bytes, comma + offset) ? comma + offset : bytes.indexOf(KEY, comma)
    if (key < 0) return { count, cuts }
    offset = key - comma
    let at = key + KEY.length
    let block = 0
    for (let digit = digitOf(bytes[at]); digit >= 0; digit = digitOf(bytes[++at])) block = block * 16 + digit
    if (bytes[at] !== QUOTE || block < last) return undefined
    if (block > last && count - cutAt >= LOGS_IN_PIECE) {
      cuts.push({ at: comma, block, count })
      cutAt = count
    }
    count++
    last = block
    // Most logs are as long as the one before. Where that is too near for another whole log to lie
    // in between, it is the end of this one.
    const alike = comma + size
    const end = alike > at && alike < key + LEAST_SIZE && isBetweenAt(bytes, alike) ? alike : bytes.indexOf(BETWEEN, at)
    if (end < 0) return bytes.indexOf(KEY, at) < 0 ? { count, cuts } : undefined
    size = end - comma
    comma = end + 1
  }
}

function isBetweenAt(bytes: Buffer, start: number): boolean {
  return bytes[start] === CLOSE_BRACE && bytes[start + 1] === COMMA && bytes[start + 2] === OPEN_BRACE
}

function isKeyAt(bytes: Buffer, start: number): boolean {
  for (let i = 0; i < KEY.length; i++) if (bytes[start + i] !== KEY[i]) return false
  return true
}

/** The value of a hex digit; less than 0 for any other byte. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x57
  return byte >= 0x41 && byte <= 0x46 ? byte - 0x37 : -1
}
