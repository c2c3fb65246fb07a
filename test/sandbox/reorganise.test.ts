import { once } from 'node:events'
import { createPublicClient, type Hash, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { eventually } from '../support/eventually.ts'
import { minedReceipt } from '../support/mined.ts'
import { node } from '../support/node.ts'
import { clientOf, errorOf, failed, serve } from '../support/server.ts'

let anvil: Anvil
let sandbox: Sandbox

beforeAll(async () => {
  anvil = await startAnvil()
  sandbox = await startSandbox({ upstream: anvil.url })
})
afterAll(async () => {
  await sandbox?.stop()
  await anvil?.stop()
})

/** The code of a contract that emits a log when it is made. */
const LOGGING = '0x60006000a0'

/** A client, a socket with a subscription to heads and one to logs, and what it has been told. */
async function setUp() {
  const client = clientOf(sandbox.nodeUrl(), { retry: false })
  const ask = (method: string, ...params: unknown[]) => client.request({ method, params })
  const socket = new WebSocket(sandbox.nodeUrl().replace('http', 'ws'))
  onTestFinished(() => socket.close())
  await once(socket, 'open')
  const told: string[] = []
  let made = 0
  socket.on('message', (data) => {
    const { id, params } = JSON.parse(String(data))
    if (id !== undefined) made++
    else
      told.push(
        params.result.logIndex === undefined
          ? `block ${Number(params.result.number)}`
          : `${params.result.removed ? '-' : '+'}${Number(params.result.blockNumber)}`,
      )
  })
  for (const [id, params] of [['newHeads'], ['logs', {}]].entries()) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }))
  await eventually(() => expect(made).toBe(2))
  const [from] = (await ask('eth_accounts')) as string[]
  /** Mines a block with a log. */
  const mineLog = async () => {
    const hash = (await ask('eth_sendTransaction', { from, data: LOGGING, gas: '0x30000' })) as Hash
    // anvil answers before it mines, and takes the next transaction into the same block.
    await minedReceipt(createPublicClient({ transport: http(anvil.url) }), hash)
  }
  const head = async () => Number(await ask('eth_blockNumber'))
  const blocks = async (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from + 1 }, (_, i) => client.call('eth_getBlockByNumber', BigInt(from + i), false)))
  return { client, ask, told, mineLog, head, blocks }
}

describe('sandbox_reorg', () => {
  it.each([1, 3])('replaces %d blocks by others, linked and one more, and announces removed logs first', async (depth) => {
    const { ask, told, mineLog, head, blocks } = await setUp()
    const first = (await head()) + 1
    for (let i = 0; i < 4; i++) await mineLog()
    await eventually(() => expect(told).toHaveLength(8))
    const last = first + 3
    const ancestor = last - depth
    const before = await blocks(first, last)
    told.length = 0
    expect(await ask('sandbox_reorg', depth)).toEqual({ ancestor: `0x${ancestor.toString(16)}`, head: `0x${(last + 1).toString(16)}` })
    const after = await blocks(first, last + 1)
    const kept = 4 - depth
    expect(after.slice(0, kept)).toEqual(before.slice(0, kept))
    for (let i = kept; i < 4; i++) expect(after[i]?.hash).not.toBe(before[i]?.hash)
    for (let i = 1; i < after.length; i++) expect(after[i]?.parentHash).toBe(after[i - 1]?.hash)
    const range = Array.from({ length: depth }, (_, i) => last - i)
    await eventually(() =>
      expect(told).toEqual([...range.map((number) => `-${number}`), ...[...range].reverse().map((number) => `block ${number}`), `block ${last + 1}`]),
    )
  })

  it('takes a quantity, too, and refuses anything but a depth of this chain', async () => {
    const { client, ask, head } = await setUp()
    await ask('anvil_mine', '0x2')
    const before = await head()
    for (const params of [[], [0], [-1], [1.5], ['x'], [null], [1, 2], ['0x0'], [before + 1], { depth: 1 }])
      expect(await errorOf(client.request({ method: 'sandbox_reorg', params: params as unknown[] })), JSON.stringify(params)).toMatchObject({ code: -32602 })
    expect(await head()).toBe(before)
    expect(await ask('sandbox_reorg', '0x1')).toMatchObject({ head: `0x${(before + 1).toString(16)}` })
  })

  it('says that a chain of one block has none to replace', async () => {
    const { url } = await serve(node({ head: () => 0 }))
    const over = await startSandbox({ upstream: url })
    onTestFinished(() => over.stop())
    const error = await errorOf(clientOf(over.nodeUrl(), { retry: false }).request({ method: 'sandbox_reorg', params: [3] }))
    expect(error.message).toMatch(/: sandbox_reorg: there is no block to replace yet: mine some first$/)
  })

  it('needs anvil', async () => {
    const { url } = await serve(node({ answer: (entry) => (entry.method === 'anvil_reorg' ? failed(entry, -32601, 'no such method') : undefined) }))
    const over = await startSandbox({ upstream: url })
    onTestFinished(() => over.stop())
    const error = await errorOf(clientOf(over.nodeUrl(), { retry: false }).request({ method: 'sandbox_reorg', params: [1] }))
    expect(error.message).toContain('sandbox_reorg needs anvil as its node: no such method')
  })
})
