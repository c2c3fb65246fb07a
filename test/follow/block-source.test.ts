import { describe, expect, it } from 'vitest'
import { decodedLogs } from '../../src/bulk/logs/decoded-logs.ts'
import { checkFilter } from '../../src/bulk/logs/log-filter.ts'
import { createReader } from '../../src/eth/codec/reader.ts'
import { blockDecoder, decodeReceipts } from '../../src/eth/objects.ts'
import type { FollowReader, SourceOptions } from '../../src/follow/block-source.ts'
import { deepBlocks } from '../../src/follow/deep-blocks.ts'
import { NearBlocks } from '../../src/follow/near-blocks.ts'
import type { Block, Log } from '../../src/index.ts'
import { CONTRACT, ForkingChain, type NodeFaults } from '../support/forking-chain.ts'
import { clientOf, errorOf, serve } from '../support/server.ts'

const readBlock = createReader(blockDecoder(false))
const readReceipts = createReader(decodeReceipts)
const reader = {
  blocks: {
    block: (bytes: Buffer) => ({ linked: readBlock(bytes) as Block }),
    receipts: (bytes: Buffer) => ({ linked: readReceipts(bytes) }),
    item(
      { linked: { number, hash, parentHash, logsBloom, receiptsRoot, transactions } }: { linked: Block },
      receipts: { linked: { logs: Log[] }[] } | undefined,
    ) {
      return { number, hash, parentHash, logsBloom, receiptsRoot, transactions, item: Number(number), logs: receipts?.linked.flatMap(({ logs }) => logs) }
    },
  },
  logs: decodedLogs(),
} as unknown as FollowReader<never, never, number, Log>

const options: SourceOptions = { full: false, receipts: false, filter: checkFilter({ address: CONTRACT }), maxBytes: 1e7, signal: undefined }

const nearBlocks: typeof deepBlocks = (client, span, given, blocks) => new NearBlocks(client, given, blocks).fetch(client.with({ attempts: 4 }), span)

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

  it('asks for each block once', async () => {
    const chain = new ForkingChain(300)
    const { methods } = await take(source, chain)
    // A range of logs asks for its end, at its own end again.
    const more = source === deepBlocks ? 2 : 0
    expect(methods.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(298 + more)
    expect(methods).not.toContain('eth_getBlockReceipts')
  })

  it('gives what comes before a failure first', async () => {
    const chain = new ForkingChain(40)
    const other = new ForkingChain(40, undefined, 'other')
    const { got, error } = await take(source, chain, { chain: () => [...chain.blocks.slice(0, 30), ...other.blocks.slice(30)] })
    expect(error?.message).toMatch(/^block 30 names 0x\w{64} as its parent/)
    expect(got).toEqual(expected(chain).slice(0, 27))
  })
})

describe('a single block near the head', () => {
  const single = async (faults: NodeFaults, changed: Partial<SourceOptions>) => {
    const chain = new ForkingChain(10)
    const server = await serve(chain.node(faults))
    const client = clientOf(server.url)
    const near = new NearBlocks(client, { ...options, ...changed }, reader)
    const fetch = async (number: number) => {
      const got: unknown[] = []
      for await (const { item, logs } of near.fetch(client.pinned(), { from: number, to: number })) got.push([item, logs?.length])
      return got
    }
    return {
      chain,
      fetch,
      posts: () => server.requests.map(({ entries }) => entries.map(({ method }) => method)),
    }
  }

  it('costs one call, and one for its logs', async () => {
    const { chain, fetch, posts } = await single({}, {})
    for (const number of [8, 9]) expect(await fetch(number)).toEqual([[number, chain.blocks[number]?.logs]])
    expect(posts()).toEqual([['eth_getBlockByNumber'], ['eth_getLogs'], ['eth_getBlockByNumber'], ['eth_getLogs']])
    expect(posts().flat()).toHaveLength(4)
  })

  it('with receipts costs one POST; a node without eth_getBlockReceipts is asked for them once', async () => {
    const { fetch, posts } = await single({}, { receipts: true })
    for (const number of [8, 9]) await fetch(number)
    expect(posts()).toEqual([8, 9].map(() => ['eth_getBlockByNumber', 'eth_getBlockReceipts']))
    const without = await single(
      {
        answer({ id, method }) {
          if (method === 'eth_getBlockReceipts') return { jsonrpc: '2.0', id, error: { code: -32601, message: 'method not found' } }
          return method === 'eth_getTransactionReceipt' ? { jsonrpc: '2.0', id, result: null } : undefined
        },
      },
      { receipts: true },
    )
    for (const number of [8, 9]) expect(((await errorOf(without.fetch(number))) as Error).message).toContain('has 1 transactions, but 0 receipts')
    expect(
      without
        .posts()
        .flat()
        .filter((method) => method === 'eth_getBlockReceipts'),
    ).toHaveLength(1)
  })

  it('is the one that was asked for', async () => {
    const { chain, fetch } = await single({ answer: (entry) => ({ ...chain.reply({ ...entry, params: ['0x7', false] }) }) }, { filter: undefined })
    expect(await errorOf(fetch(8))).toMatchObject({ name: 'IntegrityError', message: 'requested block 8, but received block 7' })
  })

  it('that is gone after it came with receipts of another one is not waited for', async () => {
    let isGone = false
    const { chain, fetch, posts } = await single(
      {
        answer(entry) {
          const { id, method } = entry
          if (method !== 'eth_getBlockByNumber') return { jsonrpc: '2.0', id, result: [] }
          if (isGone) return { jsonrpc: '2.0', id, result: null }
          isGone = true
          return chain.reply(entry)
        },
      },
      { receipts: true },
    )
    expect(await errorOf(fetch(8))).toMatchObject({ kind: 'lagging' })
    expect(posts().length).toBeLessThan(20)
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
