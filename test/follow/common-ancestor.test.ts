import { expect, it } from 'vitest'
import { findFate } from '../../src/follow/common-ancestor.ts'
import { HELD, HeldChain } from '../../src/follow/held-chain.ts'
import { type ForkBlock, ForkingChain, headerOf, type NodeFaults } from '../support/forking-chain.ts'
import { clientOf, type Entry, serve } from '../support/server.ts'

/** What a node says about the last blocks of a chain, after that has changed. */
async function fateOf(change: (chain: ForkingChain) => void, { from = 0, faults = {} as NodeFaults } = {}) {
  const chain = new ForkingChain(600)
  const before = [...chain.blocks]
  const held = new HeldChain({
    from,
    number: 600,
    hashes: before
      .slice(Math.max(from, 601 - HELD))
      .reverse()
      .map(({ hash }) => hash),
  })
  change(chain)
  const server = await serve(chain.node(faults))
  const fate = await findFate(clientOf(server.url), held)
  return { fate, before, posts: server.requests.length, calls: server.requests.flatMap(({ entries }) => entries).length }
}

it('a chain that has only grown, or not yet, is the same', async () => {
  expect(await fateOf((chain) => chain.mine(5))).toMatchObject({ fate: { type: 'same' }, calls: 1 })
  expect(await fateOf((chain) => chain.reorganise(3, 0))).toMatchObject({ fate: { type: 'same' }, calls: 5 })
  expect(await fateOf((chain) => chain.reorganise(500, 0))).toMatchObject({ fate: { type: 'same' } })
})

it.each([
  { depth: 1, calls: 5 },
  { depth: 2, calls: 5 },
  { depth: 30, calls: 85 },
  { depth: 255, calls: 256 },
])('finds the ancestor $depth blocks below the tip with $calls calls', async ({ depth, calls }) => {
  expect(await fateOf((chain) => chain.reorganise(depth))).toMatchObject({ fate: { type: 'replaced', ancestor: 600 - depth, older: [] }, calls })
})

it('of a chain that is shorter, too', async () => {
  expect(await fateOf((chain) => chain.reorganise(30, 3))).toMatchObject({ fate: { type: 'replaced', ancestor: 570, older: [] } })
})

it('below those that are held, by the hashes of their parents, newest first', async () => {
  const { fate, before } = await fateOf((chain) => chain.reorganise(300))
  expect(fate).toEqual({
    type: 'replaced',
    ancestor: 300,
    hash: before[300]?.hash,
    older: before
      .slice(301, 345)
      .reverse()
      .map(({ number, hash }) => ({ number, hash })),
  })
})

it('ends at the first block of the stream', async () => {
  expect((await fateOf((chain) => chain.reorganise(300), { from: 500 })).fate).toEqual({ type: 'replaced', ancestor: 499, older: [] })
  expect((await fateOf((chain) => chain.reorganise(300), { from: 330 })).fate).toMatchObject({ type: 'replaced', ancestor: 329 })
})

it.each(['eth_getBlockByNumber', 'eth_getBlockByHash'])('another block than %s was asked for has replaced nothing', async (method) => {
  const chain = new ForkingChain(20)
  const answer = (entry: Entry) => (entry.method === method ? { jsonrpc: '2.0', id: entry.id, result: headerOf(chain.blocks[5] as ForkBlock) } : undefined)
  await expect(fateOf((own) => own.reorganise(300), { faults: { answer } })).rejects.toThrow(/^requested block \w+, but received block \w+$/)
})

it('a node that lacks a block below one that it has says nothing about the ancestor', async () => {
  const answer = ({ id, method, params }: Entry) =>
    method === 'eth_getBlockByNumber' && [598, 599].includes(Number(params[0])) ? { jsonrpc: '2.0', id, result: null } : undefined
  await expect(fateOf((chain) => chain.reorganise(1), { faults: { answer } })).rejects.toThrow('the node has block 600, but not block 599')
})

it('says so where the node has forgotten the replaced blocks', async () => {
  const { fate } = await fateOf((chain) => chain.reorganise(300), { faults: { knowsReplaced: false } })
  expect(fate).toMatchObject({
    type: 'lost',
    error: { name: 'IntegrityError', message: expect.stringMatching(/^none of the 256 blocks that were delivered last is part/) },
  })
})
