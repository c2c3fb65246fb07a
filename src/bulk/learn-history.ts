import type { Client, Request } from '../client/client.ts'
import { AVOID, clockOf, connectionsOf, type RequestMarks } from '../client/internals.ts'

/** How long a job waits for an endpoint that does not answer, in ms. */
const WAIT_MS = 1000
/** How long what was learnt is good for, in ms: as long as endpoints' floors are remembered. */
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
  const params = [`0x${block.toString(16)}`, false]
  const names = connections.map(({ name }) => name)
  const request: Request = { method: 'eth_getBlockByNumber', params, required: true, signal, attempts: 1, deadlineMs: WAIT_MS, whilePaused: 'fail' }
  const asked = names.map((name) => {
    const to: Request & RequestMarks = { ...request, [AVOID]: names.filter((other) => other !== name) }
    return client.send(to)
  })
  await Promise.allSettled(asked)
  signal.throwIfAborted()
}
