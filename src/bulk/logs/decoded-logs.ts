import { createReader } from '../../eth/codec/reader.ts'
import { decodeLogs, type Log } from '../../eth/objects.ts'
import { decodeRootedReceipts } from '../blocks/fields.ts'
import type { PageReader } from './log-stream.ts'

/** Reads decoded logs. */
export function decodedLogs(): PageReader<Log> {
  const readReceipts = createReader(decodeRootedReceipts)
  return {
    logs: createReader(decodeLogs),
    logOf: (log) => log,
    receipts(bytes) {
      const linked = readReceipts(bytes)
      // Some nodes send null for no logs. Whether there are any follows from the header.
      return { linked, items: linked.flatMap(({ logs }) => logs ?? []) }
    },
    keepsBytes: false,
  }
}
