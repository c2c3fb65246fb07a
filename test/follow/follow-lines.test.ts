import { expect, it } from 'vitest'
import { checkFollowOptions, type FollowOptions } from '../../src/follow/follow.ts'
import { type FollowLine, followLines } from '../../src/follow/follow-lines.ts'
import { CONTRACT, ForkingChain, headerOf, type NodeFaults } from '../support/forking-chain.ts'
import { clientOf, serve } from '../support/server.ts'

/** The first lines of a stream. `between` is called after each. */
async function linesOf(chain: ForkingChain, options: FollowOptions, count: number, between: (lines: number) => void = () => {}, faults: NodeFaults = {}) {
  const server = await serve(chain.node(faults))
  const lines: FollowLine[] = []
  for await (const line of followLines(clientOf(server.url), checkFollowOptions(options))) {
    lines.push(line)
    between(lines.length)
    if (lines.length === count) break
  }
  return lines
}

const textOf = ({ line }: FollowLine) => Buffer.from(line).toString()

it('a block is the bytes of the node, with its logs or receipts where they are asked for', async () => {
  const chain = new ForkingChain(12, () => 2)
  const header = headerOf(chain.blocks[12] as never)
  const { logs } = chain.blocks[12] as { logs: number }
  const first = async (options: Partial<FollowOptions>) => textOf((await linesOf(chain, { from: 12, ...options }, 1))[0] as FollowLine)
  expect(await first({})).toBe(`{"type":"block","block":${JSON.stringify(header)}}\n`)
  const withLogs = await first({ logs: { address: CONTRACT } })
  expect(withLogs).toMatch(`{"type":"block","block":${JSON.stringify(header)},"logs":[`)
  expect(JSON.parse(withLogs).logs).toHaveLength(logs)
  const withReceipts = await first({ receipts: true })
  expect(withReceipts).toMatch(`{"type":"block","block":${JSON.stringify(header).slice(0, -1)},"receipts":[{`)
  expect(JSON.parse(withReceipts)).toEqual({ type: 'block', block: { ...header, receipts: [expect.objectContaining({ blockHash: header.hash })] } })
})

it('history and head are the same lines, whatever is audited', async () => {
  const chain = new ForkingChain(300)
  const lines = await linesOf(chain, { from: 0, logs: { address: CONTRACT } }, 301)
  expect(lines.map((each) => JSON.parse(textOf(each)).logs.length)).toEqual(chain.blocks.map(({ logs }) => logs))
  expect(lines.map((each) => JSON.parse(textOf(each)).block)).toEqual(chain.blocks.map(headerOf))
  expect(lines.at(-1)?.cursor).toMatchObject({ from: 0, number: 300 })
})

it('logs that the node leaves out of history are taken from receipts', async () => {
  const chain = new ForkingChain(300)
  const lines = await linesOf(chain, { from: 0, logs: { address: CONTRACT } }, 301, undefined, {
    answer: ({ id, method }) => (method === 'eth_getLogs' ? { jsonrpc: '2.0', id, result: [] } : undefined),
  })
  expect(lines.map((each) => JSON.parse(textOf(each)).logs.length)).toEqual(chain.blocks.map(({ logs }) => logs))
})

it('a rollback names the replaced blocks, and goes on from the last that stays', async () => {
  const chain = new ForkingChain(12)
  const replaced = chain.blocks.slice(11).map(({ number, hash }) => ({ number, hash }))
  const lines = await linesOf(chain, { from: 10 }, 4, (count) => {
    if (count === 3) chain.reorganise(2, 3)
  })
  const last = lines[3] as FollowLine
  expect(textOf(last)).toBe(`${JSON.stringify({ type: 'rollback', to: 10, blocks: replaced.reverse() })}\n`)
  expect(last).toMatchObject({ rolledBack: 2, cursor: { number: 10, hashes: [chain.hashes[10]] } })
  expect(lines.slice(0, 3).map(({ rolledBack }) => rolledBack)).toEqual([0, 0, 0])
})
