import { createCopier } from '../../eth/codec/reader.ts'
import { decodeLogs, decodeMinedLog, decodeReceipts, type MinedLog } from '../../eth/objects.ts'
import { parseAt, scanArray, scanObject, skipSpace } from '../../json/scan.ts'
import { readUnread } from '../../rpc/post/unread.ts'
import { decodeRootedReceipts, rootedFields } from '../blocks/fields.ts'
import type { PageReader } from './log-stream.ts'

/** A log, and the JSON that the node sent for it, without white space outside strings. */
export interface CopiedLog {
  readonly value: MinedLog
  readonly json: Buffer
}

const OPEN_BRACKET = 0x5b
const N_OF_NULL = 0x6e

/** Reads logs with the node's own bytes of each. All bytes are checked to be valid JSON. */
export function copiedLogs(): PageReader<CopiedLog> {
  const copyLog = createCopier(decodeMinedLog)
  const copiesAt = (bytes: Buffer, at: number, items: CopiedLog[]) => scanArray(bytes, at, (start, end) => items.push(copyLog(bytes.subarray(start, end))))

  return {
    logs: (bytes) =>
      readUnread(bytes, (whole) => {
        const start = skipSpace(whole, 0)
        if (whole[start] !== OPEN_BRACKET) return decodeLogs(JSON.parse(whole.toString('utf8'))) as never
        const items: CopiedLog[] = []
        expectEnd(whole, copiesAt(whole, start, items))
        return items
      }),
    // Their memory is reused, so the logs get memory of their own.
    receipts: (bytes) =>
      readUnread(bytes, (whole) => {
        const start = skipSpace(whole, 0)
        if (whole[start] !== OPEN_BRACKET) return decodeReceipts(JSON.parse(whole.toString('utf8'))) as never
        const items: CopiedLog[] = []
        const raw: Record<string, unknown>[] = []
        const logsOf: CopiedLog[][] = []
        const end = scanArray(whole, start, (at) => {
          const fields: Record<string, unknown> = {}
          let logs: CopiedLog[] = []
          scanObject(whole, at, (name, from, to) => {
            if (name !== 'logs') {
              if (rootedFields.has(name)) fields[name] = parseAt(whole, from, to)
              return
            }
            logs = []
            // Some nodes send null for no logs.
            if (whole[from] !== N_OF_NULL) copiesAt(Buffer.from(whole.subarray(from, to)), 0, logs)
          })
          raw.push(fields)
          logsOf.push(logs)
          for (const log of logs) items.push(log)
        })
        expectEnd(whole, end)
        const linked = decodeRootedReceipts(raw)
        linked.forEach((receipt, i) => {
          receipt.logs = (logsOf[i] as CopiedLog[]).map(({ value }) => value)
        })
        return { linked, items }
      }),
    logOf: ({ value }) => value,
    keepsBytes: true,
  }
}

function expectEnd(bytes: Buffer, end: number): void {
  if (skipSpace(bytes, end) !== bytes.length) throw new SyntaxError('something follows the JSON')
}
