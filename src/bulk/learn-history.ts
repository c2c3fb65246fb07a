import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf } from '../client/internals.ts'
import { askEach } from './ask-each.ts'

/** How long what was learnt holds, in ms: as long as the floors of endpoints are remembered. */
const REMEMBERED_MS = 600_000

/** The oldest block that all endpoints of a client were asked for, and when. */
const learnt = new WeakMap<object, { readonly block: bigint; readonly at: number }>()

/**
 * Shows which of several endpoints have the first block of a job: asks each one for it. A job
 * requests many blocks at once, of all endpoints; without this, a node that has dropped them would
 * get a whole POST of them before its first answer. What the answers mean is learnt where calls are
 * routed. Does nothing for a single endpoint, and for a block that is no older than those that were
 * asked for before. Rejects only with the reason of the signal.
 */
export async function learnHistory(client: Client, block: bigint, signal: AbortSignal): Promise<void> {
  const connections = connectionsOf(client) ?? []
  if (connections.length < 2) return
  const now = clockOf(client).now()
  const known = learnt.get(connections)
  if (known !== undefined && block >= known.block && now - known.at < REMEMBERED_MS) return
  learnt.set(connections, { block, at: now })
  await askEach(client, { method: 'eth_getBlockByNumber', params: [`0x${block.toString(16)}`, false], required: true, signal })
  signal.throwIfAborted()
}
