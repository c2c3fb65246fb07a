import { setTimeout as sleep } from 'node:timers/promises'
import { HexlineProvider } from 'hexline/ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { waitForTransaction } from '../../../../adapters/ethers/events/wait-for-transaction.ts'
import { Destroyed } from '../../../../adapters/ethers/format/ethers-error.ts'
import { node } from '../../../support/node.ts'
import { type Entry, failed, serve, silent } from '../../../support/server.ts'

const hash = `0x${'1b'.repeat(32)}`
const receipt = {
  ...{ transactionHash: hash, transactionIndex: '0x0', blockNumber: '0xa', blockHash: hash, from: `0x${'11'.repeat(20)}`, to: null },
  ...{ contractAddress: null, gasUsed: '0x1', cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1', status: '0x1', type: '0x0', logs: [], logsBloom: '0x' },
}

/** A block as the node sends it; `own` is the hash of the block that the receipt names. */
function blockAt(tag: unknown, own: string): object {
  const hashOf = (number: number) => (number === 10 ? own : `0x${number.toString(16).padStart(64, '0')}`)
  const number = Number(tag)
  return { number: tag, hash: hashOf(number), parentHash: hashOf(number - 1) }
}

type Look = 'nothing' | 'failure' | 'receipt'

/**
 * A node that answers each request for the receipt as `looks` says, the last one again and again,
 * and has a new block after each.
 */
async function setUp(...looks: [Look, ...Look[]]) {
  const chain = {
    head: 10,
    /** Of the block with the number of the receipt's. */
    blockHash: hash,
  }
  const answer = node({
    head: () => chain.head,
    answer(entry) {
      if (entry.method === 'eth_getTransactionByHash') return { jsonrpc: '2.0', id: entry.id, result: null }
      if (entry.method === 'eth_getBlockByNumber') return { jsonrpc: '2.0', id: entry.id, result: blockAt(entry.params[0], chain.blockHash) }
      if (entry.method !== 'eth_getTransactionReceipt') return undefined
      chain.head++
      const look = looks.length > 1 ? looks.shift() : looks[0]
      if (look === 'failure') return failed(entry, -32000, 'no')
      return { jsonrpc: '2.0', id: entry.id, result: look === 'receipt' ? receipt : null }
    },
  })
  const server = await serve(answer)
  const provider = new HexlineProvider(server.url, 1, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 1 })
  onTestFinished(() => provider.destroy())
  const end = new AbortController()
  const wait = (confirms: number, timeoutMs?: number) => waitForTransaction(provider, hash, confirms, timeoutMs, end.signal)
  return { chain, server, provider, end, wait }
}

/**
 * A node with the receipt, which answers requests for blocks as `blocks` says, after `before`, and
 * a provider that looks every ms.
 */
async function setUpMined(head: number, blocks: (entry: Entry) => object, before = async () => {}) {
  const answer = node({
    head: () => head,
    answer(entry) {
      const { id, method } = entry
      if (method === 'eth_getTransactionReceipt') return { jsonrpc: '2.0', id, result: receipt }
      return method === 'eth_getBlockByNumber' ? { jsonrpc: '2.0', id, ...blocks(entry) } : undefined
    },
  })
  const server = await serve(async (request, response) => {
    if (request.entries.some(({ method }) => method === 'eth_getBlockByNumber')) await before()
    await answer(request, response)
  })
  const provider = new HexlineProvider(server.url, 1, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 1 })
  onTestFinished(() => provider.destroy())
  const end = new AbortController()
  return { server, provider, end, wait: (confirms: number) => waitForTransaction(provider, hash, confirms, undefined, end.signal) }
}

describe("a wait on a chain with no further block, within the time of ethers' cache", () => {
  it.each(['provider.waitForTransaction', 'an event of the transaction'])('sees the receipt: %s', async (way) => {
    let isMined = false
    const server = await serve(
      node({
        head: () => (isMined ? 10 : 9),
        answer({ id, method }) {
          return method === 'eth_getTransactionReceipt' ? { jsonrpc: '2.0', id, result: isMined ? receipt : null } : undefined
        },
      }),
    )
    const provider = new HexlineProvider(server.url, 1, { staticNetwork: true, cacheTimeout: 250, pollingInterval: 10 })
    onTestFinished(() => provider.destroy())
    // The number of the block is forgotten after 250 ms, and the missing receipt 150 ms later.
    await provider.getBlockNumber()
    await sleep(150)
    const wait =
      way === 'provider.waitForTransaction' ? provider.waitForTransaction(hash, 1, 3000) : new Promise((resolve) => void provider.once(hash, resolve))
    await provider.getTransactionReceipt(hash)
    isMined = true
    expect(await Promise.race([wait, sleep(3000, 'nothing')])).toMatchObject({ hash })
  })
})

describe('a wait for a transaction', () => {
  it('with 0 confirmations resolves at once, to null or to the receipt', async () => {
    const { wait } = await setUp('nothing', 'receipt')
    expect(await wait(0)).toBeNull()
    expect(await wait(0)).toMatchObject({ hash })
  })

  it('resolves at the first check if there are enough confirmations', async () => {
    const { chain, wait } = await setUp('receipt')
    expect(await wait(1)).toMatchObject({ hash })
    expect(chain.head).toBe(11)
  })

  it('resolves once there are enough confirmations, and not before', async () => {
    const { chain, provider, wait } = await setUp('nothing', 'receipt')
    expect(await wait(4)).toMatchObject({ hash })
    // The receipt is in block 10.
    expect(chain.head).toBeGreaterThanOrEqual(13)
    expect(await provider.listenerCount('block')).toBe(0)
  })

  it('does not resolve with the receipt of a block that has been replaced', async () => {
    const { chain, server, wait } = await setUp('receipt')
    chain.blockHash = `0x${'2b'.repeat(32)}`
    const waiting = wait(2)
    expect(await Promise.race([waiting, server.received(20).then(() => 'not yet')])).toBe('not yet')
    chain.blockHash = hash
    expect(await waiting).toMatchObject({ hash })
  })

  it('does not resolve where one of several nodes still has the block, and another one has those that replaced it', async () => {
    const replaced = `0x${'2b'.repeat(32)}`
    let isReplaced = true
    const { server, wait } = await setUpMined(12, ({ params }) => ({ result: blockAt(params[0], isReplaced && params[0] !== '0xa' ? replaced : hash) }))
    const waiting = wait(3)
    expect(await Promise.race([waiting, server.received(12).then(() => 'not yet')])).toBe('not yet')
    isReplaced = false
    expect(await waiting).toMatchObject({ hash })
  })

  it('looks again, also without a further block, where one of several nodes does not have the block yet', async () => {
    let looks = 0
    const { wait } = await setUpMined(12, ({ params }) => ({ result: ++looks < 3 ? null : blockAt(params[0], hash) }))
    expect(await wait(3)).toMatchObject({ hash })
  })

  it('passes over numbers without a block, as on Filecoin', async () => {
    const { wait } = await setUpMined(13, ({ params }) => {
      if (params[0] === '0xb') return { error: { code: 1, message: 'requested epoch was a null round (11)' } }
      return { result: { ...blockAt(params[0], hash), ...(params[0] === '0xc' && { parentHash: hash }) } }
    })
    expect(await wait(4)).toMatchObject({ hash })
  })

  it('requests nothing once it has ended in the middle of a look', async () => {
    let answer = () => {}
    let noteAsked = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    const asked = new Promise<void>((resolve) => {
      noteAsked = resolve
    })
    const { server, provider, end, wait } = await setUpMined(
      12,
      () => ({ result: null }),
      async () => {
        noteAsked()
        await held
      },
    )
    const looks = () => server.requests.flatMap(({ entries }) => entries).filter(({ method }) => method === 'eth_getTransactionReceipt').length
    const waiting = wait(2)
    await asked
    end.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    const before = looks()
    answer()
    for (let i = 0; i < 20; i++) await provider.send('eth_chainId', [])
    expect(looks()).toBe(before)
  })

  it('rejects if its first request fails, and leaves no listener', async () => {
    const { provider, wait } = await setUp('failure')
    await expect(wait(1)).rejects.toMatchObject({ error: { message: 'no' } })
    expect(await provider.listenerCount('block')).toBe(0)
  })

  it('reports a later failure, and tries again at the next block', async () => {
    const { provider, wait } = await setUp('nothing', 'failure', 'receipt')
    const reported: unknown[] = []
    void provider.on('error', (error) => reported.push(error))
    expect(await wait(1)).toMatchObject({ hash })
    expect(reported).toEqual([expect.objectContaining({ error: expect.objectContaining({ message: 'no' }) })])
  })

  it('ends when the provider is destroyed, before and during the wait', async () => {
    const { server, provider, end, wait } = await setUp('nothing')
    server.script(silent)
    const waiting = wait(1)
    await server.received(1)
    end.abort(new Destroyed())
    const destroyed = { code: 'UNSUPPORTED_OPERATION', operation: 'waitForTransaction' }
    await expect(waiting).rejects.toMatchObject(destroyed)
    await expect(wait(1)).rejects.toMatchObject(destroyed)
    expect(await provider.listenerCount('block')).toBe(0)
  })

  it('ends at its timeout, also while the node does not answer', async () => {
    const { server, provider, wait } = await setUp('nothing')
    server.script(silent)
    await expect(wait(1, 1)).rejects.toMatchObject({ code: 'TIMEOUT', operation: 'waitForTransaction' })
    expect(await provider.listenerCount('block')).toBe(0)
  })
})
