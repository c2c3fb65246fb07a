import { IntegrityError } from '../../errors.ts'
import type { Log } from '../../eth/objects.ts'
import { logFault } from './log-fault.ts'
import type { CheckedFilter } from './log-filter.ts'
import type { LogSpan } from './log-span.ts'
import { isSameLog } from './same-log.ts'

/**
 * The logs that a node gave for a span, in order, each once. Throws `IntegrityError` where they
 * cannot be those that were asked for: one is of another block, incomplete, or not what the filter
 * selects, or a block has logs of two blocks.
 */
export function checkLogs<T>(items: T[], { from, to }: LogSpan, filter: CheckedFilter, logOf: (item: T) => Log): T[] {
  let isSorted = true
  let [lastNumber, lastIndex] = [-1, -1]
  for (const item of items) {
    const log = logOf(item)
    const number = Number(log.blockNumber ?? -1)
    const index = log.logIndex ?? -1
    if (number < from || number > to || index < 0) {
      throw new IntegrityError(
        `requested logs of blocks ${from} to ${to}, but received one of ${log.blockNumber === null ? 'a pending block' : `block ${log.blockNumber}`}`,
      )
    }
    const why = logFault(log)
    if (why !== undefined) throw new IntegrityError(`block ${number}: log ${index} ${why}`)
    if (!filter.matches(log)) throw new IntegrityError(`block ${number}: log ${index} does not match the filter`)
    if (number < lastNumber || (number === lastNumber && index <= lastIndex)) isSorted = false
    lastNumber = number
    lastIndex = index
  }
  const logs = isSorted ? items : sortLogs(items, logOf)
  checkBlockHashes(logs, logOf)
  return logs
}

/** In their order, each once. Throws `IntegrityError` for different ones in one place. */
export function sortLogs<T>(items: readonly T[], logOf: (item: T) => Log): T[] {
  const all = [...items].sort((a, b) => compare(logOf(a), logOf(b)))
  return all.filter((item, i) => {
    if (i === 0) return true
    const [before, log] = [logOf(all[i - 1] as T), logOf(item)]
    if (compare(before, log) !== 0) return true
    if (!isSameLog(before, log)) throw new IntegrityError(`block ${log.blockNumber}: log ${log.logIndex} came twice, and differs`)
    return false
  })
}

function compare(a: Log, b: Log): number {
  return Number(a.blockNumber) - Number(b.blockNumber) || (a.logIndex as number) - (b.logIndex as number)
}

/** Throws `IntegrityError` where one number has two hashes. */
function checkBlockHashes<T>(logs: readonly T[], logOf: (item: T) => Log): void {
  let before: Log | undefined
  for (const item of logs) {
    const log = logOf(item)
    if (before !== undefined && log.blockHash !== before.blockHash && log.blockNumber === before.blockNumber)
      throw new IntegrityError(`block ${log.blockNumber}: its logs are those of two blocks, ${before.blockHash} and ${log.blockHash}`)
    before = log
  }
}
