import type { Log } from '../eth/objects.ts'

/** Whether two logs of the same place in the chain say the same. */
export function isSameLog(a: Log, b: Log): boolean {
  return (
    a.blockHash === b.blockHash &&
    a.transactionHash === b.transactionHash &&
    a.data === b.data &&
    a.address.toLowerCase() === b.address.toLowerCase() &&
    a.topics.length === b.topics.length &&
    a.topics.every((topic, i) => topic === b.topics[i])
  )
}
