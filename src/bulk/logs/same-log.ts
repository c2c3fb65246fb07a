import type { Log } from '../../eth/objects.ts'

/**
 * Whether two logs of the same place in the chain say the same. The case of hex digits says
 * nothing.
 */
export function isSameLog(a: Log, b: Log): boolean {
  return (
    isSameHex(a.blockHash, b.blockHash) &&
    isSameHex(a.transactionHash, b.transactionHash) &&
    isSameHex(a.data, b.data) &&
    isSameHex(a.address, b.address) &&
    a.topics.length === b.topics.length &&
    a.topics.every((topic, i) => isSameHex(topic, b.topics[i]))
  )
}

function isSameHex(a: string | null, b: string | null | undefined): boolean {
  return a === b || a?.toLowerCase() === b?.toLowerCase()
}
