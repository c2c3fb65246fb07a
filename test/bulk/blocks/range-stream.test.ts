import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type Progress, rangeStream, type StreamOptions } from '../../../src/bulk/blocks/range-stream.ts'
import type { BlockReader } from '../../../src/bulk/blocks/read-block.ts'
import { linkedFields } from '../../../src/bulk/link.ts'
import { fault, under } from '../../../src/eth/codec/codec-path.ts'
import { parseResult } from '../../../src/eth/codec/reader.ts'
import { blockHash, type ChainOptions, chainAnswer, hexOf } from '../../support/chain-server.ts'
import { clientOf, errorOf, serve } from '../../support/server.ts'

type Linked = ReturnType<typeof linkedFields>
type Receipts = { linked: readonly { transactionHash: string; blockHash: string }[] }

/** Returns the number of each block and its count of receipts. */
const reader: BlockReader<{ linked: Linked }, Receipts, string> = {
  block: (bytes) => ({ linked: linkedFields(parseResult(bytes)) }),
  receipts: (bytes) => ({ linked: parseResult(bytes) as Receipts['linked'] }),
  item: ({ linked }, receipts) => `${linked.number}: ${receipts?.linked.length}`,
}

interface StartOptions {
  receipts?: boolean
  read?: typeof reader
  signal?: AbortSignal
  verify?: StreamOptions['verify']
}

async function start(chain: Partial<ChainOptions>, { receipts = true, read = reader, signal, verify }: StartOptions = {}) {
  const server = await serve(chainAnswer({ head: 5, transactions: () => 2, ...chain }))
  const told: Progress[] = []
  const items = rangeStream(
    clientOf(server.url),
    {
      range: { from: 1n, to: 4n },
      full: false,
      receipts,
      signal,
      verify,
      onProgress: (progress) => told.push(progress),
      bounds: { maxBytes: 1e9, maxItems: 100, assumedBytes: 1000, maxWaitMs: 1000 },
    },
    read,
  )
  const came: string[] = []
  const all = async () => {
    for await (const item of items) came.push(item)
    return came
  }
  return { server, told, came, all }
}

it('the items of a range are in order; progress is reported after each', async () => {
  const { all, told } = await start({})
  expect(await all()).toEqual(['1: 2', '2: 2', '3: 2', '4: 2'])
  expect(told.map(({ number, done, total }) => [number, done, total])).toEqual([1n, 2n, 3n, 4n].map((number, i) => [number, i + 1, 4]))
  expect((await (await start({}, { receipts: false })).all())[0]).toBe('1: undefined')
})

it('a stream whose verification cannot start leaves no listener', async () => {
  const { signal } = new AbortController()
  const answer = ({ method }: { method: string }) => (method === 'eth_chainId' ? { error: { code: -32602, message: 'none' } } : undefined)
  const { all } = await start({ answer }, { signal, verify: { level: 'header', senders: false } })
  await expect(all()).rejects.toThrow('none')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

describe('rejects after the earlier blocks', () => {
  const spoiled = (method: string, spoil: (right: never) => unknown): Partial<ChainOptions> => ({
    answer: (call, right) =>
      call.method === method && [hexOf(3), blockHash(3)].includes(call.params[0] as string) ? { result: spoil(right as never) } : undefined,
  })
  it.each<[string, Partial<ChainOptions>, object]>([
    ['a block with another parent', spoiled('eth_getBlockByNumber', (right: object) => ({ ...right, parentHash: '0x1' })), { name: 'IntegrityError' }],
    ['a missing receipt', spoiled('eth_getBlockReceipts', (right: unknown[]) => right.slice(1)), { name: 'IntegrityError' }],
    [
      'an invalid block, with its path and its source',
      spoiled('eth_getBlockByNumber', () => ({ number: '0x3' })),
      { path: 'blocks[3].transactions', method: 'eth_getBlockByNumber', kind: 'malformed', endpoint: expect.stringMatching(/^127/), attempts: 1 },
    ],
  ])('with %s', async (_, chain, expected) => {
    const { all, came } = await start(chain)
    expect(await errorOf(all())).toMatchObject(expected)
    expect(came).toEqual(['1: 2', '2: 2'])
  })

  it('with the path of receipts that cannot be decoded', async () => {
    const receipts = (): Receipts => {
      throw under(under(fault('a hex quantity', '0x'), 'gasUsed'), 0)
    }
    expect(await errorOf((await start({}, { read: { ...reader, receipts } })).all())).toMatchObject({
      path: 'blocks[1].receipts[0].gasUsed',
      method: 'eth_getBlockReceipts',
    })
  })
})

describe('bytes that are invalid JSON', () => {
  const failing = (times: number) => {
    let left = times
    const block: typeof reader.block = (bytes) => {
      if (left-- > 0) throw new SyntaxError('SECRET is not JSON')
      return reader.block(bytes)
    }
    return { ...reader, block }
  }

  it('are requested again', async () => {
    expect(await (await start({}, { read: failing(3) })).all()).toHaveLength(4)
  })

  it('end it after six requests, and are not shown', async () => {
    const error = await errorOf((await start({}, { read: failing(6) })).all())
    expect(error).toMatchObject({ name: 'MalformedReplyError', message: expect.stringContaining('block 1: received invalid JSON 6 times') })
    expect(error.cause).toBeUndefined()
  })
})
