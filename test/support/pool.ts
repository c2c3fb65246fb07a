import { keccak256 } from 'viem'
import { always, cut, type Entry, each, failed, refuse, serve } from './server.ts'

/**
 * The fault of one POST: its reply is lost, it is lost itself, or it is refused without a reason.
 */
export type Fault = 'lost' | 'unreached' | 'bad gateway' | 'internal error'

export interface PoolOptions {
  readonly fault: () => Fault | undefined
  readonly random: () => number
}

interface Sent {
  /** Whether a node has accepted it. */
  isTaken: boolean
  /** Whether its nonce is used by another transaction, so that every node refuses it. */
  readonly isLate: boolean
  /** Number of look-ups that do not find it yet, at each node. */
  readonly unseen: number[]
  readonly story: string[]
}

/** Maximum number of look-ups that miss an accepted transaction. */
const MOST_UNSEEN = 5

/**
 * Nodes of one chain that accept transactions, each behind its own gateway. Each shows an accepted
 * transaction only after some look-ups. A second copy may be reported as known, or as having a
 * nonce that is too low since the first was mined. Every third transaction is too late: its nonce
 * is used.
 */
export async function startPool(nodes: number, { fault, random }: PoolOptions) {
  const all = new Map<string, Sent>()
  let sent = 0

  const sentAs = (hash: string): Sent => {
    const known = all.get(hash)
    if (known !== undefined) return known
    const unseen = Array.from({ length: nodes }, () => Math.floor(random() * (MOST_UNSEEN + 1)))
    const made: Sent = { isTaken: false, isLate: sent++ % 3 === 0, unseen, story: [] }
    all.set(hash, made)
    return made
  }

  const answerOf = (node: number, entry: Entry): object => {
    const { id, method, params } = entry
    if (method === 'eth_chainId') return { id, result: '0x1' }
    if (method === 'eth_blockNumber') return { id, result: '0x64' }
    const isLookUp = method === 'eth_getTransactionByHash'
    const hash = isLookUp ? (params[0] as string) : keccak256(params[0] as `0x${string}`)
    const transaction = sentAs(hash)
    if (isLookUp) {
      const isSeen = transaction.isTaken && (transaction.unseen[node] as number)-- <= 0
      return { id, result: isSeen ? { hash } : null }
    }
    if (transaction.isLate) return failed(entry, -32000, 'nonce too low')
    if (transaction.isTaken) return failed(entry, -32000, random() < 0.5 ? 'already known' : 'nonce too low')
    transaction.isTaken = true
    return { id, result: hash }
  }

  const servers = await Promise.all(
    Array.from({ length: nodes }, (_, node) =>
      serve((request, response) => {
        const isOwn = request.entries.some(({ method }) => method === 'eth_chainId')
        const what = isOwn ? undefined : fault()
        const isReached = what === undefined || what === 'lost' || (what !== 'unreached' && random() < 0.5)
        const replies = isReached ? new Map(request.entries.map((entry) => [entry.id, answerOf(node, entry)])) : new Map()
        for (const { method, params } of request.entries) {
          if (method === 'eth_sendRawTransaction')
            sentAs(keccak256(params[0] as `0x${string}`)).story.push(`sent to ${node} (${what ?? 'answered'}, ${isReached})`)
          if (method === 'eth_getTransactionByHash') sentAs(params[0] as string).story.push(`looked up at ${node} (${what ?? 'answered'})`)
        }
        if (what === 'lost' || what === 'unreached') return cut(request, response)
        if (what === 'bad gateway') return always('Bad Gateway', { status: 502 })(request, response)
        if (what === 'internal error') return refuse(-32603, 'Internal error')(request, response)
        return each(({ id }) => replies.get(id))(request, response)
      }),
    ),
  )

  return {
    urls: servers.map(({ url }) => url) as [string, ...string[]],
    isTaken: (hash: string) => all.get(hash)?.isTaken === true,
    /** Its history, for the message of a failing test. */
    story: (hash: string) => all.get(hash)?.story ?? [],
  }
}
