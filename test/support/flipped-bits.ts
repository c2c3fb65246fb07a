/**
 * Which bits are flipped: all eight of each byte, or one of every ninth byte, each time another.
 */
export type Bits = 'all' | 'few'

/**
 * Flips bits of `bytes`, one after another, and puts each back. Throws an error that names the
 * first flip that `isFound` does not find.
 */
export async function flipBits(bytes: Buffer, bits: Bits, isFound: () => Promise<boolean>): Promise<void> {
  for (let at = 0; at < bytes.length; at += bits === 'all' ? 1 : 9) {
    for (const bit of bits === 'all' ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]) {
      const byte = bytes[at] as number
      bytes[at] = byte ^ (1 << bit)
      if (!(await isFound())) throw new Error(`bit ${bit} of byte ${at} was flipped, and not found`)
      bytes[at] = byte
    }
  }
}
