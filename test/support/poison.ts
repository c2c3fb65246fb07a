/** Ways to overwrite the bytes of a body that has been released. */
export const poisons = {
  /** Bytes that are in no text: what reads them fails, and may be requested again. */
  'no text': (bytes: Buffer): void => void bytes.fill(0xff),
  /**
   * Adds one to each digit from 1 to 8, and turns 9 into 1. What remains is JSON of another block:
   * reading it fails nowhere, and gives other values.
   */
  'other digits': (bytes: Buffer): void => {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] as number
      if (byte >= 0x31 && byte <= 0x39) bytes[i] = byte === 0x39 ? 0x31 : byte + 1
    }
  },
} as const
