import { describe, expect, it } from 'vitest'
import { getBlocks } from '../../src/bulk/get-blocks.ts'
import { WrongReplies } from '../../src/bulk/wrong-replies.ts'
import { getLogs } from '../../src/index-bulk.ts'
import { type ChainOptions, chainAnswer, type SeenCall } from '../support/chain-server.ts'
import { startLogChain, tokens } from '../support/log-chain.ts'
import { randomFrom } from '../support/random.ts'
import { errorOf, clientOf as realClientOf } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf, sleep, clock } = virtualWorld()

describe('a question with a wrong reply', () => {
  const DEFAULTS = { retry: {} }

  /** When the question is asked again, in ms, while the endpoints answer in this order. */
  async function timesOf(urls: [string, ...string[]], endpoints: (i: number) => string | undefined, mostWaits?: number): Promise<number[]> {
    const wrong = new WrongReplies(clientOf(urls, DEFAULTS), mostWaits)
    const began = clock.now()
    const times: number[] = []
    while (await wrong.mayAskAgain('eth_getLogs', endpoints(times.length), undefined)) times.push(clock.now() - began)
    expect(wrong.count).toBe(times.length + 1)
    return times
  }

  it('is asked again at once, and then after the waits of retry', async () => {
    expect(await timesOf(['http://a.example'], () => 'a.example')).toEqual([0, 150, 450, 1050, 2250])
  })

  it('so it is where nobody knows which endpoint gave the reply', async () => {
    expect(await timesOf(['http://a.example', 'http://b.example'], () => undefined)).toEqual([0, 150, 450, 1050, 2250])
  })

  it('is asked at once of each other endpoint', async () => {
    const names = ['a.example', 'b.example', 'c.example']
    const urls = names.map((name) => `http://${name}`) as [string, ...string[]]
    expect(await timesOf(urls, (i) => names[i % 3])).toEqual([0, 0, 0, 150, 450, 1050, 2250])
    expect(await timesOf(urls, (i) => names[Math.min(i, 1)])).toEqual([0, 0, 0, 150, 450, 1050, 2250])
  })

  it('is asked once more at the head, where the block may have been replaced', async () => {
    expect(await timesOf(['http://a.example'], () => 'a.example', 0)).toEqual([0])
  })

  it('is not asked after the deadline of a call', async () => {
    const wrong = new WrongReplies(clientOf('http://a.example', { ...DEFAULTS, deadlineMs: 1000 }))
    const began = clock.now()
    while (await wrong.mayAskAgain('eth_getLogs', 'a.example', undefined));
    expect(clock.now() - began).toBe(450)
  })

  it('is not asked again once its signal is aborted', async () => {
    const wrong = new WrongReplies(clientOf('http://a.example', DEFAULTS))
    const stop = new AbortController()
    await wrong.mayAskAgain('eth_getLogs', 'a.example', stop.signal)
    const again = wrong.mayAskAgain('eth_getLogs', 'a.example', stop.signal)
    stop.abort('enough')
    await expect(again).rejects.toBe('enough')
  })
})

describe('blocks of a node that answers wrongly for a while are complete', () => {
  const HEAD = 300
  type Answer = NonNullable<ChainOptions['answer']>

  const branch: Answer = ({ method }, right) => {
    const block = right as { number: string; hash: string; parentHash: string } | null
    if (method !== 'eth_getBlockByNumber' || block === null || Number(block.number) <= HEAD - 3) return undefined
    const other = (hash: string) => `0xf0f0${hash.slice(6)}`
    return { result: { ...block, hash: other(block.hash), parentHash: Number(block.number) === HEAD - 2 ? block.parentHash : other(block.parentHash) } }
  }

  // `share`: of the nodes behind the URL.
  it.each<[string, { share: number; forMs: number }, Answer]>([
    ['with an empty object for each block', { share: 1, forMs: 2000 }, ({ method }) => (method === 'eth_getBlockByNumber' ? { result: {} } : undefined)],
    ['with an empty list of receipts', { share: 1, forMs: 2000 }, ({ method }) => (method === 'eth_getBlockReceipts' ? { result: [] } : undefined)],
    ['with traces that cannot be read', { share: 1, forMs: 2000 }, ({ method }) => (method.startsWith('debug_traceBlock') ? { result: {} } : undefined)],
    ['with blocks of another branch', { share: 1, forMs: 2000 }, branch],
    ['of which half is on another branch', { share: 0.5, forMs: 4000 }, branch],
  ])('%s', async (_, { share, forMs }, wrong) => {
    const random = randomFrom(3)
    const began = clock.now()
    const answer: Answer = (call: SeenCall, right) => (clock.now() - began < forMs && random() < share ? wrong(call, right) : undefined)
    const node = await serve(chainAnswer({ head: HEAD, gate: () => sleep(20), answer }))
    const numbers: bigint[] = []
    for await (const { number } of getBlocks(clientOf(node.url, { retry: {} }), { from: 1, to: HEAD, receipts: true, traces: 'callTracer' }))
      numbers.push(number)
    expect(numbers).toEqual(Array.from({ length: HEAD }, (_, i) => BigInt(i + 1)))
  })
})

describe('logs of a node whose first five replies are wrong are complete', () => {
  it.each<[string, (to: number) => unknown]>([
    ['an empty object', () => ({})],
    ['logs of another block', (to) => [{ to: to + 1 }]],
  ])('%s', async (_, wrong) => {
    let left = 5
    const chain = await startLogChain({
      head: 300,
      answer: (method, [filter]) => {
        if (method !== 'eth_getLogs' || left === 0) return undefined
        left--
        const result = wrong(Number((filter as { toBlock: string }).toBlock))
        return { result: Array.isArray(result) ? chain.logs(result[0].to, result[0].to) : result }
      },
    })
    let logs = 0
    for await (const _ of getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 300, audit: 'none' })) logs++
    expect([logs, left]).toEqual([chain.logs(0, 300).length, 0])
  })

  it.each([
    ['comes without a hash', {}],
    ['is another one', { number: '0x7', hash: `0x${'7'.repeat(64)}` }],
  ])('so are those of a range whose last block %s, at the beginning and at the end', async (_, result) => {
    let seen = 0
    const chain = await startLogChain({
      head: 300,
      answer: (method, [number]) => (method === 'eth_getBlockByNumber' && number === '0x12c' && seen++ % 3 < 2 ? { result } : undefined),
    })
    let logs = 0
    for await (const _ of getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 300, audit: 'none' })) logs++
    expect([logs, seen]).toEqual([chain.logs(0, 300).length, 6])
  })
})

it('another block for ever in place of the last one ends the job, and is named', async () => {
  const other = { number: '0x7', hash: `0x${'7'.repeat(64)}` }
  const chain = await startLogChain({
    head: 300,
    answer: (method, [number]) => (method === 'eth_getBlockByNumber' && number === '0x12c' ? { result: other } : undefined),
  })
  const pages = getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 300, audit: 'none' }).pages()
  expect(await errorOf(pages.next())).toMatchObject({ name: 'IntegrityError', message: 'requested block 300, but received block 7' })
})

it('headers that cannot be read do not end a job before its audit begins', async () => {
  let left = 16
  const chain = await startLogChain({
    head: 300,
    answer: (method, [number]) => (method === 'eth_getBlockByNumber' && number !== '0x12c' && left > 0 && left-- > 0 ? { result: {} } : undefined),
  })
  let logs = 0
  for await (const _ of getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 300, audit: 'bloom' })) logs++
  expect([logs, left]).toEqual([chain.logs(0, 300).length, 0])
})

it('logs of which nothing can ever be read end the job after few replies', async () => {
  const chain = await startLogChain({ head: 300, answer: (method) => (method === 'eth_getLogs' ? { result: {} } : undefined) })
  const all = (async () => {
    for await (const _ of getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 300, audit: 'none' }));
  })()
  await expect(all).rejects.toMatchObject({ name: 'CodecError', path: 'logs' })
  // Three to the range and to its first block, and six to the range again; 18 where the first block
  // is waited for, too.
  expect(chain.calls.eth_getLogs).toBe(12)
})

it('logs that can never be read are not waited for in each part of their range', async () => {
  const answer = (method: string, [filter]: readonly unknown[]) =>
    method === 'eth_getLogs' && Number((filter as { toBlock: string }).toBlock) > 2994 ? { result: {} } : undefined
  const chain = await startLogChain({ head: 3000, logs: (number) => number % 3, answer })
  const all = (async () => {
    for await (const _ of getLogs(realClientOf(chain.url), { address: tokens as `0x${string}`[], from: 0, to: 3000, audit: 'none' }));
  })()
  await expect(all).rejects.toMatchObject({ name: 'CodecError', path: 'logs' })
  // With all waits in each part, 158, and a minute.
  expect(chain.calls.eth_getLogs).toBeLessThan(130)
})
