import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ChainReply, hexOf, type SeenPost, startChain } from '../support/chain-server.ts'

const MB = 1_000_000
const LAST = 3000

/** How a server refuses a POST, if it does. */
type Refuse = (post: SeenPost) => ChainReply | undefined

const object = (code: number, message: string) => JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })

/** Batches of up to `most`, and what geth answers to longer ones. */
function takes(most: number): Refuse {
  return ({ calls }) => {
    if (calls.length <= most) return undefined
    return { body: JSON.stringify([{ jsonrpc: '2.0', id: calls[0]?.id, error: { code: -32600, message: 'batch too large' } }]) }
  }
}

/** No array at all. */
function knowsNone(status: number, body: string): Refuse {
  return ({ isBatch }) => (isBatch ? { status, body } : undefined)
}

/** Replies of up to 1 MB. */
function caps(reply: (post: SeenPost) => ChainReply): Refuse {
  return (post) => (post.json.length > MB ? reply(post) : undefined)
}

/** geth answers what fits, and each call after that with an error. */
function answersWhatFits({ json }: SeenPost): ChainReply {
  let bytes = 0
  const replies = (JSON.parse(json) as { id: number }[]).map((reply) => {
    bytes += JSON.stringify(reply).length
    return bytes <= MB ? reply : { jsonrpc: '2.0', id: reply.id, error: { code: -32003, message: 'response too large' } }
  })
  return { body: JSON.stringify(replies) }
}

const HTML = '<html><head><title>400 Bad Request</title></head><body>cloudflare</body></html>'

describe.each<[string, Refuse, inputBytes: number]>([
  ['takes batches of any length', () => undefined, 100],
  ['takes batches of 1,000', takes(1000), 100],
  ['takes batches of 10', takes(10), 100],
  ['takes batches of 3', takes(3), 100],
  ['takes batches of 1', takes(1), 100],
  ['knows no batches, and says so with HTTP 400 and a page', knowsNone(400, HTML), 100],
  ['knows no batches, and answers with one error object', knowsNone(200, object(-32600, 'Invalid request')), 100],
  ['knows no batches, and breaks on them with HTTP 500 and a page', knowsNone(500, HTML), 100],
  ['knows no batches, and answers with nothing', knowsNone(200, ''), 100],
  ['caps replies at 1 MB, with an error object for the batch', caps(() => ({ body: object(-32003, 'response too large') })), 20_000],
  ['caps replies at 1 MB, with an error for each call that does not fit', caps(answersWhatFits), 20_000],
  ['caps replies at 1 MB, and cuts the connection there', caps(({ json }) => ({ body: json, cutAt: MB })), 20_000],
  ['caps replies at 1 MB, and ends them there', caps(({ json }) => ({ body: json.slice(0, MB) })), 20_000],
])('a server that %s', (name, refuse, inputBytes) => {
  it('answers a bulk job and small calls at the same time, and refuses few POSTs after the first ones', { timeout: 120_000 }, async () => {
    let posts = 0
    let refused = 0
    let later = 0
    let firstAt = Number.POSITIVE_INFINITY
    const server = await startChain({
      head: LAST,
      inputBytes,
      gate: () => new Promise((resolve) => setTimeout(resolve, 5)),
      reply: (post) => {
        posts++
        const reply = refuse(post)
        if (reply === undefined) return undefined
        refused++
        // POSTs that were in flight when the first was refused are the first window.
        if (post.at > firstAt) later++
        firstAt = Math.min(firstAt, performance.now())
        return reply
      },
    })
    const client = createClient(server.url)
    onTestFinished(async () => {
      await client.close()
      await server.close()
    })

    let isDone = false
    const small = async () => {
      let answered = 0
      for (; !isDone; answered++) expect(await client.request({ method: 'eth_blockNumber' })).toBe(hexOf(LAST))
      return answered
    }
    const beside = [small(), small(), small()]
    let next = 1n
    for await (const block of getBlocks(client, { from: 1, to: LAST, transactions: 'full' })) expect(block.number).toBe(next++)
    isDone = true
    const answered = (await Promise.all(beside)).reduce((sum, each) => sum + each, 0)

    console.log(`${name}: ${LAST} blocks and ${answered} small calls in ${posts} POSTs, ${refused} refused, ${later} of them after the first window`)
    expect(next).toBe(BigInt(LAST + 1))
    expect(answered).toBeGreaterThan(0)
    expect(later).toBeLessThan(10)
  })
})
