import { keccak256, parseGwei } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ClientOptions, createClient, transactionHash } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { cutAfter, forward } from '../support/forward.ts'
import { type Answer, always, clientOf, cut, deadPort, each, errorOf, failed, refuse, serve, silent } from '../support/server.ts'

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil({ accounts: 40 })
})
afterAll(() => anvil?.stop())

/** An account of anvil's that no test has used: its next nonce is 0. */
let sender = mnemonicToAccount('test test test test test test test test test test test junk')
let used = 0
beforeEach(() => {
  sender = mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: used++ })
})

const to = '0x000000000000000000000000000000000000dEaD'

function sign({ nonce = 0, value = 1n }: { nonce?: number; value?: bigint } = {}) {
  return sender.signTransaction({ type: 'eip1559', chainId: 31337, nonce, to, value, gas: 21_000n, maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: 1n })
}

/** What the chain itself says, past all proxies. */
async function onChain(hash: string): Promise<{ nonce: number; isMined: boolean }> {
  const client = createClient(anvil.url)
  try {
    const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    return { nonce: await client.call('eth_getTransactionCount', sender.address), isMined: (receipt as { status?: string } | null)?.status === '0x1' }
  } finally {
    await client.close()
  }
}

/** anvil mines what is due a moment after it took it. */
function mined(hash: string | undefined): Promise<void> {
  return vi.waitFor(async () => expect(await onChain(hash as string)).toEqual({ nonce: 1, isMined: true }), { timeout: 10_000, interval: 10 })
}

/** Sends through a proxy that treats the POSTs as told, and tells the methods that it saw. */
async function sendThrough(raw: string, answers: [Answer, ...Answer[]], options: ClientOptions = {}) {
  const proxy = await serve(...answers)
  const client = clientOf(proxy.url, options)
  const sent = client.call('eth_sendRawTransaction', raw as `0x${string}`)
  const outcome = await sent.then(
    (hash) => ({ hash, error: undefined }),
    (error) => ({ hash: undefined, error }),
  )
  return { ...outcome, methods: proxy.requests.flatMap(({ entries }) => entries.map(({ method }) => method.replace('eth_', ''))) }
}

describe('eth_sendRawTransaction', () => {
  test('without trouble is sent once', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction'])
    await mined(hash)
  })

  test('whose connection is cut after the node took it is found by its hash, and not sent again', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash'])
    await mined(hash)
  })

  test('that cannot be looked up either is sent again, and "nonce too low" for itself is no failure', async () => {
    const raw = await sign()
    const cutOnceMined: Answer = async (...exchange) => {
      await mined(keccak256(raw))
      cut(...exchange)
    }
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), cutOnceMined, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    // The second look-up is what tells its own nonce from another's.
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction', 'getTransactionByHash'])
    await mined(hash)
  })

  test('that waits in the pool is told "already known" when it is sent again, and has arrived', async () => {
    const raw = await sign({ nonce: 1 })
    // Its nonce is not the next one, so it stays in the pool, where the second sending meets it.
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), cut, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction'])
  })

  test('that is cut before it reached the node is sent again', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [cut, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction'])
    await mined(hash)
  })

  test.each<[string, Answer, ClientOptions]>([
    ['a timeout', silent, { timeoutMs: 300 }],
    ['a body that is no JSON', always('<html>'), {}],
    ['a gateway’s error', always('Bad Gateway', { status: 502 }), {}],
    ['an internal error', refuse(-32603, 'Internal error'), {}],
  ])('after %s is looked up and sent again', async (_, answer, options) => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [answer, forward(anvil.url)], options)
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction'])
    await mined(hash)
  })

  test('that was throttled did not run: it is sent again without being looked up', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [refuse(429, 'Too many requests', { status: 429 }), forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'sendRawTransaction'])
  })

  test('whose nonce another transaction has taken stays an error', async () => {
    const [raw, other] = await Promise.all([sign(), sign({ value: 2n })])
    await sendThrough(other, [forward(anvil.url)])
    await mined(keccak256(other))
    for (const answers of [[forward(anvil.url)], [cut, forward(anvil.url)], [cut, cut, forward(anvil.url)]] as [Answer, ...Answer[]][]) {
      const { hash, error } = await sendThrough(raw, answers)
      expect(hash).toBeUndefined()
      expect(error).toMatchObject({ name: 'RpcError', kind: 'execution', message: expect.stringMatching(/nonce too low/i) })
    }
    expect(await onChain(keccak256(raw))).toEqual({ nonce: 1, isMined: false })
  })

  test('that is "already known" at the first try stays the node’s error: somebody else has sent it', async () => {
    const raw = await sign({ nonce: 1 })
    await sendThrough(raw, [forward(anvil.url)])
    const { error, methods } = await sendThrough(raw, [forward(anvil.url)])
    expect(error).toMatchObject({ name: 'RpcError', kind: 'execution', message: expect.stringMatching(/already (?:known|imported)/i), attempts: 1 })
    expect(methods).toEqual(['sendRawTransaction'])
  })

  test('is told "already known" in the words of any node', async () => {
    const raw = await sign()
    for (const words of [
      'already known',
      'Known transaction',
      `known transaction: ${keccak256(raw).slice(2)}`,
      'transaction already imported',
      'AlreadyKnown',
      'ALREADY_EXISTS: already known',
      'INTERNAL_ERROR: existing tx with same hash',
      'Transaction with the same hash was already imported.',
      'submit transaction to pool failed: Pool(AlreadyImported)',
      `known transaction. transaction with hash ${keccak256(raw)} is already in the system`,
      'failed to broadcast transaction: : tx already in mempool',
    ]) {
      const { hash } = await sendThrough(raw, [cut, cut, refuse(-32000, words)])
      expect(hash).toBe(keccak256(raw))
    }
  })

  test('is not taken for known when the node says "unknown transaction"', async () => {
    for (const words of ['unknown transaction type', 'Unknown transaction']) {
      const { hash, error } = await sendThrough(await sign(), [cut, cut, refuse(-32000, words)])
      expect(hash).toBeUndefined()
      expect(error).toMatchObject({ name: 'RpcError', message: words })
    }
  })

  test('with one attempt is looked up, and never sent again', async () => {
    const raw = await sign()
    const arrived = await sendThrough(raw, [cutAfter(anvil.url), forward(anvil.url)], { retry: false })
    expect(arrived.hash).toBe(keccak256(raw))
    expect(arrived.methods).toEqual(['sendRawTransaction', 'getTransactionByHash'])

    const lost = await sendThrough(await sign({ nonce: 1 }), [cut, forward(anvil.url)], { retry: false })
    expect(lost.error).toMatchObject({ name: 'NetworkError', method: 'eth_sendRawTransaction', attempts: 1 })
    expect(lost.methods).toEqual(['sendRawTransaction', 'getTransactionByHash'])
    expect((await onChain(arrived.hash as string)).nonce).toBe(1)
  })

  test('that never left is not looked up', async () => {
    const raw = await sign()
    const client = clientOf(`http://127.0.0.1:${await deadPort()}`, { retry: { attempts: 3, baseDelayMs: 1 } })
    expect(await errorOf(client.call('eth_sendRawTransaction', raw))).toMatchObject({ name: 'NetworkError', unsent: true, attempts: 3 })
  })

  test('gives up after its attempts with the last failure', async () => {
    const { error, methods } = await sendThrough(await sign(), [cut], { retry: { attempts: 3, baseDelayMs: 1 } })
    expect(error).toMatchObject({ name: 'NetworkError', attempts: 3, method: 'eth_sendRawTransaction' })
    expect(methods.filter((method) => method === 'sendRawTransaction')).toHaveLength(3)
  })

  test('aborted while it is looked up rejects with the signal’s reason', async () => {
    const raw = await sign()
    const proxy = await serve(cut, silent)
    const aborter = new AbortController()
    const error = errorOf(clientOf(proxy.url).with({ signal: aborter.signal }).call('eth_sendRawTransaction', raw))
    await proxy.received(2)
    aborter.abort('enough')
    expect(await error).toBe('enough')
  })

  test('that is no transaction hexline can hash is treated as any unsafe call', async () => {
    for (const raw of ['0x', '0x7f00', 'nonsense']) {
      const proxy = await serve(
        cut,
        each((entry) => failed(entry, -32000, 'already known')),
      )
      expect(await errorOf(clientOf(proxy.url).request({ method: 'eth_sendRawTransaction', params: [raw] }))).toMatchObject({
        name: 'NetworkError',
        attempts: 1,
      })
      expect(proxy.requests).toHaveLength(1)
    }
  })
})

test('transactionHash is what the chain calls it, for every type that is sent as it is', async () => {
  const common = { chainId: 31337, nonce: 7, to, value: 1n, gas: 21_000n } as const
  const fees = { maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: 1n } as const
  const authorization = await sender.signAuthorization?.({ chainId: 31337, contractAddress: to, nonce: 1 })
  for (const transaction of [
    { ...common, type: 'legacy', gasPrice: 1n },
    { ...common, type: 'eip2930', gasPrice: 1n, accessList: [] },
    { ...common, ...fees, type: 'eip1559' },
    { ...common, ...fees, type: 'eip7702', authorizationList: [authorization] },
  ] as const) {
    const raw = await sender.signTransaction(transaction as never)
    expect(await transactionHash(raw)).toBe(keccak256(raw))
  }
  for (const nonsense of ['', '0x', '0x0', '0x7f', '02', null, 5]) expect(await transactionHash(nonsense)).toBeUndefined()
})
