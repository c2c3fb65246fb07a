import { Transaction } from 'ethers'
import { createPublicClient, keccak256, parseGwei } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { HexlineProvider } from '../../adapters/ethers/index.ts'
import { hexline } from '../../adapters/viem/index.ts'
import { type ClientOptions, createClient, type HexlineError, transactionHash } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { eventually } from '../support/eventually.ts'
import { cutAfter, forward } from '../support/forward.ts'
import { steadyTime } from '../support/held-time.ts'
import { calls } from '../support/node.ts'
import { type Fault, startPool } from '../support/pool.ts'
import { randomFrom } from '../support/random.ts'
import { runs } from '../support/runs.ts'
import { type Answer, always, clientOf, cut, deadPort, each, errorOf, failed, refuse, serve, silent } from '../support/server.ts'

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil({ accounts: 80 })
})
afterAll(() => anvil?.stop())

/** One of anvil's accounts that no test has used, so that its next nonce is 0. */
let sender = mnemonicToAccount('test test test test test test test test test test test junk')
let used = 0
beforeEach(() => {
  sender = mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: used++ })
})

const to = '0x000000000000000000000000000000000000dEaD'

function sign({ nonce = 0, value = 1n }: { nonce?: number; value?: bigint } = {}) {
  return sender.signTransaction({ type: 'eip1559', chainId: 31337, nonce, to, value, gas: 21_000n, maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: 1n })
}

/** The chain's own answer, without a proxy. */
async function onChain(hash: string): Promise<{ nonce: number; isMined: boolean }> {
  const client = createClient(anvil.url)
  try {
    const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    return { nonce: await client.call('eth_getTransactionCount', sender.address), isMined: (receipt as { status?: string } | null)?.status === '0x1' }
  } finally {
    await client.close()
  }
}

/** anvil mines a transaction a moment after it has accepted it. */
function mined(hash: string | undefined): Promise<void> {
  return eventually(async () => expect(await onChain(hash as string)).toEqual({ nonce: 1, isMined: true }))
}

/** Far more than the node takes on a slow and busy machine. */
const TIMEOUT_MS = 60_000

/** Gives no answer until the client has given up. */
const untimely: Answer = () => void vi.advanceTimersByTimeAsync(TIMEOUT_MS)

/** Sends through a proxy with these faults, and returns the methods that it saw. */
async function sendThrough(raw: string, answers: [Answer, ...Answer[]], options: ClientOptions = {}) {
  steadyTime()
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
  test.each([null, '', {}, 5])('whose result is %j fails with the hash: the node may have it', async (result) => {
    const raw = await sign()
    const server = await serve(each(({ id }) => ({ id, result })))
    const error = await errorOf(clientOf(server.url).call('eth_sendRawTransaction', raw))
    const hash = keccak256(raw)
    const message = expect.stringMatching(new RegExp(`^transaction ${hash} may have been accepted; .*expected`))
    expect(error).toMatchObject({ name: 'CodecError', kind: 'malformed', transactionHash: hash, message })
    expect(server.requests).toHaveLength(1)
  })

  test('without a failure is sent once', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction'])
    await mined(hash)
  })

  test('whose connection is cut after the node accepted it is found by its hash, and not sent again', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash'])
    await mined(hash)
  })

  test('that cannot be looked up is sent again, and "nonce too low" because of itself is not a failure', async () => {
    const raw = await sign()
    const cutOnceMined: Answer = async (...exchange) => {
      await mined(keccak256(raw))
      cut(...exchange)
    }
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), cutOnceMined, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    // The second look-up distinguishes its own nonce from another's.
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction', 'getTransactionByHash'])
    await mined(hash)
  })

  test('that gets "already known" from the pool when it is sent again has arrived', async () => {
    const raw = await sign({ nonce: 1 })
    // Its nonce is not the next one, so it is still in the pool when it is sent again.
    const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), cut, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'sendRawTransaction'])
  })

  test.each([[false], ['yes'], [{}], [{ hash: `0x${'1'.repeat(64)}` }]])('does not count as accepted because a look-up returns %j', async (odd) => {
    // Nothing reaches the node before it is sent again.
    const answers: [Answer, ...Answer[]] = [cut, each(({ id }) => ({ jsonrpc: '2.0', id, result: odd })), forward(anvil.url)]
    const { methods } = await sendThrough(await sign(), answers)
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
    ['a timeout', untimely, { timeoutMs: TIMEOUT_MS }],
    ['a body that is not JSON', always('<html>'), {}],
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

  test.each<[string, Answer]>([
    ['429', always('', { status: 429 })],
    ['429 and Retry-After', always('', { status: 429, headers: { 'retry-after': '0.01' } })],
    ['503 and Retry-After', always('', { status: 503, headers: { 'retry-after': '0.01' } })],
    ['429 and a JSON-RPC error', refuse(-32005, 'rate limit exceeded', { status: 429 })],
    ['200 and a JSON-RPC error of too many calls', refuse(-32005, 'rate limit exceeded')],
    ['200 and a JSON-RPC error of too much load', refuse(-32000, 'server is overloaded')],
  ])('that a gateway passed on before it answered %s is found when it is refused the second time', async (_, turnAway) => {
    const raw = await sign()
    const passOn: Answer = async (request, response) => {
      const sent = createClient(anvil.url)
      await sent.call('eth_sendRawTransaction', raw)
      await mined(keccak256(raw))
      await sent.close()
      return turnAway(request, response)
    }
    const { hash, methods } = await sendThrough(raw, [passOn, forward(anvil.url)])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'sendRawTransaction', 'getTransactionByHash'])
  })

  test('that a gateway passed on before it answered 429 and is then known already has arrived', async () => {
    const raw = await sign()
    const { hash, methods } = await sendThrough(raw, [always('', { status: 429 }), refuse(-32000, 'already known')])
    expect(hash).toBe(keccak256(raw))
    expect(methods).toEqual(['sendRawTransaction', 'sendRawTransaction'])
  })

  test.each([
    [429, {}],
    [503, { 'retry-after': '5' }],
  ])('that the first of two endpoints passed on before it answered %i, and the other one refuses, is found', async (status, headers) => {
    const raw = await sign()
    let isTaken = false
    const takes = each(({ id, method, params }) => {
      if (method === 'eth_getTransactionByHash') return { id, result: isTaken ? { hash: params[0] } : null }
      return method === 'eth_sendRawTransaction' ? failed({ id }, -32000, 'nonce too low') : { id, result: '0x1' }
    })
    const gateway = await serve((request, response) => {
      if (request.entries.every(({ method }) => method !== 'eth_sendRawTransaction')) return takes(request, response)
      isTaken = true
      return always('', { status, headers })(request, response)
    })
    const other = await serve(takes)
    for (const attempts of [4, 1]) {
      const client = clientOf([gateway.url, other.url], { retry: { attempts, baseDelayMs: 1, maxDelayMs: 2 } })
      await client.call('eth_chainId')
      expect(await client.call('eth_sendRawTransaction', raw)).toBe(keccak256(raw))
    }
  })

  test.each<[string, Answer, object]>([
    ['the key is refused', always('', { status: 401 }), { kind: 'auth' }],
    ['the quota is used up', always('', { status: 402 }), { kind: 'quota' }],
    ['the method is refused', refuse(-32601, 'no such method'), { kind: 'unsupported' }],
  ])('that was throttled, and then fails since %s, fails with that, and is not looked up', async (_, answer, expected) => {
    const { error, methods } = await sendThrough(await sign(), [always('', { status: 429 }), answer])
    expect(error).toMatchObject(expected)
    expect(methods).toEqual(['sendRawTransaction', 'sendRawTransaction'])
  })

  test('that is only ever throttled fails with that, and is not looked up', async () => {
    const { error, methods } = await sendThrough(await sign(), [always('', { status: 429 })], { deadlineMs: 500 })
    expect(error).toMatchObject({ name: 'HttpError', kind: 'rate-limit' })
    expect(error.transactionHash).toBeUndefined()
    expect(new Set(methods)).toEqual(new Set(['sendRawTransaction']))
  })

  test('whose nonce another transaction has taken stays an error', async () => {
    const [raw, other] = await Promise.all([sign(), sign({ value: 2n })])
    await sendThrough(other, [forward(anvil.url)])
    await mined(keccak256(other))
    for (const answers of [
      [forward(anvil.url)],
      [cut, forward(anvil.url)],
      [cut, cut, forward(anvil.url)],
      [always('', { status: 429 }), forward(anvil.url)],
    ] as [Answer, ...Answer[]][]) {
      const { hash, error } = await sendThrough(raw, answers)
      expect(hash).toBeUndefined()
      expect(error).toMatchObject({ name: 'RpcError', kind: 'execution', message: expect.stringMatching(/nonce too low/i) })
    }
    expect(await onChain(keccak256(raw))).toEqual({ nonce: 1, isMined: false })
  })

  test('that is "already known" at the first try keeps the node’s error: someone else has sent it', async () => {
    const raw = await sign({ nonce: 1 })
    await sendThrough(raw, [forward(anvil.url)])
    const { error, methods } = await sendThrough(raw, [forward(anvil.url)])
    expect(error).toMatchObject({ name: 'RpcError', kind: 'execution', message: expect.stringMatching(/already (?:known|imported)/i), attempts: 1 })
    expect(methods).toEqual(['sendRawTransaction'])
  })

  test('recognises "already known" in any node’s message', async () => {
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
      'tx already exist',
    ]) {
      const { hash } = await sendThrough(raw, [cut, cut, refuse(-32000, words)])
      expect(hash).toBe(keccak256(raw))
    }
  })

  test('is not known if the node says "unknown transaction", or that another one has its nonce', async () => {
    for (const words of ['unknown transaction type', 'Unknown transaction', 'tx already exists with same nonce']) {
      const refused = each(({ id, method }) => (method === 'eth_sendRawTransaction' ? failed({ id }, -32000, words) : { id, result: null }))
      const { hash, error } = await sendThrough(await sign(), [cut, cut, refused])
      expect(hash).toBeUndefined()
      expect(error).toMatchObject({ name: 'RpcError', said: words })
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
    await mined(arrived.hash as string)
  })

  describe('that may have been accepted, and was sent again', () => {
    const badGateway = always('Bad Gateway', { status: 502 })
    const may = (raw: `0x${string}`) => `transaction ${keccak256(raw)} may have been accepted; look it up before you sign another: `

    test('is not reported as refused while it could not be looked up: the first failure remains, with the hash', async () => {
      const raw = await sign()
      const { error } = await sendThrough(raw, [cutAfter(anvil.url), badGateway, refuse(-32000, 'nonce too low'), badGateway])
      expect(error).toMatchObject({ name: 'NetworkError', kind: 'network', attempts: 2, transactionHash: keccak256(raw) })
      expect(error.message).toMatch(new RegExp(`^${may(raw)}127.0.0.1:\\d+: the connection ended`))
      expect(error.stack).toContain(keccak256(raw))
      expect(error.cause.message).toBe('refused when sent again, which does not show whether the first send succeeded: nonce too low')
    })

    test('is looked up several times before a refusal is believed: a node behind the same URL may lag', async () => {
      const raw = await sign()
      const unseen = each(({ id }) => ({ id, result: null }))
      const answers = [cutAfter(anvil.url), badGateway, refuse(-32000, 'nonce too low'), unseen, badGateway, unseen, unseen, forward(anvil.url)]
      expect((await sendThrough(raw, answers as [Answer, ...Answer[]])).hash).toBe(keccak256(raw))
    })

    test('is looked up again if that fails, also with one attempt', async () => {
      const raw = await sign()
      const { hash, methods } = await sendThrough(raw, [cutAfter(anvil.url), badGateway, badGateway, forward(anvil.url)], {
        retry: { attempts: 1, baseDelayMs: 1 },
      })
      expect(hash).toBe(keccak256(raw))
      expect(methods).toEqual(['sendRawTransaction', 'getTransactionByHash', 'getTransactionByHash', 'getTransactionByHash'])
    })

    test('at two endpoints is looked up where it may have been accepted: its absence at the other one proves nothing', async () => {
      const raw = await sign({ nonce: 1 })
      const refused = each(({ id, method }) => {
        if (method === 'eth_chainId') return { id, result: '0x7a69' }
        return method === 'eth_sendRawTransaction' ? failed({ id }, -32000, 'transaction underpriced') : { id, result: null }
      })
      const [a, b] = [await serve(forward(anvil.url)), await serve(refused)]
      const client = clientOf([a.url, b.url])
      await client.call('eth_blockNumber')
      a.script(cutAfter(anvil.url), badGateway, forward(anvil.url))
      expect(await client.call('eth_sendRawTransaction', raw)).toBe(keccak256(raw))
      expect(calls(b)).toEqual(['eth_sendRawTransaction'])

      // If that one cannot be asked any more, the other one's answer proves nothing.
      const next = await sign({ nonce: 2 })
      a.script(forward(anvil.url), cutAfter(anvil.url), badGateway)
      const another = clientOf([a.url, b.url])
      await another.call('eth_blockNumber')
      const error = await errorOf<HexlineError>(another.call('eth_sendRawTransaction', next))
      expect(error).toMatchObject({ name: 'NetworkError', transactionHash: keccak256(next), endpoint: `127.0.0.1:${a.port}` })
    })

    test('is looked up at its end, too, and the deadline ends that', async () => {
      const raw = await sign()
      const { error } = await sendThrough(raw, [cut, silent], { deadlineMs: 500 })
      expect(error).toMatchObject({ name: 'NetworkError', transactionHash: keccak256(raw) })
    })

    test('has its hash in the error if the client is closed during the call, and none if it was never sent', async () => {
      const raw = await sign()
      const proxy = await serve(silent)
      const client = clientOf(proxy.url)
      const error = errorOf(client.call('eth_sendRawTransaction', raw))
      await proxy.received(1)
      await client.close()
      expect(await error).toMatchObject({ name: 'ClosedError', transactionHash: keccak256(raw), attempts: 1 })
      expect(await errorOf(client.call('eth_sendRawTransaction', raw))).not.toHaveProperty('transactionHash')
    })

    test('is also looked up after a reply that is too large', async () => {
      const raw = await sign()
      const taken: Answer = async (...exchange) => {
        await clientOf(anvil.url).call('eth_sendRawTransaction', raw)
        return always({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(5_000) })(...exchange)
      }
      expect((await sendThrough(raw, [taken, forward(anvil.url)], { maxResponseBytes: 2_000 })).hash).toBe(keccak256(raw))
    })

    test.each(['a cut connection', 'a status', 'silence'])('shows its hash to users of viem and ethers, after %s', async (how) => {
      const raw = await sign({ nonce: 1 })
      steadyTime()
      const lost = { 'a cut connection': cut, 'a status': badGateway, silence: silent }[how] as Answer
      const failing: Answer = (request, response) => (/sendRaw|ByHash/.test(request.entries[0]?.method ?? '') ? lost : forward(anvil.url))(request, response)
      const proxy = await serve(failing)
      const client = clientOf(proxy.url, { timeoutMs: 200, retry: { attempts: 2, baseDelayMs: 1 } })
      const viem = await errorOf(createPublicClient({ transport: hexline(client) }).sendRawTransaction({ serializedTransaction: raw }))
      expect(viem).toMatchObject({ details: expect.stringContaining(keccak256(raw)), message: expect.stringContaining(keccak256(raw)) })
      const provider = new HexlineProvider(client, 31337, { staticNetwork: true })
      onTestFinished(() => provider.destroy())
      const ethers = await errorOf(provider.broadcastTransaction(raw))
      expect(ethers.message).toContain(Transaction.from(raw).hash)
      expect([viem.cause, ethers.cause]).toMatchObject([{ transactionHash: keccak256(raw) }, { transactionHash: keccak256(raw) }])
    })
  })

  describe('in any order of lost replies, failing gateways and nodes that see it late,', () => {
    /** A unique RLP list of type 2: the part of a transaction that a hash needs. */
    const made = (n: number) => `0x02c8${n.toString(16).padStart(16, '0')}` as `0x${string}`
    const faults: readonly (Fault | undefined)[] = [undefined, undefined, undefined, 'lost', 'lost', 'unreached', 'bad gateway', 'internal error']

    test.each([1, 2])('at %i endpoints: no accepted one is reported as refused, and no other as accepted', async (endpoints) => {
      const { numRuns: count } = runs(100)
      const random = randomFrom(endpoints)
      const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
      const pool = await startPool(endpoints, { fault: () => pick(faults), random })
      const client = clientOf(pool.urls, { retry: { attempts: 4, baseDelayMs: 0.5, maxDelayMs: 1 } })
      const seen = { taken: 0, refused: 0, open: 0 }
      const send = async (n: number) => {
        const raw = made(n)
        const hash = keccak256(raw)
        const [answer, error] = await client.call('eth_sendRawTransaction', raw).then(
          (value) => [value, undefined] as const,
          (failure: HexlineError) => [undefined, failure] as const,
        )
        const what = `${n}: ${pool.story(hash).join(', ')}; ${error?.message}`
        if (error === undefined) {
          seen.taken++
          expect([answer, pool.isTaken(hash)], what).toEqual([hash, true])
        } else if (error.transactionHash === undefined) {
          seen.refused++
          expect(pool.isTaken(hash), what).toBe(false)
        } else {
          seen.open++
          expect([error.transactionHash, error.message.includes(hash), error.kind], what).toEqual([hash, true, expect.stringMatching(/^(network|server)$/)])
        }
      }
      // Which request meets which fault depends on their order: until each end was seen often.
      const isEnough = () => Math.min(seen.taken, seen.refused, seen.open) > 10
      for (let n = 0; n < count || (n < 20 * count && !isEnough()); n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => send(n + i)))
      expect(isEnough(), JSON.stringify(seen)).toBe(true)
    })
  })

  test('accepted by one of two endpoints on the same host, whose reply was lost, is looked up there', async () => {
    const lookUps: string[] = []
    let isTaken = false
    const host = await serve((request, response) => {
      const { path } = request
      const [entry] = request.entries
      if (entry?.method === 'eth_sendRawTransaction') {
        if (path === '/second') isTaken = true
        if (path === '/second') return cut(request, response)
        return (isTaken ? each((sent) => failed(sent, -32000, 'nonce too low')) : always('busy', { status: 429 }))(request, response)
      }
      if (entry?.method === 'eth_getTransactionByHash') lookUps.push(path)
      return each(({ id, method, params }) => {
        if (method !== 'eth_getTransactionByHash') return { id, result: '0x1' }
        return { id, result: path === '/second' ? { hash: params[0] } : null }
      })(request, response)
    })
    const client = clientOf([`${host.url}/first`, `${host.url}/second`], { retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } })
    await client.call('eth_chainId')
    const raw = await sign()
    expect(await client.call('eth_sendRawTransaction', raw)).toBe(keccak256(raw))
    expect(new Set(lookUps)).toEqual(new Set(['/second']))
  })

  test('that was never sent is not looked up', async () => {
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

  test('that hexline cannot hash is treated as any unsafe call', async () => {
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

describe('eth_sendRawTransactionSync', () => {
  /**
   * Sends through a proxy with these faults: the status of the receipt, or the error, and the
   * methods that the proxy saw.
   */
  async function sendSyncThrough(raw: string, answers: [Answer, ...Answer[]], options: ClientOptions = {}) {
    steadyTime()
    const proxy = await serve(...answers)
    const client = clientOf(proxy.url, options)
    const sent = client.call('eth_sendRawTransactionSync', raw as `0x${string}`)
    const outcome = await sent.then(
      (receipt) => ({ receipt, error: undefined }),
      (error: HexlineError) => ({ receipt: undefined, error }),
    )
    return { ...outcome, methods: proxy.requests.flatMap(({ entries }) => entries.map(({ method }) => method.replace('eth_', ''))) }
  }
  const known = refuse(-32000, 'already known')
  const pending: Answer = (request, response) => {
    const isReceipt = request.entries[0]?.method === 'eth_getTransactionReceipt'
    return (isReceipt ? each(({ id }) => ({ jsonrpc: '2.0', id, result: null })) : forward(anvil.url))(request, response)
  }

  test('gives the receipt, and is sent once', async () => {
    const raw = await sign()
    const { receipt, methods } = await sendSyncThrough(raw, [forward(anvil.url)])
    expect(receipt).toMatchObject({ transactionHash: keccak256(raw), status: 1, gasUsed: 21_000n })
    expect(methods).toEqual(['sendRawTransactionSync'])
  })

  test('whose reply was lost gives the receipt that is found by its hash, and is not sent again', async () => {
    const raw = await sign()
    const { receipt, methods } = await sendSyncThrough(raw, [cutAfter(anvil.url), forward(anvil.url)])
    expect(receipt).toMatchObject({ transactionHash: keccak256(raw), status: 1 })
    expect(methods).toEqual(['sendRawTransactionSync', 'getTransactionByHash', 'getTransactionReceipt'])
  })

  test('that the pool has, but no block, waits for its receipt', async () => {
    const raw = await sign()
    const { receipt, methods } = await sendSyncThrough(raw, [cutAfter(anvil.url), pending, pending, known, pending, pending, forward(anvil.url)])
    expect(receipt).toMatchObject({ transactionHash: keccak256(raw), status: 1 })
    expect(methods).toEqual([
      ...['sendRawTransactionSync', 'getTransactionByHash', 'getTransactionReceipt'],
      ...['sendRawTransactionSync', 'getTransactionByHash', 'getTransactionReceipt', 'getTransactionByHash', 'getTransactionReceipt'],
    ])
  })

  test('that is in no block by its deadline has its hash in the error', async () => {
    const raw = await sign()
    const { error } = await sendSyncThrough(raw, [cutAfter(anvil.url), pending, pending, known, pending], { deadlineMs: 200 })
    expect(error).toMatchObject({ transactionHash: keccak256(raw) })
  })

  test('that the node gives up waiting for has its hash in the error, or gives the receipt if it comes', async () => {
    const late = refuse(4, "The transaction was added to the mempool but wasn't processed within the designated timeout interval.")
    const thenLate: Answer = async (request, response) => {
      await fetch(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request.entries[0]) })
      await late(request, response)
    }
    const given = await sign()
    const { error } = await sendSyncThrough(given, [thenLate, pending, pending, known, pending], { deadlineMs: 200 })
    expect(error).toMatchObject({ kind: 'timeout', code: 4, transactionHash: keccak256(given) })
    const raw = await sign()
    const { receipt, methods } = await sendSyncThrough(raw, [thenLate, forward(anvil.url)])
    expect(receipt).toMatchObject({ transactionHash: keccak256(raw), status: 1 })
    expect(methods).toEqual(['sendRawTransactionSync', 'getTransactionByHash', 'getTransactionReceipt'])
  })

  test('that a node refuses at once is refused', async () => {
    const { error, methods } = await sendSyncThrough(await sign({ nonce: 5 }), [refuse(-32000, 'nonce too low: next nonce 6, tx nonce 5')])
    expect(error).toMatchObject({ kind: 'execution' })
    expect(error?.transactionHash).toBeUndefined()
    expect(methods).toEqual(['sendRawTransactionSync'])
  })
})

test('transactionHash is the chain’s own, for every type that is sent unchanged', async () => {
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
