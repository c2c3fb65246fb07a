import { describe, expect, it } from 'vitest'
import { decodedLogs } from '../../src/bulk/logs/decoded-logs.ts'
import { checkFilter } from '../../src/bulk/logs/log-filter.ts'
import { messageOf } from '../../src/cli/output/failure.ts'
import { LogsByHash } from '../../src/follow/logs-by-hash.ts'
import type { HashedHeader } from '../../src/follow/range-logs.ts'
import type { LogFilter } from '../../src/index.ts'
import { CONTRACT, ForkingChain, headerOf, type NodeFaults } from '../support/forking-chain.ts'
import { always, clientOf, type Entry, errorOf, failed, serve, type TestServer } from '../support/server.ts'

const filter = { address: CONTRACT }

/** The logs of a block by a node with these faults, and the calls that this took. */
async function logsOf(chain: ForkingChain, number: number, faults: NodeFaults = {}, wanted: Pick<LogFilter, 'address' | 'topics'> = filter) {
  return logsFrom(await serve(chain.node(faults)), chain, number, wanted)
}

async function logsFrom(server: TestServer, chain: ForkingChain, number: number, wanted: Pick<LogFilter, 'address' | 'topics'> = filter) {
  const byHash = new LogsByHash(clientOf(server.url), checkFilter(wanted), decodedLogs(), { signal: undefined, maxBytes: 1e6, chainId: 1 })
  const block = chain.blocks[number] as (typeof chain.blocks)[number]
  const logs = await byHash.fetch({ ...headerOf(block), number: BigInt(number) } as unknown as HashedHeader)
  return { logs, methods: server.requests.flatMap(({ entries }) => entries.map(({ method }) => method)) }
}

const withoutLogs = (entry: Entry) => (entry.method === 'eth_getLogs' ? { jsonrpc: '2.0', id: entry.id, result: [] } : undefined)

function blockWith(chain: ForkingChain, logs: number): number {
  return chain.blocks.findIndex((block) => block.logs === logs)
}

it('takes one call where the reply is right', async () => {
  const chain = new ForkingChain(20)
  for (const count of [0, 2, 3]) {
    const { logs, methods } = await logsOf(chain, blockWith(chain, count))
    expect(logs.map(({ logIndex }) => logIndex)).toEqual(Array.from({ length: count }, (_, i) => i))
    expect(methods).toEqual(['eth_getLogs'])
  }
})

it('joins the logs of many addresses', async () => {
  const chain = new ForkingChain(20)
  const address = [...Array.from({ length: 1500 }, (_, i): `0x${string}` => `0x${i.toString(16).padStart(40, '0')}`), CONTRACT]
  const faults: NodeFaults = {
    // As a node answers that has the filter.
    answer: (entry) =>
      entry.method === 'eth_getLogs' && !JSON.stringify(entry.params).includes(CONTRACT) ? { jsonrpc: '2.0', id: entry.id, result: [] } : undefined,
  }
  const { logs, methods } = await logsOf(chain, blockWith(chain, 3), faults, { address })
  expect(logs).toHaveLength(3)
  expect(methods).toEqual(['eth_getLogs', 'eth_getLogs'])
})

it('logs that come for each group of addresses, from a node that ignores them, come once', async () => {
  const chain = new ForkingChain(20)
  const address = [...Array.from({ length: 1500 }, (_, i): `0x${string}` => `0x${i.toString(16).padStart(40, '0')}`), CONTRACT]
  const { logs } = await logsOf(chain, blockWith(chain, 3), {}, { address })
  expect(logs.map(({ logIndex }) => logIndex)).toEqual([0, 1, 2])
})

describe('a node that does not take the hash of a block', () => {
  const chain = new ForkingChain(20)
  /** As if the filter had no hash: the logs of the newest block. */
  const ofNewest = (entry: Entry) => chain.reply({ ...entry, params: [filter] })

  it.each<[string, (entry: Entry) => object | undefined]>([
    ['and says so', (entry) => failed(entry, -32602, 'invalid argument 0: unknown field blockHash')],
    ['and wants a range', (entry) => failed(entry, -32602, 'fromBlock is required')],
    ['and has no such method for it', (entry) => failed(entry, -32601, 'eth_getLogs by blockHash is not supported')],
    ['and says something else', (entry) => failed(entry, -32000, 'bad filter')],
    ['and ignores it', ofNewest],
  ])('%s: by the number of the block', async (_, answer) => {
    for (const count of [0, 2, 3]) {
      const { logs } = await logsOf(chain, blockWith(chain, count), {
        answer: (entry) => (entry.method === 'eth_getLogs' && JSON.stringify(entry.params).includes('blockHash') ? answer(entry) : undefined),
      })
      expect(logs.map(({ logIndex }) => logIndex)).toEqual(Array.from({ length: count }, (_, i) => i))
    }
  })

  it.each([400, 404])('and says so with HTTP %i, without an error object: by the number of the block', async (status) => {
    const server = await serve((request, response) =>
      (JSON.stringify(request.entries).includes('blockHash') ? always('no', { status }) : chain.node())(request, response),
    )
    for (const count of [0, 2, 3]) {
      const { logs } = await logsFrom(server, chain, blockWith(chain, count))
      expect(logs.map(({ logIndex }) => logIndex)).toEqual(Array.from({ length: count }, (_, i) => i))
    }
  })

  it.each([0, 3])('a block of %i logs whose place one without logs has taken: fails', async (count) => {
    const number = blockWith(chain, count)
    const answer = (entry: Entry) => {
      const { hash } = headerOf(chain.blocks[number + 1] as (typeof chain.blocks)[number])
      const header = headerOf(chain.blocks[number] as (typeof chain.blocks)[number])
      if (entry.method === 'eth_getBlockByNumber') return { jsonrpc: '2.0', id: entry.id, result: { ...header, hash } }
      if (entry.method !== 'eth_getLogs') return undefined
      return JSON.stringify(entry.params).includes('blockHash')
        ? failed(entry, -32602, 'unknown field blockHash')
        : { jsonrpc: '2.0', id: entry.id, result: [] }
    }
    expect(await errorOf(logsOf(chain, number, { answer }))).toMatchObject({ name: 'IntegrityError', kind: 'lagging' })
  })
})

it('says that a block the node does not know may have been replaced', async () => {
  const chain = new ForkingChain(20)
  const number = blockWith(chain, 3)
  const answer = (entry: Entry) => (entry.method === 'eth_getLogs' ? failed(entry, -32000, 'unknown block') : undefined)
  const error = await errorOf(logsOf(chain, number, { answer }))
  expect(error).toMatchObject({ name: 'IntegrityError', kind: 'lagging', method: 'eth_getLogs', attempts: expect.any(Number) })
  const { hash } = chain.blocks[number] as (typeof chain.blocks)[number]
  expect(error.message).toContain(`the node does not know block ${number} (${hash}), whose logs were asked for: it lags behind, or the block was replaced: `)
  expect(messageOf(error)).not.toContain('another node')
})

describe('what is wrong with a reply', () => {
  const chain = new ForkingChain(20)
  const number = blockWith(chain, 3)
  const { hash } = chain.blocks[number] as (typeof chain.blocks)[number]

  it('logs that are left out, though the bloom has them, are taken from receipts', async () => {
    const { logs, methods } = await logsOf(chain, number, { answer: withoutLogs })
    expect(logs).toHaveLength(3)
    expect(methods).toContain('eth_getBlockReceipts')
  })

  it.each([
    [0, true],
    [1, true],
    [2, false],
  ])('log %i of three that is left out, where all are wanted, is noticed by the gap: %s', async (index, isNoticed) => {
    const answer = (entry: Entry) => {
      if (entry.method !== 'eth_getLogs') return undefined
      const reply = chain.reply(entry) as { result: object[] }
      return { ...reply, result: reply.result.filter((_, i) => i !== index) }
    }
    const { logs } = await logsOf(chain, number, { answer }, {})
    expect(logs).toHaveLength(isNoticed ? 3 : 2)
  })

  it.each<[string, (log: object) => object]>([
    ['of another block', (log: object) => ({ ...log, blockHash: chain.hashes[3] })],
    ['of another number', (log: object) => ({ ...log, blockNumber: '0x1' })],
    ['removed', (log: object) => ({ ...log, removed: true })],
    ['of another address', (log: object) => ({ ...log, address: `0x${'99'.repeat(20)}` })],
    ['twice at one place', (log: object) => ({ ...log, logIndex: '0x1' })],
    ['undecodable', (log: object) => ({ ...log, logIndex: '0xzz' })],
  ])('a log %s: asked again', async (_, change) => {
    let isFirst = true
    const { logs } = await logsOf(chain, number, {
      answer: (entry) => {
        if (entry.method !== 'eth_getLogs' || !isFirst) return undefined
        isFirst = false
        const reply = chain.reply(entry) as { result: object[] }
        return { ...reply, result: reply.result.map(change) }
      },
    })
    expect(logs.map(({ logIndex, blockHash, removed }) => [logIndex, blockHash, removed])).toEqual([0, 1, 2].map((i) => [i, hash, false]))
  })

  it('a block whose logs the node refuses may have been replaced', async () => {
    const refuse = (entry: Entry) => (entry.method === 'eth_getLogs' ? failed(entry, -32602, 'invalid block hash') : undefined)
    expect(await errorOf(logsOf(chain, number, { answer: refuse }))).toMatchObject({
      name: 'IntegrityError',
      message: expect.stringMatching(/^the logs of block \d+ \(0x\w{64}\) cannot be fetched; it may have been replaced: .*invalid block hash/),
    })
  })

  it('a failure of the node stays one', async () => {
    const down = (entry: Entry) => failed(entry, -32603, 'internal error')
    expect(await errorOf(logsOf(chain, number, { answer: down }))).toMatchObject({ name: 'RpcError', kind: 'server' })
  })
})

describe('a node that answers a request by hash as if it had none', () => {
  const chain = new ForkingChain(20)
  const byHash = (entry: Entry) => entry.method === 'eth_getLogs' && 'blockHash' in (entry.params[0] as object)

  it.each([
    ['refuses it', -32602, 'json: unknown field "blockHash"'],
    ['takes the request for one of all blocks', -32602, 'logs are limited to a 10000 block range'],
  ])('%s: the logs come by its number', async (_, code, message) => {
    const answer = (entry: Entry) => (byHash(entry) ? failed(entry, code, message) : undefined)
    for (const count of [0, 2, 3]) expect((await logsOf(chain, blockWith(chain, count), { answer })).logs).toHaveLength(count)
  })

  it('gives the logs of the newest block: those of the right one come by its number', async () => {
    const latest = { fromBlock: '0x14', toBlock: '0x14' }
    const answer = (entry: Entry) => (byHash(entry) ? chain.reply({ ...entry, params: [latest] }) : undefined)
    for (const count of [0, 2, 3]) {
      const number = blockWith(chain, count)
      const { logs } = await logsOf(chain, number, { answer })
      expect(logs.map(({ blockNumber }) => blockNumber)).toEqual(Array(count).fill(BigInt(number)))
    }
  })

  it.each([-32602, -32005])('nor has the block any more: no logs of another one (%i)', async (code) => {
    const other = new ForkingChain(20, undefined, 'other')
    const message = code === -32602 ? 'unknown field "blockHash"' : 'query returned more than 10000 results'
    const answer = (entry: Entry) =>
      byHash(entry) ? failed(entry, code, message) : entry.method === 'eth_getBlockByHash' ? chain.reply(entry) : other.reply(entry)
    for (const count of [0, 3]) {
      const error = await errorOf(logsOf(chain, blockWith(chain, count), { answer }))
      expect(error).toMatchObject({
        name: 'IntegrityError',
        kind: 'lagging',
        message: expect.stringContaining('since the node has another block of this number'),
      })
    }
  })
})

it('a node that gives no logs, and then another block of this number, lags behind', async () => {
  const chain = new ForkingChain(20)
  const other = new ForkingChain(20, undefined, 'other')
  const byNumber = ['eth_getBlockByNumber', 'eth_getBlockReceipts']
  const answer = (entry: Entry) => (byNumber.includes(entry.method) ? other.reply(entry) : withoutLogs(entry))
  expect(await errorOf(logsOf(chain, blockWith(chain, 3), { answer }))).toMatchObject({
    name: 'IntegrityError',
    kind: 'lagging',
    message: expect.stringMatching(
      /^the logs of block \d+ \(0x\w{64}\) cannot be fetched, since the node has another block of this number: it lags behind, or/,
    ),
  })
})
