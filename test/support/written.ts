import type { RlpWriter } from '../../src/verify/rlp.ts'

/** What stands in a writer, in hex. */
export function written(writer: RlpWriter): `0x${string}` {
  return `0x${Buffer.from(writer.bytes.subarray(writer.position, writer.end)).toString('hex')}`
}
