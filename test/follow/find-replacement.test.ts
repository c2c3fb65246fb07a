import { expect, it } from 'vitest'
import { findReplacement } from '../../src/follow/find-replacement.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { hex } from '../support/node.ts'
import { clientOf, type Entry, errorOf, failed, serve } from '../support/server.ts'

const from = `0x${'51'.repeat(20)}` as const
const hash = `0x${'cd'.repeat(32)}`

/** Looks for the use of nonce 7, which is in block `usedIn`, up to block 300. */
async function search(usedIn: number, change: (entry: Entry) => object | undefined = () => undefined) {
  const chain = new ForkingChain(300)
  const answer = (entry: Entry) => {
    const { id, method, params } = entry
    const own = change(entry)
    if (own !== undefined) return own
    if (method === 'eth_getTransactionCount') return { jsonrpc: '2.0', id, result: hex(Number(params[1]) >= usedIn ? 9 : 7) }
    if (params[1] !== true) return undefined
    const { result } = chain.reply(entry) as { result: object }
    const isIn = Number(params[0]) === usedIn
    const transactions = [
      { hash: `0x${'01'.repeat(32)}`, from, nonce: '0x8' },
      ...(isIn ? [{ hash, from: from.toUpperCase().replace('X', 'x'), nonce: '0x7' }] : []),
    ]
    return { jsonrpc: '2.0', id, result: { ...result, transactions } }
  }
  const server = await serve(chain.node({ answer }))
  return findReplacement(clientOf(server.url), { from, nonce: 7 }, 300)
}

it.each([300, 299, 250, 182, 181])('finds it in block %i', async (usedIn) => {
  expect(await search(usedIn)).toBe(hash)
})

it('does not find one that is older', async () => {
  expect(await search(180)).toBeUndefined()
})

it('does not find one without the state of older blocks, and fails as any call does', async () => {
  const refusing = (code: number, message: string) => (entry: Entry) => (entry.method === 'eth_getTransactionCount' ? failed(entry, code, message) : undefined)
  expect(await search(250, refusing(-32000, 'missing trie node 5a'))).toBeUndefined()
  expect(await errorOf(search(250, refusing(-32603, 'internal error')))).toMatchObject({ kind: 'server' })
})
