/** Which bits of each byte are flipped: all eight, or one, another for each byte. */
export type Bits = 'all' | 'one'

/**
 * Flips bits of `bytes`, one after another, and puts each back. Throws an error that names the
 * first flip that `isFound` does not find.
 */
export async function flipBits(bytes: Buffer, bits: Bits, isFound: () => Promise<boolean>): Promise<void> {
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of bits === 'all' ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]) {
      const byte = bytes[at] as number
      bytes[at] = byte ^ (1 << bit)
      if (!(await isFound())) throw new Error(`bit ${bit} of byte ${at} was flipped, and not found`)
      bytes[at] = byte
    }
  }
}
