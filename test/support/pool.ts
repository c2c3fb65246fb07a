import { keccak256 } from 'viem'
import { always, cut, type Entry, each, failed, refuse, serve } from './server.ts'

/** What happens to one POST: its reply is lost, it is lost itself, or it is refused for no reason of its own. */
export type Fault = 'lost' | 'unreached' | 'bad gateway' | 'internal error'

export interface PoolOptions {
  readonly fault: () => Fault | undefined
  readonly random: () => number
}

interface Sent {
  /** A node took it. */
  isTaken: boolean
  /** Its nonce belongs to another transaction: no node takes it. */
  readonly isLate: boolean
  /** Look-ups that do not find it yet, at each node. */
  readonly unseen: number[]
  readonly story: string[]
}

/** Look-ups for which a transaction that was taken may stay unseen. */
const MOST_UNSEEN = 5

/**
 * Nodes of one chain, each behind a gateway of its own, that take transactions: each shows one it took only after some look-ups, and one sent again may be
 * called known, or its nonce too low since it was mined. Every third transaction is too late: its nonce is used.
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
    /** What happened to it, for a test that fails. */
    story: (hash: string) => all.get(hash)?.story ?? [],
  }
}
