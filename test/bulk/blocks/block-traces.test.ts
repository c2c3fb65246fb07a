import { afterEach, describe, expect, it } from 'vitest'
import { tracesFault } from '../../../src/bulk/blocks/block-traces.ts'
import { createClient } from '../../../src/index.ts'
import { getBlocks } from '../../../src/index-bulk.ts'
import { blockOf, type ChainOptions, type ChainServer, callFramesOf, receiptsOf, startChain, tracesOf } from '../../support/chain-server.ts'
import { hexline } from '../../support/command.ts'

const servers: ChainServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

const transactions = (number: number) => number % 3

async function chain(options: Partial<ChainOptions> = {}): Promise<ChainServer> {
  const server = await startChain({ head: 20, transactions, ...options })
  servers.push(server)
  return server
}

async function blocksOf(url: string, options: Partial<Parameters<typeof getBlocks>[1]>): Promise<unknown[]> {
  const client = createClient(url, { retry: { baseDelayMs: 1, maxDelayMs: 1 } })
  try {
    const blocks: unknown[] = []
    for await (const block of getBlocks(client, { from: 0n, to: 9n, ...options })) blocks.push(block)
    return blocks
  } finally {
    await client.close()
  }
}

describe('blocks with traces', () => {
  it('have a call frame of each transaction, and none for the first block, which is not traced', async () => {
    const { url, calls } = await chain()
    const blocks = (await blocksOf(url, { traces: 'callTracer' })) as { number: bigint; traces: unknown[] }[]
    expect(blocks).toHaveLength(10)
    expect(blocks.map(({ traces }) => traces.length)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    expect(blocks[4]?.traces).toMatchObject([{ txHash: callFramesOf(4)[0]?.txHash, result: { gas: 21_000n, value: 4n, calls: [{ gas: 21_000n }] } }])
    const asked = calls.filter(({ method }) => method.startsWith('debug_'))
    expect(asked).toHaveLength(9)
    expect(asked[0]?.params).toEqual(['0x1', { tracer: 'callTracer' }])
  })

  it('have the calls of all transactions, beside receipts and with single fields', async () => {
    const { url } = await chain()
    const blocks = (await blocksOf(url, { traces: 'parity', receipts: true, fields: ['gasUsed', 'receipts.status'] })) as Record<string, unknown>[]
    expect(Object.keys(blocks[2] ?? {}).sort()).toEqual(['gasUsed', 'hash', 'number', 'parentHash', 'receipts', 'traces', 'transactions'])
    expect(blocks[2]?.traces).toHaveLength(5)
    expect(blocks[2]?.traces).toMatchObject([
      { type: 'call', action: { gas: 21_000n } },
      { error: 'Reverted', result: null },
      {},
      {},
      { type: 'reward', action: { value: 1n } },
    ])
  })

  it.each([
    ['do not belong to them', 'callTracer', callFramesOf(7, { transactions })],
    ['do not belong to them', 'parity', tracesOf(7, { transactions })],
    ['cannot be decoded', 'callTracer', [{}]],
    ['cannot be decoded', 'parity', {}],
  ] as const)('that %s are requested again: %s', async (_, traces, wrong) => {
    let isWrong = true
    const { url, calls } = await chain({
      answer: ({ method, params }) => {
        if (!/trace/.test(method) || !isWrong || params[0] !== '0x4') return undefined
        isWrong = false
        return { result: wrong }
      },
    })
    expect(await blocksOf(url, { traces })).toHaveLength(10)
    expect(
      calls.filter(({ method, params }) => /trace/.test(method) && (params[0] === '0x4' || (params[0] as string).endsWith('4'))).map(({ method }) => method),
    ).toEqual(traces === 'parity' ? ['trace_block', 'trace_block'] : ['debug_traceBlockByNumber', 'debug_traceBlockByHash'])
  })

  it('that are too few each time end the stream', async () => {
    const { url } = await chain({ answer: ({ method }) => (/trace/.test(method) ? { result: [] } : undefined) })
    await expect(blocksOf(url, { traces: 'callTracer' })).rejects.toMatchObject({
      name: 'IntegrityError',
      message: 'block 1 has 1 transactions, but traces of 0',
    })
  })

  it('that can never be decoded are refused with their path', async () => {
    const { url } = await chain({ answer: ({ method }) => (method === 'trace_block' ? { result: [{ ...tracesOf(1)[0], subtraces: 'all' }] } : undefined) })
    await expect(blocksOf(url, { traces: 'parity' })).rejects.toThrow('blocks[1].traces[0].subtraces: expected a hex quantity, received "all"')
  })

  it('have a form that is known', async () => {
    await expect(blocksOf('http://127.0.0.1:1', { traces: 'vmTrace' as 'parity' })).rejects.toThrow("traces: expected 'callTracer' or 'parity', received")
  })
})

describe('traces belong to a block', () => {
  const block = { number: 4n, hash: tracesOf(4)[0]?.blockHash as string, parentHash: '0x', transactions: [callFramesOf(4)[0]?.txHash as string] }

  it.each([
    ['callTracer', callFramesOf(4), undefined],
    ['callTracer', [{ result: {} }], undefined],
    ['callTracer', [], 'block 4 has 1 transactions, but traces of 0'],
    ['callTracer', callFramesOf(7), 'block 4: trace 0 is not of transaction 0'],
    ['parity', tracesOf(4), undefined],
    ['parity', tracesOf(4).map((trace) => ({ ...trace, traceAddress: null })), 'block 4 has 1 transactions, but traces of 0'],
    ['parity', tracesOf(4).slice(1), 'block 4 has 1 transactions, but traces of 0'],
    ['parity', tracesOf(7), expect.stringMatching(/^block 4: a trace is of block 0xb{8}0{55}7, not of 0xb{8}0{55}4$/)],
    ['parity', tracesOf(7).map((trace) => ({ ...trace, blockHash: block.hash })), 'block 4: trace 0 is not of transaction 0'],
    [
      'parity',
      [...tracesOf(4), { ...tracesOf(7)[1], blockHash: block.hash }],
      expect.stringMatching(/^block 4: a trace of transaction 0x\S+ is not beside the others of that transaction$/),
    ],
    ['parity', [tracesOf(4)[1], ...tracesOf(4)], expect.stringMatching(/^block 4: a trace of transaction 0x\S+ is not beside the others of that transaction$/)],
  ] as const)('%s: %#', (form, traces, message) => {
    expect(tracesFault(form, block, traces)?.message).toEqual(message)
  })
})

describe('hexline blocks --traces', () => {
  it.each([
    ['callTracer', callFramesOf],
    ['parity', tracesOf],
  ] as const)('%s writes the traces as the node sent them, after the receipts', async (form, tracesAt) => {
    const { url } = await chain()
    const { code, stdout } = await hexline(['blocks', '--rpc', url, '--from', '4', '--to', '5', '--receipts', '--traces', form])
    expect(code).toBe(0)
    const options = { head: 20, transactions }
    const lines = [4, 5].map((number) => ({ ...blockOf(number, true, options), receipts: receiptsOf(number, options), traces: tracesAt(number, options) }))
    expect(stdout).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  })

  it('is refused with --to follow', async () => {
    const { code, stderr } = await hexline(['blocks', '--rpc', 'http://127.0.0.1:1', '--from', '4', '--to', 'follow', '--traces', 'parity'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--traces: expected no --traces with --to follow')])
  })
})
