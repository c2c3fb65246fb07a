import { describe, expect, it } from 'vitest'
import { Arrivals } from '../../../src/bulk/blocks/arrivals.ts'
import { Fetcher } from '../../../src/bulk/blocks/fetch.ts'
import type { BlockReader } from '../../../src/bulk/blocks/read-block.ts'
import { Link, linkedFields } from '../../../src/bulk/link.ts'
import { parseResult } from '../../../src/eth/codec/reader.ts'
import { blockHash, type ChainOptions, chainAnswer, hexOf } from '../../support/chain-server.ts'
import { clientOf, errorOf, serve } from '../../support/server.ts'

type Linked = ReturnType<typeof linkedFields>
type Receipts = { linked: readonly { transactionHash: string; blockHash: string }[] }

const reader: BlockReader<{ linked: Linked }, Receipts, string> = {
  block: (bytes) => ({ linked: linkedFields(parseResult(bytes)) }),
  receipts: (bytes) => ({ linked: parseResult(bytes) as Receipts['linked'] }),
  item: ({ linked }, receipts) => `${linked.number}: ${receipts?.linked.map((each) => each.blockHash)}`,
}

async function start(answer: NonNullable<ChainOptions['answer']> = () => undefined, read = reader) {
  const server = await serve(chainAnswer({ head: 5, transactions: () => 1, answer }))
  const client = clientOf(server.url)
  const fetcher = new Fetcher(client, { full: false, receipts: true })
  const arrivals = new Arrivals(client, fetcher, read)
  const arrive = async (link?: Link) => arrivals.arrive(await fetcher.fetch(3n, undefined), undefined, link)
  return { arrivals, arrive, calls: () => server.requests.flatMap(({ entries }) => entries.map(({ method, params }) => `${method} ${params[0]}`)) }
}

const asked = [`eth_getBlockByNumber ${hexOf(3)}`, `eth_getBlockReceipts ${hexOf(3)}`]
const wrong = `0x${'f'.repeat(64)}`
/** Receipts of another block, for those that are asked for by the number of theirs, or always. */
const foreign =
  (isAlways: boolean): NonNullable<ChainOptions['answer']> =>
  ({ method, params }, right) =>
    method === 'eth_getBlockReceipts' && (isAlways || params[0] === hexOf(3))
      ? { result: (right as object[]).map((receipt) => ({ ...receipt, blockHash: wrong })) }
      : undefined

/** Gives another block in place of each. */
const ofBlock =
  (change: (block: { transactions: unknown[] }) => object): NonNullable<ChainOptions['answer']> =>
  ({ method }, right) =>
    method === 'eth_getBlockByNumber' ? { result: change(right as { transactions: unknown[] }) } : undefined

it('a block and its own receipts are an item, by the calls that fetched them', async () => {
  const { arrivals, arrive, calls } = await start()
  expect(arrivals.item(await arrive(new Link()))).toBe(`3: ${blockHash(3)}`)
  expect(calls()).toEqual(asked)
})

it('receipts of another block are requested by the hash of this one', async () => {
  const { arrivals, arrive, calls } = await start(foreign(false))
  expect(arrivals.item(await arrive(new Link()))).toBe(`3: ${blockHash(3)}`)
  expect(calls()).toEqual([...asked, `eth_getBlockReceipts ${blockHash(3)}`])
})

it.each<[string, Partial<ChainOptions>]>([
  ['that is invalid JSON', { body: (json) => json.replaceAll('"parentHash":', '"parentHash"') }],
  ['that is not a block', { answer: ({ method }) => (method === 'eth_getBlockByNumber' ? { result: {} } : undefined) }],
  ['that is another one', { answer: ofBlock((block) => ({ ...block, number: hexOf(4) })) }],
  ['that does not follow the one before', { answer: ofBlock((block) => ({ ...block, parentHash: wrong })) }],
  ['without a hash', { answer: ofBlock((block) => ({ ...block, hash: null })) }],
  ['without its transactions', { answer: ofBlock((block) => ({ ...block, transactions: [] })) }],
  ['whose transactions come twice', { answer: ofBlock((block) => ({ ...block, transactions: [...block.transactions, ...block.transactions] })) }],
])('a block %s is requested from another endpoint', async (_, faults) => {
  const chain: ChainOptions = { head: 5, transactions: () => 1 }
  const broken = await serve(chainAnswer({ ...chain, ...faults }))
  const good = await serve(chainAnswer(chain))
  const client = clientOf([broken.url, good.url])
  const fetcher = new Fetcher(client, { full: false, receipts: true })
  const arrivals = new Arrivals(client, fetcher, reader)
  const first = await fetcher.fetch(3n, undefined)
  expect(first.origins.block.endpoint).toBe(new URL(broken.url).host)
  const link = new Link()
  link.follow(2n, { number: 2n, hash: blockHash(2), parentHash: blockHash(1), transactions: [] })
  const { fetched } = await arrivals.arrive(first, undefined, link)
  expect(fetched.origins.block.endpoint).toBe(new URL(good.url).host)
})

it('a block whose traces no endpoint has is requested from another one', async () => {
  const chain: ChainOptions = { head: 5, transactions: () => 1 }
  const lacking = { error: { code: -32601, message: 'the method does not exist' } }
  const forked = await serve(
    chainAnswer({
      ...chain,
      answer: ({ method }, right) => {
        if (method === 'eth_getBlockByNumber') return { result: { ...(right as object), hash: wrong, transactions: [wrong] } }
        return method.startsWith('debug_') ? lacking : undefined
      },
    }),
  )
  const unknown = { error: { code: -32000, message: `block ${wrong} not found` } }
  const good = await serve(chainAnswer({ ...chain, answer: ({ params }) => (params[0] === wrong ? unknown : undefined) }))
  const client = clientOf([forked.url, good.url])
  const fetcher = new Fetcher(client, { full: false, receipts: false, traces: 'callTracer' })
  const first = await fetcher.fetch(3n, undefined, [new URL(good.url).host])
  const traces = { form: 'callTracer', read: (bytes: Buffer) => ({ linked: parseResult(bytes) as object[] }) } as const
  const { block } = await new Arrivals(client, fetcher, { ...reader, traces }).arrive(first, undefined, new Link())
  expect(first.origins.block.endpoint).toBe(new URL(forked.url).host)
  expect(block.linked.hash).toBe(blockHash(3))
})

it('a block that two endpoints agree on is requested from a third one', async () => {
  const chain: ChainOptions = { head: 5, transactions: () => 1 }
  const forked = { ...chain, answer: ofBlock((block) => ({ ...block, parentHash: wrong })) }
  const servers = [await serve(chainAnswer(forked)), await serve(chainAnswer(forked)), await serve(chainAnswer(chain))]
  const [first = '', ...others] = servers.map(({ url }) => url)
  const fetcher = new Fetcher(clientOf([first, ...others]), { full: false, receipts: true })
  const link = new Link()
  link.follow(2n, { number: 2n, hash: blockHash(2), parentHash: blockHash(1), transactions: [] })
  const [, , third = ''] = servers.map(({ url }) => new URL(url).host)
  const avoid = [third]
  const { fetched } = await new Arrivals(clientOf([first, ...others]), fetcher, reader).arrive(await fetcher.fetch(3n, undefined, avoid), undefined, link)
  expect(fetched.origins.block.endpoint).toBe(third)
})

it('receipts that are always invalid JSON are reported of the endpoint that sent them', async () => {
  const chain: ChainOptions = { head: 5, transactions: () => 1 }
  const noReceipts = { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist' } }
  const first = await serve(chainAnswer({ ...chain, answer: ({ method }) => (method === 'eth_getBlockReceipts' ? noReceipts : undefined) }))
  const second = await serve(chainAnswer({ ...chain, body: (json) => json.replaceAll('"status":', '"status"') }))
  const client = clientOf([first.url, second.url])
  const fetcher = new Fetcher(client, { full: false, receipts: true })
  const fetched = await fetcher.fetch(3n, undefined)
  const error = await errorOf(new Arrivals(client, fetcher, reader).arrive(fetched, undefined, new Link()))
  expect(error).toMatchObject({ name: 'MalformedReplyError', message: expect.stringContaining('block 3: received invalid JSON 7 times') })
  expect(error.endpoint).toBe(new URL(second.url).host)
})

describe('what is wrong', () => {
  const other: NonNullable<ChainOptions['answer']> = ({ method }, right) =>
    method === 'eth_getBlockByNumber' ? { result: { ...(right as object), parentHash: wrong } } : undefined

  it('with the place in a chain is said of a linked block only', async () => {
    const { arrive } = await start(other)
    const link = new Link()
    link.follow(2n, { number: 2n, hash: blockHash(2), parentHash: blockHash(1), transactions: [] })
    expect(await errorOf(arrive(link))).toMatchObject({ name: 'IntegrityError', message: expect.stringMatching(/^block 3 names/) })
    expect(await arrive()).toMatchObject({ fault: undefined, block: { linked: { parentHash: wrong } } })
  })

  it('with receipts that never fit, too', async () => {
    const { arrive } = await start(foreign(true))
    const fault = { name: 'IntegrityError', message: `block 3: receipt 0 is of block ${wrong}, not of ${blockHash(3)}` }
    expect(await errorOf(arrive(new Link()))).toMatchObject(fault)
    expect((await arrive()).fault).toMatchObject(fault)
  })

  it('with traces that never fit, too', async () => {
    const none: NonNullable<ChainOptions['answer']> = ({ method }) => (method.startsWith('debug_') ? { result: [] } : undefined)
    const server = await serve(chainAnswer({ head: 5, transactions: () => 1, answer: none }))
    const client = clientOf(server.url)
    const fetcher = new Fetcher(client, { full: false, receipts: false, traces: 'callTracer' })
    const traces = { form: 'callTracer', read: (bytes: Buffer) => ({ linked: parseResult(bytes) as object[] }) } as const
    const arrive = async (link?: Link) => new Arrivals(client, fetcher, { ...reader, traces }).arrive(await fetcher.fetch(3n, undefined), undefined, link)
    const fault = { name: 'IntegrityError', message: 'block 3 has 1 transactions, but traces of 0' }
    expect(await errorOf(arrive(new Link()))).toMatchObject(fault)
    expect((await arrive()).fault).toMatchObject(fault)
  })

  it('with JSON names the endpoint, after six requests, and shows nothing of the reply', async () => {
    const block = () => {
      throw new SyntaxError('SECRET is no JSON')
    }
    const { arrive, calls } = await start(undefined, { ...reader, block })
    const error = await errorOf(arrive(new Link()))
    const message = expect.stringContaining('block 3: received invalid JSON 6 times')
    expect(error).toMatchObject({ name: 'MalformedReplyError', message, endpoint: expect.stringMatching(/^127\.0\.0\.1:/) })
    expect(error.cause).toBeUndefined()
    expect(calls()).toHaveLength(12)
  })
})
