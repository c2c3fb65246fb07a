import { formatLog, numberToHex, type Log as ViemLog } from 'viem'
import type { Log } from '../../../src/eth/objects.ts'

/** The log as viem's `formatLog` makes it. */
export function asViem(log: Log): ViemLog {
  if (formatsTimestamp) return { ...log, blockTimestamp: log.blockTimestamp } as ViemLog
  return (log.blockTimestamp === undefined ? log : { ...log, blockTimestamp: numberToHex(log.blockTimestamp) }) as ViemLog
}

/** Older versions of viem leave the timestamp as the node sends it. */
const formatsTimestamp = 'blockTimestamp' in formatLog({})
