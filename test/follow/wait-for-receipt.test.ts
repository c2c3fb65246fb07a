import { createTestClient, http, publicActions, walletActions } from 'viem'
import { foundry } from 'viem/chains'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ClientOptions, createClient, type Hash, waitForReceipt } from '../../src/index.ts'
import { startAnvil } from '../support/anvil.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { hex } from '../support/node.ts'
import { type Entry, errorOf, failed } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf, sleep } = virtualWorld()
const hash: Hash = `0x${'ab'.repeat(32)}`
const from = `0x${'51'.repeat(20)}`

/** What a node knows of the transaction, as the test changes it. */
interface Known {
  pending: boolean
  /** Number of its block. */
  block: number | undefined
  /** Nonces that the sender has used as of a block. */
  used: (block: number) => number
}

/** A node of a chain that knows of one transaction, with nonce 7. */
async function bed(options: ClientOptions = {}) {
  const chain = new ForkingChain(20)
  const known: Known = { pending: true, block: undefined, used: () => 7 }
  const answer = (entry: Entry): object | undefined => {
    const result = (value: unknown) => ({ jsonrpc: '2.0', id: entry.id, result: value })
    const block = known.block === undefined ? undefined : chain.blocks[known.block]
    const place = block && { blockHash: block.hash, blockNumber: hex(block.number), transactionIndex: '0x0' }
    if (entry.method === 'eth_getTransactionReceipt') return result(place === undefined ? null : { transactionHash: hash, status: '0x1', logs: [], ...place })
    if (entry.method === 'eth_getTransactionByHash')
      return result(place !== undefined || known.pending ? { hash, from, nonce: '0x7', blockHash: null, blockNumber: null, ...place } : null)
    if (entry.method === 'eth_getTransactionCount') return result(hex(known.used(Number(entry.params[1]))))
    if (entry.method === 'eth_getBlockByNumber' && entry.params[1] === true) {
      const number = Number(entry.params[0])
      const header = (chain.reply(entry) as { result: object }).result
      const others = [{ hash: `0x${'01'.repeat(32)}`, from: `0x${'99'.repeat(20)}`, nonce: '0x7' }]
      // Who took the nonce, in the spelling of a checksum.
      if (known.used(number) > 7 && known.used(number - 1) <= 7)
        others.push({ hash: `0x${'cd'.repeat(32)}`, from: from.toUpperCase().replace('0X', '0x'), nonce: '0x7' })
      return result({ ...header, transactions: others })
    }
    return undefined
  }
  const server = await serve(chain.node({ answer }))
  return { chain, known, server, client: clientOf(server.url, options), answer }
}

it('resolves when the transaction is in a block', async () => {
  const { chain, known, client } = await bed()
  void sleep(30_000).then(() => {
    chain.mine()
    known.block = 21
  })
  expect(await waitForReceipt(client, hash)).toMatchObject({ transactionHash: hash, status: 1, blockNumber: 21n, blockHash: chain.hashes[21] })
})

it('with confirmations, when as many blocks hold it or follow it', async () => {
  const { chain, known, client } = await bed()
  known.block = 20
  void (async () => {
    for (let i = 0; i < 10; i++) {
      await sleep(5000)
      chain.mine()
    }
  })()
  expect(await waitForReceipt(client, hash, { confirmations: 4 })).toMatchObject({ blockNumber: 20n })
  expect(chain.head).toBe(23)
})

it('a block that is replaced starts it over', async () => {
  const { chain, known, client } = await bed()
  known.block = 20
  void (async () => {
    await sleep(5000)
    chain.mine()
    await sleep(5000)
    // The block is gone, and the transaction waits again.
    chain.reorganise(2, 3)
    known.block = undefined
    await sleep(30_000)
    chain.mine()
    known.block = chain.head
    await sleep(5000)
    chain.mine(2)
  })()
  expect(await waitForReceipt(client, hash, { confirmations: 3 })).toMatchObject({ blockNumber: 23n, blockHash: expect.any(String) })
})

it('a receipt of a block that is no longer part of the chain does not count', async () => {
  const { chain, known, client, server, answer } = await bed()
  known.block = 20
  const old = answer({ id: 0, method: 'eth_getTransactionReceipt', params: [] }) as { result: object }
  chain.reorganise(1, 2)
  let isOld = true
  server.script(chain.node({ answer: (entry) => (isOld && entry.method === 'eth_getTransactionReceipt' ? { ...old, id: entry.id } : answer(entry)) }))
  void sleep(20_000).then(() => {
    isOld = false
  })
  expect(await waitForReceipt(client, hash)).toMatchObject({ blockHash: chain.hashes[20] })
  expect(isOld).toBe(false)
})

it('the receipt of another transaction is an error', async () => {
  const { chain, known, client, server, answer } = await bed()
  known.block = 20
  const other = `0x${'cd'.repeat(32)}`
  const changed = (entry: Entry) => {
    const reply = answer(entry) as { result: object } | undefined
    return entry.method === 'eth_getTransactionReceipt' ? { ...reply, result: { ...reply?.result, transactionHash: other } } : reply
  }
  server.script(chain.node({ answer: changed }))
  expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({
    name: 'IntegrityError',
    kind: 'integrity',
    message: `requested the receipt of ${hash}, but received that of ${other}`,
    method: 'eth_getTransactionReceipt',
  })
})

describe('a transaction that was replaced', () => {
  it('is told with the one that has its nonce', async () => {
    const { chain, known, client } = await bed()
    void sleep(20_000).then(() => {
      chain.mine(5)
      known.pending = false
      known.used = (number) => (number >= 23 ? 8 : 7)
    })
    expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({
      name: 'TransactionLostError',
      kind: 'not-found',
      reason: 'replaced',
      transactionHash: hash,
      replacedBy: `0x${'cd'.repeat(32)}`,
      message: `${hash} was replaced: 0x${'cd'.repeat(32)} from the same sender has its nonce`,
    })
  })

  it('not before that has its confirmations, and not if a reorganisation undoes it', async () => {
    const { chain, known, client } = await bed()
    void (async () => {
      await sleep(5000)
      chain.mine(1)
      known.used = (number) => (number >= 21 ? 8 : 7)
      await sleep(20_000)
      known.used = () => 7
      known.block = 22
      chain.reorganise(1, 4)
    })()
    expect(await waitForReceipt(client, hash, { confirmations: 3 })).toMatchObject({ blockNumber: 22n })
  })

  it('is told without that one where it cannot be found, after ten seconds', async () => {
    const { chain, known, client, server, answer } = await bed()
    const own = (entry: Entry) =>
      entry.method === 'eth_getTransactionCount' && entry.params[1] !== hex(chain.head) ? failed(entry, -32000, 'missing trie node') : answer(entry)
    server.script(chain.node({ answer: own }))
    known.used = () => 8
    expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({
      reason: 'replaced',
      replacedBy: undefined,
      message: `${hash} was replaced: another transaction from the same sender has its nonce`,
    })
  })

  it('a node that knows the block and not yet the receipt is no proof', async () => {
    const { known, client, server, chain, answer } = await bed()
    known.used = (number) => (number >= 18 ? 8 : 7)
    const own = (entry: Entry) => {
      if (entry.method !== 'eth_getBlockByNumber' || entry.params[1] !== true) return answer(entry)
      return JSON.parse(JSON.stringify(answer(entry)).replaceAll(`0x${'cd'.repeat(32)}`, hash))
    }
    server.script(chain.node({ answer: own }))
    void sleep(20_000).then(() => {
      known.block = 18
    })
    // However the caller writes the hash.
    const upper = `0x${hash.slice(2).toUpperCase()}` as const
    expect(await Promise.all([hash, upper].map((each) => waitForReceipt(client, each)))).toMatchObject([{ blockNumber: 18n }, { blockNumber: 18n }])
  })
})

describe('a transaction that was dropped', () => {
  it('is told when no node has known it for ten seconds', async () => {
    const { known, client } = await bed()
    let isGone = false
    void sleep(60_000).then(() => {
      known.pending = false
      isGone = true
    })
    const error = await errorOf(waitForReceipt(client, hash))
    expect(error).toMatchObject({ name: 'TransactionLostError', reason: 'dropped', transactionHash: hash, replacedBy: undefined })
    expect(error.message).toBe(`${hash} was dropped: no node knows it`)
    expect(isGone).toBe(true)
  })

  it('not while one of several nodes knows it now and then', async () => {
    const { chain, known, client } = await bed()
    void (async () => {
      for (let i = 0; i < 20; i++) {
        known.pending = !known.pending
        await sleep(8000)
      }
      chain.mine()
      known.block = 21
    })()
    expect(await waitForReceipt(client, hash)).toMatchObject({ blockNumber: 21n })
  })
})

describe('it ends', () => {
  it('at the deadline', async () => {
    const { client } = await bed()
    const error = await errorOf(waitForReceipt(client, hash, { deadlineMs: 30_000, confirmations: 2 }))
    expect(error).toMatchObject({
      name: 'TimeoutError',
      kind: 'timeout',
      message: `waitForReceipt: ${hash} has no receipt with 2 confirmations within 30000 ms`,
    })
  })

  it('at the deadline of a node that does not answer', async () => {
    const { client, server } = await bed()
    server.script((request) => request.hungUp)
    expect(await errorOf(waitForReceipt(client, hash, { deadlineMs: 5000 }))).toMatchObject({
      name: 'TimeoutError',
      message: expect.stringMatching(/^waitForReceipt: /),
    })
  })

  it('for one of its calls at the deadline of the client', async () => {
    const { client, server } = await bed({ deadlineMs: 1000 })
    server.script((request) => request.hungUp)
    expect(await errorOf(waitForReceipt(client, hash, { deadlineMs: 600_000 }))).toMatchObject({
      name: 'TimeoutError',
      message: expect.stringMatching(/: no answer before its deadline/),
    })
  })

  it('with the reason of the signal, and with the client', async () => {
    const { client } = await bed()
    const stop = new AbortController()
    const reason = new Error('enough')
    void sleep(5000).then(() => stop.abort(reason))
    expect(await errorOf(waitForReceipt(client, hash, { signal: stop.signal }))).toBe(reason)
    expect(await errorOf(waitForReceipt(client, hash, { signal: stop.signal }))).toBe(reason)
    void sleep(5000).then(() => client.close())
    expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({ kind: 'closed' })
  })

  it('if the first call fails; later, a node may be down', async () => {
    const { client, server, chain, known, answer } = await bed()
    const right = chain.node({ answer })
    server.script((_, response) => void response.writeHead(502).end('no'))
    expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({ kind: 'server' })
    server.script(right)
    void (async () => {
      await sleep(2000)
      server.script((_, response) => void response.writeHead(502).end('no'))
      await sleep(60_000)
      known.block = 20
      server.script(right)
    })()
    expect(await waitForReceipt(client, hash)).toMatchObject({ blockNumber: 20n })
    known.block = undefined
    void sleep(2000).then(() => server.script(chain.node({ answer: (entry) => failed(entry, -32602, 'no such thing') })))
    expect(await errorOf(waitForReceipt(client, hash))).toMatchObject({ kind: 'invalid' })
  })
})

it.each([
  ['0xab', {}, 'hash: expected the hash of a transaction (32 bytes in hex), received "0xab"'],
  [hash, { confirmations: 0 }, 'confirmations: expected a whole number of at least 1, received 0'],
  [hash, { deadlineMs: -1 }, 'deadlineMs: expected a number of ms above 0, or Infinity, received -1'],
  [hash, { timeout: 5 }, 'options: expected only confirmations, deadlineMs, signal, received "timeout"'],
])('%s, %j is refused', async (of, options: object, message) => {
  expect(await errorOf(waitForReceipt(createClient('http://127.0.0.1:1'), of as Hash, options))).toMatchObject({ name: 'OptionError', message })
})

it('anything but a client is refused', async () => {
  expect(await errorOf(waitForReceipt({} as never, hash))).toMatchObject({
    message: 'client: expected a client, as createClient returns it, received an object',
  })
})

describe.each([
  { over: 'HTTP', endpointOf: (url: string) => url },
  { over: 'a WebSocket', endpointOf: (url: string) => url.replace('http', 'ws') },
])('anvil over $over', ({ endpointOf }) => {
  const start = async () => {
    const anvil = await startAnvil()
    onTestFinished(() => anvil.stop())
    const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
      .extend(publicActions)
      .extend(walletActions)
    await node.setAutomine(false)
    const client = createClient(endpointOf(anvil.url))
    onTestFinished(() => client.close())
    const [account] = await node.getAddresses()
    const send = (value: bigint, maxFeePerGas: bigint) =>
      node.sendTransaction({ account: account as Hash, to: `0x${'99'.repeat(20)}`, value, gas: 21_000n, nonce: 0, maxFeePerGas, maxPriorityFeePerGas: 1n })
    return { node, client, send }
  }

  it('a reorganisation: the receipt is that of the block that stays', async () => {
    const { node, client, send } = await start()
    const snapshot = await node.snapshot()
    const sent = await send(5n, 10n ** 10n)
    const waiting = waitForReceipt(client, sent, { confirmations: 3 })
    await node.mine({ blocks: 2 })
    await node.revert({ id: snapshot })
    await node.mine({ blocks: 3 })
    // The same transaction again: its hash is the same.
    expect(await send(5n, 10n ** 10n)).toBe(sent)
    await node.mine({ blocks: 3 })
    const { blockNumber, blockHash } = await waiting
    expect([blockNumber, blockHash]).toEqual([4n, (await node.getBlock({ blockNumber: 4n })).hash])
  })

  it('another transaction with the same nonce: replaced', async () => {
    const { node, client, send } = await start()
    const first = await send(5n, 10n ** 10n)
    const waiting = errorOf(waitForReceipt(client, first))
    // Not before it is known as pending.
    await client.call('eth_getTransactionByHash', first)
    const second = await send(6n, 10n ** 11n)
    await node.mine({ blocks: 1 })
    expect(await waiting).toMatchObject({ reason: 'replaced', transactionHash: first, replacedBy: second })
  })
})
