import { describe, expect, it } from 'vitest'
import { decodedLogs } from '../../src/bulk/get-logs.ts'
import { checkFilter } from '../../src/bulk/log-filter.ts'
import { createReader } from '../../src/eth/codec/reader.ts'
import { blockDecoder, decodeReceipts } from '../../src/eth/objects.ts'
import { deepBlocks, type FollowReader, nearBlocks, type SourceOptions } from '../../src/follow/block-source.ts'
import type { Block, Log } from '../../src/index.ts'
import { CONTRACT, ForkingChain, type NodeFaults } from '../support/forking-chain.ts'
import { clientOf, errorOf, serve } from '../support/server.ts'

const readBlock = createReader(blockDecoder(false))
const readReceipts = createReader(decodeReceipts)
const reader = {
  blocks: {
    block: (bytes: Buffer) => ({ linked: readBlock(bytes) as Block }),
    receipts: (bytes: Buffer) => ({ linked: readReceipts(bytes) }),
    item({ linked: { number, hash, parentHash, logsBloom } }: { linked: Block }, receipts: { linked: { logs: Log[] }[] } | undefined) {
      return { number, hash, parentHash, logsBloom, item: Number(number), logs: receipts?.linked.flatMap(({ logs }) => logs) }
    },
  },
  logs: decodedLogs(),
} as unknown as FollowReader<never, never, number, Log>

const options: SourceOptions = { full: false, receipts: false, filter: checkFilter({ address: CONTRACT }), maxBytes: 1e7, signal: undefined }

/** Numbers of blocks, each with its number of logs; and the error at the end, if there was one. */
async function take(source: typeof deepBlocks, chain: ForkingChain, faults: NodeFaults = {}, changed: Partial<SourceOptions> = {}) {
  const server = await serve(chain.node(faults))
  const got: unknown[] = []
  const read = async () => {
    for await (const { item, logs } of source(clientOf(server.url), { from: 3, to: chain.head }, { ...options, ...changed }, reader))
      got.push([item, logs?.length])
  }
  const error = await errorOf(read()).catch(() => undefined)
  const methods = server.requests.flatMap(({ entries }) => entries.map(({ method }) => method))
  return { got, error: error as Error | undefined, methods }
}

const expected = (chain: ForkingChain) => chain.blocks.slice(3).map(({ number, logs }) => [number, logs])

describe.each([
  { name: 'deepBlocks', source: deepBlocks },
  { name: 'nearBlocks', source: nearBlocks },
])('$name', ({ source }) => {
  it('gives each block with its own logs', async () => {
    const chain = new ForkingChain(100)
    expect(await take(source, chain)).toMatchObject({ got: expected(chain), error: undefined })
  })

  it('without logs, and with those of receipts, asks for none', async () => {
    const chain = new ForkingChain(40)
    const without = await take(source, chain, {}, { filter: undefined })
    expect(without.got).toEqual(chain.blocks.slice(3).map(({ number }) => [number, undefined]))
    expect(without.methods).not.toContain('eth_getLogs')
    const withReceipts = await take(source, chain, {}, { receipts: true })
    expect(withReceipts.got).toEqual(expected(chain))
    expect(withReceipts.methods).not.toContain('eth_getLogs')
  })

  it('gives what comes before a failure first', async () => {
    const chain = new ForkingChain(40)
    const other = new ForkingChain(40, undefined, 'other')
    const { got, error } = await take(source, chain, { chain: () => [...chain.blocks.slice(0, 30), ...other.blocks.slice(30)] })
    expect(error?.message).toMatch(/^block 30 names 0x\w{64} as its parent/)
    // The logs of a range of two chains are refused as a whole.
    expect(got).toEqual(source === nearBlocks ? expected(chain).slice(0, 27) : [])
  })
})

it('deepBlocks refuses logs of another block than the one that came', async () => {
  const chain = new ForkingChain(40)
  // The block came before it was replaced; its logs, and the audit of them, came after that.
  let isFirst = true
  const hash = `0x${'99'.repeat(32)}`
  const { got, error } = await take(deepBlocks, chain, {
    answer(entry) {
      if (entry.method !== 'eth_getBlockByNumber' || Number(entry.params[0]) !== 20 || !isFirst) return undefined
      isFirst = false
      const reply = chain.reply(entry) as { result: object }
      return { ...reply, result: { ...reply.result, hash } }
    },
  })
  expect(error?.message).toMatch(new RegExp(`^block 20 came as ${hash}, but its logs as those of ${chain.hashes[20]}: the chain was reorganised in between`))
  expect(got).toEqual(expected(chain).slice(0, 17))
})
