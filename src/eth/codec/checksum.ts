import { keccak256 } from './keccak.ts'

/** What an error expects in place of an address with a wrong checksum. */
export const CHECKSUM = 'an address whose capitals are its checksum (EIP-55), or one in lower case'

/**
 * Addresses with a right checksum: programs send the same ones again and again. It holds facts
 * about addresses, so that all clients share it.
 */
const known = new Set<string>()
const MOST_KNOWN = 1024

/**
 * False for an address (20 bytes in hex) in mixed case whose capitals are not its checksum, which
 * means that it was mistyped. An address all in lower case, or all in capitals, has no checksum.
 * https://eips.ethereum.org/EIPS/eip-55
 */
export function isChecksummed(address: string): boolean {
  if (known.has(address) || !/[A-F]/.test(address) || !/[a-f]/.test(address)) return true
  if (checksumOf(address.toLowerCase()) !== address) return false
  if (known.size >= MOST_KNOWN) known.clear()
  known.add(address)
  return true
}

/** The address with the capitals of its checksum, from one in lower case. */
export function checksumOf(address: string): string {
  const digits = Buffer.from(address.slice(2), 'latin1')
  const digest = keccak256(digits)
  for (let i = 0; i < digits.length; i++) {
    const byte = digest[i >> 1] as number
    const isLetter = (digits[i] as number) >= 0x61
    if (isLetter && ((i % 2 === 0 ? byte >> 4 : byte) & 8) !== 0) digits[i] = (digits[i] as number) - 32
  }
  return `0x${digits.toString('latin1')}`
}
