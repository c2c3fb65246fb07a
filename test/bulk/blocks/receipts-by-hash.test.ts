import { describe, expect, it, onTestFinished } from 'vitest'
import { blockLines } from '../../../src/bulk/blocks/lines.ts'
import { getBlocks, getLogs } from '../../../src/index-bulk.ts'
import { blockHash, type ChainOptions, type ChainServer, hexOf, startChain } from '../../support/chain-server.ts'
import { startLogChain } from '../../support/log-chain.ts'
import { clientOf, errorOf } from '../../support/server.ts'

const FORKED = 7
const theirs = `0x${'f'.repeat(64)}`

type Receipts = readonly Record<string, unknown>[]
type Answer = NonNullable<ChainOptions['answer']>

/** The receipts of a block at the same height on another fork. */
const ofOtherFork = (right: unknown) => ({ result: (right as Receipts).map((receipt) => ({ ...receipt, blockHash: theirs })) })

/** Receipts of one block that are asked for by its hash. */
const isByHash = ({ method, params }: { method: string; params: readonly unknown[] }) => method === 'eth_getBlockReceipts' && params[0] === blockHash(FORKED)

/**
 * A node that gives the receipts of another fork for a block that is asked for by its number, and
 * for the first `times` that it is asked for by its hash.
 */
function reorganised(times: number, otherwise: Answer = () => undefined): Answer {
  let left = times
  return (call, right) => {
    if (call.method === 'eth_getBlockReceipts' && call.params[0] === hexOf(FORKED)) return ofOtherFork(right)
    return isByHash(call) && left-- > 0 ? ofOtherFork(right) : otherwise(call, right)
  }
}

async function start(answer: Answer): Promise<ChainServer> {
  const server = await startChain({ head: 10, transactions: () => 2, answer })
  onTestFinished(() => server.close())
  return server
}

async function blocksOf(...servers: ChainServer[]) {
  const [first = '', ...others] = servers.map(({ url }) => url)
  const blocks: { hash: string | null; receipts: string[] }[] = []
  for await (const { hash, receipts } of getBlocks(clientOf([first, ...others]), { from: 5, to: 9, receipts: true }))
    blocks.push({ hash, receipts: receipts.map(({ blockHash }) => blockHash) })
  return blocks
}

const right = [5, 6, 7, 8, 9].map((number) => ({ hash: blockHash(number), receipts: [blockHash(number), blockHash(number)] }))

describe('receipts of another fork are asked for again by the hash of the block', () => {
  it.each([0, 1, 2])('until they are its own, after %i more wrong replies', async (times) => {
    const server = await start(reorganised(times))
    expect(await blocksOf(server)).toEqual(right)
    expect(server.calls.filter(isByHash)).toHaveLength(times + 1)
  })

  it('three times, and then once more with the block itself', async () => {
    const server = await start(reorganised(4))
    expect(await blocksOf(server)).toEqual(right)
    expect(server.calls.filter(({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === hexOf(FORKED))).toHaveLength(2)
  })

  it('three times for each of six replies, and then the iteration ends with what was wrong', async () => {
    const server = await start(reorganised(99))
    expect(await errorOf(blocksOf(server))).toMatchObject({
      name: 'IntegrityError',
      message: `block ${FORKED}: receipt 0 is of block ${theirs}, not of ${blockHash(FORKED)}`,
    })
    expect(server.calls.filter(isByHash)).toHaveLength(18)
  })

  it('of a node that does not know the block, at most as often', async () => {
    const server = await start(reorganised(0, (call) => (isByHash(call) ? { result: null } : undefined)))
    expect(await errorOf(blocksOf(server))).toMatchObject({ name: 'IntegrityError', message: expect.stringContaining(theirs) })
    expect(server.calls.filter(isByHash)).toHaveLength(18)
  })

  it('of another endpoint first, if there is one', async () => {
    const [wrong, other] = [await start(reorganised(99)), await start(reorganised(0))]
    expect(await blocksOf(wrong, other)).toEqual(right)
    expect([...wrong.calls, ...other.calls].filter(isByHash).length).toBeLessThanOrEqual(2)
  })

  it('one by one of a node that takes only the number of a block', async () => {
    const server = await start(
      reorganised(0, (call) => (isByHash(call) ? { error: { code: -32602, message: 'invalid argument 0: hex number > 64 bits' } } : undefined)),
    )
    expect(await blocksOf(server)).toEqual(right)
  })

  it('one by one of a node without eth_getBlockReceipts', async () => {
    let isStale = true
    const server = await start(({ method }, right) => {
      if (method === 'eth_getBlockReceipts') return { error: { code: -32601, message: 'method not found' } }
      const receipt = right as Receipts[number]
      if (method !== 'eth_getTransactionReceipt' || receipt.blockHash !== blockHash(FORKED) || !isStale) return undefined
      if (receipt.transactionIndex === '0x1') isStale = false
      return { result: { ...receipt, blockHash: theirs } }
    })
    expect(await blocksOf(server)).toEqual(right)
  })

  it('for lines of JSON, too', async () => {
    const server = await start(reorganised(1))
    const options = {
      full: false,
      receipts: true,
      signal: undefined,
      onProgress: undefined,
      bounds: { maxBytes: 1e9, maxItems: 100, assumedBytes: 1000, maxWaitMs: 1000 },
    }
    const lines: string[] = []
    for await (const parts of blockLines(clientOf(server.url), { ...options, range: { from: 6n, to: 8n } })) lines.push(Buffer.concat(parts).toString())
    expect(lines.map((line) => (JSON.parse(line) as { receipts: Receipts }).receipts.map((receipt) => receipt.blockHash))).toEqual(
      [6, 7, 8].map((number) => [blockHash(number), blockHash(number)]),
    )
  })
})

it('an audit of logs asks by hash for the receipts of a suspect, too', async () => {
  let wrong = 2
  const chain = await startLogChain({
    head: 60,
    drops: ({ blockNumber }) => blockNumber === hexOf(30),
    answer: (method, params) =>
      method === 'eth_getBlockReceipts' && wrong-- > 0
        ? { result: [{ transactionHash: theirs, blockHash: theirs, blockNumber: params[0], logs: [] }] }
        : undefined,
  })
  const logs = getLogs(clientOf(chain.url), { from: 0, to: 60, audit: 'bloom' })
  const found: bigint[] = []
  for await (const { blockNumber } of logs) found.push(blockNumber as bigint)
  expect(found).toHaveLength(61 * 5)
  expect(logs.audit).toMatchObject({ suspects: 1, recovered: 5, unproven: 0 })
  expect(chain.calls.eth_getBlockReceipts).toBe(3)
})
