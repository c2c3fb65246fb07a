import { ByteReader } from './codec/byte-reader.ts'
import { blockDecoder, decodeLogs, decodeReceipts } from './objects.ts'

/*
 * Shared by all clients: readers learn the orders of keys. Values are reused only within one read.
 */
const logs = new ByteReader(decodeLogs)
const receipts = new ByteReader(decodeReceipts)
const fullBlocks = new ByteReader(blockDecoder(true))
const hashBlocks = new ByteReader(blockDecoder(false))

/**
 * Decodes the result of a method that `byteDecoder` in methods.ts names. Throws for anything but
 * plain JSON without white space, and for wrong fields.
 */
export function readLarge(method: string, [, full]: readonly unknown[], json: Buffer): object {
  if (method === 'eth_getLogs') return logs.read(json)
  if (method === 'eth_getBlockReceipts') return receipts.read(json)
  return (full === true ? fullBlocks : hashBlocks).read(json)
}
