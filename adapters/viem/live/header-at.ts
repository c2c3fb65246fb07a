import type { Client } from '../../../src/client/client.ts'
import { IntegrityError, MalformedReplyError } from '../../../src/errors.ts'
import { type BlockHeader, readHeader } from '../../block-header.ts'

/** A block's header, and as the node sent it. */
export interface Head extends BlockHeader {
  readonly raw: unknown
}

/**
 * Requests the header of a block, which must exist. Rejects with `MalformedReplyError` if it has no
 * number or no hash, and with `IntegrityError` if it is another block.
 */
export async function headerAt(client: Client, block: number | 'latest'): Promise<Head> {
  const method = 'eth_getBlockByNumber'
  const params = [block === 'latest' ? block : `0x${block.toString(16)}`, false]
  const reply = await client.send({ method, params, required: true })
  const head = readHead(reply.take())
  if (head === undefined) throw new MalformedReplyError(`${method}: the block has no number or no hash`, { method })
  if (block === 'latest' || head.number === block) return head
  throw new IntegrityError(`requested block ${block}, but received block ${head.number}`)
}

/** The header of a head that a node sent; undefined where it has no number or no hash. */
export function readHead(raw: unknown): Head | undefined {
  const header = readHeader(raw)
  return header && { ...header, raw }
}
