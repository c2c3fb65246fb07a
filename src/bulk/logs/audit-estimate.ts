import type { Client } from '../../client/client.ts'
import { CodecError } from '../../errors.ts'
import { isBloom } from '../../eth/bloom.ts'
import type { Block } from '../../eth/objects.ts'
import type { CheckedFilter } from './log-filter.ts'
import type { LogSpan } from './log-span.ts'

/** What an audit will fetch, estimated from a sample of headers. */
export interface AuditEstimate {
  /** Headers to fetch, one for each block. */
  readonly headers: number
  /** Blocks whose receipts may be fetched, estimated: those with a bloom that may match. */
  readonly receipts: number
  /** Whether the `eth_getLogs` calls are made again, at another endpoint. */
  readonly isAskedTwice: boolean
}

/** Number of headers in the sample of the estimate. */
export const ESTIMATE_HEADERS = 16

/**
 * Headers at equal distances in the span; null for those that the node does not have, or that
 * cannot be read: the audit asks for them again.
 */
export function sampleHeaders(client: Client, { from, to }: LogSpan): Promise<(Block | null)[]> {
  const blocks = to - from + 1
  const size = Math.min(ESTIMATE_HEADERS, blocks)
  const numbers = Array.from({ length: size }, (_, i) => from + Math.floor((i * blocks) / size))
  return Promise.all(
    numbers.map((number) =>
      client.call('eth_getBlockByNumber', number, false).catch((error) => {
        if (error instanceof CodecError && error.kind === 'malformed') return null
        throw error
      }),
    ),
  )
}

/** What an audit of the span will fetch. The sample is for the level `bloom` alone. */
export function estimateAudit(
  level: 'bloom' | 'receipts' | 'peer',
  { from, to }: LogSpan,
  sample: readonly (Block | null)[],
  { bloom }: CheckedFilter,
): AuditEstimate {
  const blocks = to - from + 1
  if (level === 'peer') return { headers: 0, receipts: 0, isAskedTwice: true }
  if (level === 'receipts') return { headers: blocks, receipts: blocks, isAskedTwice: false }
  const headers = sample.filter((header) => header !== null)
  const suspects = headers.filter(({ logsBloom }) => isBloom(logsBloom) && bloom.mayMatch(logsBloom)).length
  return { headers: blocks, receipts: Math.round((suspects / Math.max(1, headers.length)) * blocks), isAskedTwice: false }
}
