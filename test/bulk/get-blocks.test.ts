import { setImmediate as turn } from 'node:timers/promises'
import { createClient, type HexlineError, replyOf } from 'hexline'
import { getBlocks, type Progress } from 'hexline/bulk'
import { afterEach, describe, expect, it } from 'vitest'
import { blockHash, blockOf, type ChainOptions, type ChainServer, chainAnswer, hexOf, startChain, withLongFields } from '../support/chain-server.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, always, cut } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

/** For tests that wait; all others use real sockets. */
const { clock, serve, clientOf, deadPort, sleep } = virtualWorld()

const cleanUp: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end()
})

async function setUp(chain: ChainOptions, options: Parameters<typeof createClient>[1] = {}) {
  const server: ChainServer = await startChain(chain)
  const client = createClient(server.url, { retry: { baseDelayMs: 1, maxDelayMs: 5 }, ...options })
  cleanUp.push(server.close, client.close)
  return { server, client }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

/** The items before the failure, and the failure. */
async function untilFailure<T>(items: AsyncIterable<T>): Promise<{ came: T[]; failure: HexlineError }> {
  const came: T[] = []
  try {
    for await (const item of items) came.push(item)
  } catch (failure) {
    return { came, failure: failure as HexlineError }
  }
  throw new Error('it did not fail')
}

describe('the range', () => {
  it('is complete and in order, with both ends', async () => {
    const { client } = await setUp({ head: 2500 })
    const blocks = await all(getBlocks(client, { from: 3n, to: 2203n }))
    expect(blocks.map(({ number }) => number)).toEqual(Array.from({ length: 2201 }, (_, i) => BigInt(i + 3)))
  })

  it('may end at a tag, which is resolved once', async () => {
    const { client, server } = await setUp({ head: 300 })
    const blocks = await all(getBlocks(client, { from: '0x0', to: 'finalized' }))
    expect(blocks.at(-1)?.number).toBe(296n)
    expect(server.calls.filter(({ params }) => params[0] === 'finalized')).toHaveLength(1)
  })

  it('may be one block', async () => {
    const { client } = await setUp({ head: 9 })
    expect((await all(getBlocks(client, { from: 9, to: 9 }))).map(({ number }) => number)).toEqual([9n])
  })

  it('is in order even if the replies are not', async () => {
    let hold: (() => void)[] = []
    const { client } = await setUp(
      {
        head: 500,
        // Every second POST is answered after the one that follows it.
        gate: async () => {
          if (hold.length > 0) for (const release of hold.splice(0)) release()
          else
            await Promise.race([
              new Promise<void>((resolve) => hold.push(resolve)),
              turn()
                .then(turn)
                .then(() => new Promise((resolve) => setTimeout(resolve, 50))),
            ])
        },
      },
      { batch: { maxCalls: 7 } },
    )
    const blocks = await all(getBlocks(client, { from: 0, to: 500 }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 501 }, (_, i) => i))
    hold = []
  })
})

describe('a block', () => {
  it('has the hashes of its transactions, or the transactions, decoded', async () => {
    const { client } = await setUp({ head: 5, transactions: () => 2 })
    const [light] = await all(getBlocks(client, { from: 5, to: 5 }))
    expect(light?.transactions).toEqual(blockOf(5, false, { transactions: () => 2 }).transactions)
    const [full] = await all(getBlocks(client, { from: 5, to: 5, transactions: 'full' }))
    expect(full?.transactions[1]).toMatchObject({ value: 5001n, nonce: 1, transactionIndex: 1, blockNumber: 5n })
    expect(full?.timestamp).toBe(1_700_000_005n)
  })

  it('has its receipts if they are requested', async () => {
    const { client } = await setUp({ head: 50, transactions: (number) => number % 4 })
    const blocks = await all(getBlocks(client, { from: 0, to: 50, receipts: true }))
    for (const block of blocks) {
      expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
      for (const receipt of block.receipts) expect(receipt).toMatchObject({ blockNumber: block.number, status: 1, gasUsed: 21000n })
    }
  })

  it('has them from a node without eth_getBlockReceipts, even if its blocks have unusual fields', async () => {
    const indented = (method: string, params: readonly unknown[]) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...blockOf(Number(params[0]), params[1] === true, { transactions: () => 2 }), said: 'a "quoted" word' } }
        : undefined
    const { client } = await setUp({
      head: 20,
      transactions: () => 2,
      answer: ({ method, params }) =>
        method === 'eth_getBlockReceipts'
          ? { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist/is not available' } }
          : indented(method, params),
    })
    const blocks = await all(getBlocks(client, { from: 0, to: 20, receipts: true }))
    expect(blocks).toHaveLength(21)
    for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
  })

  it.each([true, false])('has them from a node that adds a long field after each result, with eth_getBlockReceipts: %s', async (hasReceipts) => {
    const { client } = await setUp({
      head: 30,
      transactions: (number) => number % 9,
      body: withLongFields,
      answer: ({ method }) => (method === 'eth_getBlockReceipts' && !hasReceipts ? { error: { code: -32601, message: 'method not found' } } : undefined),
    })
    const blocks = await all(getBlocks(client, { from: 0, to: 30, receipts: true, transactions: 'full' }))
    expect(blocks).toHaveLength(31)
    for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions.map(({ hash }) => hash))
    expect(blocks[0]).not.toHaveProperty('meta')
    const reply = await client.send({ method: 'eth_getBlockByNumber', params: ['0x8', false], as: 'bytes' })
    expect(JSON.parse(String(reply.take()))).toEqual(blockOf(8, false, { transactions: (number) => number % 9 }))
  })

  it('with invalid bytes is requested again, also if receipts are requested one by one', async () => {
    let broken = 0
    const { client } = await setUp({
      head: 8,
      transactions: () => 2,
      body: (json) => {
        if (!json.includes('parentHash') || broken === 3) return json
        broken++
        return json.replace(/"uncles":\[\]|"timestamp"/, '"uncles":[{"a":1},"b":[],$&')
      },
      answer: ({ method }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'method not found' } } : undefined),
    })
    const blocks = await all(getBlocks(client, { from: 0, to: 8, receipts: true }))
    expect(broken).toBe(3)
    for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
  })

  it('has them from a node without eth_getBlockReceipts, which is tried once', async () => {
    const { client, server } = await setUp({
      head: 400,
      transactions: (number) => number % 3,
      answer: ({ method }) =>
        method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist/is not available' } } : undefined,
    })
    const blocks = await all(getBlocks(client, { from: 0, to: 400, receipts: true }))
    expect(blocks).toHaveLength(401)
    for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
    expect(server.calls.filter(({ method }) => method === 'eth_getBlockReceipts').length).toBeLessThanOrEqual(32)
  })
})

describe('receipts where one node lacks eth_getBlockReceipts', () => {
  const lacking = chainAnswer({
    head: 60,
    transactions: (number) => number % 3,
    answer: ({ method }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'method not found' } } : undefined),
  })
  const whole = chainAnswer({ head: 60, transactions: (number) => number % 3 })

  it.each<[string, Answer | undefined]>([
    ['does not take the key', always('', { status: 401 })],
    ['has used up its quota', always('', { status: 402 })],
    ['throttles everything', always('', { status: 429, headers: { 'retry-after': '1' } })],
    ['does not run', undefined],
    ['cuts every connection', cut],
  ])('and the other one %s come one by one', async (_, answer) => {
    for (const isFirst of [true, false]) {
      const other = answer === undefined ? `http://127.0.0.1:${await deadPort()}` : (await serve(answer)).url
      const { url } = await serve(lacking)
      const client = clientOf(isFirst ? [other, url] : [url, other], { deadlineMs: 6000 })
      const blocks = await all(getBlocks(client, { from: 0, to: 20, receipts: true }))
      for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
      expect(blocks).toHaveLength(21)
    }
  })

  it('and the other one throttles now and then stay with it', async () => {
    let asked = 0
    const [other, one] = [
      await serve((...exchange) => (++asked % 4 === 3 ? always('', { status: 429, headers: { 'retry-after': '0.05' } }) : whole)(...exchange)),
      await serve(lacking),
    ]
    const blocks = await all(getBlocks(clientOf([other.url, one.url]), { from: 0, to: 60, receipts: true }))
    for (const block of blocks) expect(block.receipts.map(({ transactionHash }) => transactionHash)).toEqual(block.transactions)
    const methods = [other, one].flatMap(({ requests }) => requests.flatMap(({ entries }) => entries.map(({ method }) => method)))
    expect(methods.filter((method) => method === 'eth_getTransactionReceipt')).toEqual([])
  })
})

describe('a lagging node', () => {
  it('is asked again for a block that is null', async () => {
    const nulls = new Map<number, number>()
    const { client } = await setUp({
      head: 300,
      answer: ({ method, params }) => {
        const number = Number(params[0])
        if (method !== 'eth_getBlockByNumber' || number % 50 !== 7) return undefined
        const before = nulls.get(number) ?? 0
        nulls.set(number, before + 1)
        return before < 6 ? { result: null } : undefined
      },
    })
    expect(await all(getBlocks(client, { from: 0, to: 300 }))).toHaveLength(301)
    expect([...nulls.values()]).toEqual([7, 7, 7, 7, 7, 7])
  })

  it('ends the iteration with an error, after the earlier blocks, if it never has the block', async () => {
    const never = ({ method, params }: { method: string; params: readonly unknown[] }) =>
      method === 'eth_getBlockByNumber' && params[0] === '0x64' ? { result: null } : undefined
    const { url } = await serve(chainAnswer({ head: 300, answer: never }))
    const client = clientOf(url, { deadlineMs: 1000 })
    const { came, failure } = await untilFailure(getBlocks(client, { from: 0, to: 300 }))
    expect(came).toHaveLength(100)
    expect(failure.kind).toBe('lagging')
    expect(failure.message).toContain('eth_getBlockByNumber 0x64')
    expect(failure.attempts).toBeGreaterThan(4)
  })
})

describe('a slow node', () => {
  it('yields the whole range, although it takes longer than the deadline of a call', async () => {
    // With calls always under way, some are in flight when their deadline passes, and others still
    // wait in line.
    const { url } = await serve(chainAnswer({ head: 300, gate: () => sleep(100) }))
    const client = clientOf(url, { rate: { callsPerSecond: 100 }, deadlineMs: 1000 })
    const blocks = await all(getBlocks(client, { from: 1, to: 250 }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 250 }, (_, i) => i + 1))
  })

  it('that fails a POST now and then yields it, too', async () => {
    const answer = chainAnswer({ head: 300, gate: () => sleep(100) })
    let posts = 0
    const { url } = await serve((request, response) => (++posts % 10 === 0 ? always('<html>', { status: 502 })(request, response) : answer(request, response)))
    const client = clientOf(url, { rate: { callsPerSecond: 100 }, deadlineMs: 1000 })
    const blocks = await all(getBlocks(client, { from: 1, to: 250 }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 250 }, (_, i) => i + 1))
  })

  it('that throttles yields it, too', async () => {
    let tokens = 20
    let filledAt = clock.now()
    const turnedAway = new Set<number>()
    const { url } = await serve(
      chainAnswer({
        head: 300,
        gate: (calls) => {
          tokens = Math.min(20, tokens + (clock.now() - filledAt) / 50)
          filledAt = clock.now()
          for (const { id } of calls) if (--tokens < 0) turnedAway.add(id)
          tokens = Math.max(0, tokens)
        },
        answer: ({ id }) => (turnedAway.has(id) ? { error: { code: -32005, message: 'rate limit exceeded' } } : undefined),
      }),
    )
    const blocks = await all(getBlocks(clientOf(url, { deadlineMs: 1000 }), { from: 1, to: 250 }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 250 }, (_, i) => i + 1))
  })

  it('that answers only the start of each batch gets smaller ones', async () => {
    const turnedAway = new Set<number>()
    const { client, server } = await setUp(
      {
        head: 500,
        gate: (calls) => {
          for (const { id } of calls.slice(10)) turnedAway.add(id)
        },
        answer: ({ id }) => (turnedAway.has(id) ? { error: { code: -32005, message: 'rate limit' } } : undefined),
      },
      { concurrency: 1 },
    )
    const blocks = await all(getBlocks(client, { from: 1, to: 400 }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 400 }, (_, i) => i + 1))
    expect(server.posts[1]).toBeGreaterThan(10)
    // The end of the first batch, and one call whenever a longer batch is tried: about 25. With
    // batches that stay long there are thousands.
    expect(turnedAway.size).toBeLessThan(200)
  })
})

describe('contradictory replies', () => {
  const wrong = (number: number, change: Record<string, unknown>): ChainOptions => ({
    head: 100,
    answer: ({ method, params }, right) =>
      method === 'eth_getBlockByNumber' && params[0] === hexOf(number) ? { result: { ...(right as object), ...change } } : undefined,
  })

  it.each([
    ['another parent', { parentHash: blockHash(7) }, `block 42 names ${blockHash(7)} as its parent, but block 41 came as ${blockHash(41)}`],
    ['another number', { number: '0x2b' }, 'requested block 42, but received block 43'],
    ['no hash', { hash: null }, 'block 42 has no hash'],
  ])('%s ends the iteration', async (_, change, message) => {
    const { client } = await setUp(wrong(42, change))
    const { came, failure } = await untilFailure(getBlocks(client, { from: 0, to: 100 }))
    expect(came).toHaveLength(42)
    expect(failure).toMatchObject({ name: 'IntegrityError', kind: 'integrity' })
    expect(failure.message).toContain(message)
  })

  it.each([
    ['fewer receipts than transactions', (receipts: object[]) => receipts.slice(1), 'block 42 has 2 transactions, but 1 receipts'],
    [
      'receipts of another block',
      (receipts: object[]) => receipts.map((each) => ({ ...each, blockHash: blockHash(1) })),
      `block 42: receipt 0 is of block ${blockHash(1)}`,
    ],
    ['receipts in another order', (receipts: object[]) => [...receipts].reverse(), 'block 42: receipt 0 is not of transaction 0'],
  ])('%s end the iteration, if they come by the hash of the block, too', async (_, change, message) => {
    const { client, server } = await setUp({
      head: 100,
      transactions: () => 2,
      answer: ({ method, params }, right) =>
        method === 'eth_getBlockReceipts' && [hexOf(42), blockHash(42)].includes(params[0] as string) ? { result: change(right as object[]) } : undefined,
    })
    const { came, failure } = await untilFailure(getBlocks(client, { from: 0, to: 100, receipts: true }))
    expect(came).toHaveLength(42)
    expect(failure.message).toContain(message)
    // Three for each of six replies.
    expect(server.calls.filter(({ params }) => params[0] === blockHash(42))).toHaveLength(18)
  })

  it('a field that cannot be decoded is named with its path', async () => {
    const { client } = await setUp(wrong(42, { gasUsed: '0x' }))
    const { came, failure } = await untilFailure(getBlocks(client, { from: 0, to: 100 }))
    expect(came).toHaveLength(42)
    expect(failure.message).toBe('blocks[42].gasUsed: expected a hex quantity, received "0x"')
  })
})

describe('back-pressure', () => {
  it.each([
    ['1 kB', 400, 8, 1000],
    ['100 kB', 50_000, 8, 20],
    ['1 MB', 500_000, 8, 2],
    ['1 kB, at a huge concurrency,', 400, 500, 1000],
    ['1 MB, at a huge concurrency,', 500_000, 500, 2],
  ])('of blocks of %s, requests no more than the limit on bytes allows, however slow the reader is', async (_, inputBytes, concurrency, most) => {
    const { client, server } = await setUp({ head: 10_000, inputBytes }, { concurrency })
    const blocks = getBlocks(client, { from: 0, to: 10_000, transactions: 'full', maxBytes: 2_100_000 })
    const asked = () => server.calls.filter(({ method }) => method === 'eth_getBlockByNumber').length
    for (let read = 1; read <= 40; read++) {
      await blocks.next()
      await turn()
      expect(asked() - read).toBeLessThanOrEqual(most)
    }
    await blocks.return()
  })

  it('requests several hundred small blocks ahead', async () => {
    const { client, server } = await setUp({ head: 10_000 })
    const blocks = getBlocks(client, { from: 0, to: 10_000 })
    for (let read = 0; read < 200; read++) await blocks.next()
    // The reader stops here. The blocks requested ahead arrive: at least 256, and the head before
    // them.
    await eventually(() => expect(server.calls.length).toBeGreaterThan(450))
    await client.call('eth_chainId').catch(() => {})
    expect(server.calls.length - 1).toBeLessThanOrEqual(1201)
    await blocks.return()
  })

  it('requests more from a slow node, at most a thousand', async () => {
    const { client, server } = await setUp({ head: 20_000, gate: () => new Promise((resolve) => setTimeout(resolve, 100)) })
    let mostAhead = 0
    for await (const block of getBlocks(client, { from: 0, to: 20_000 })) {
      mostAhead = Math.max(mostAhead, server.calls.length - Number(block.number))
      if (mostAhead > 900) break
    }
    expect(mostAhead).toBeGreaterThan(500)
    expect(mostAhead).toBeLessThanOrEqual(1001)
  })

  it('requests one block at a time if each exceeds the limit', async () => {
    const { client, server } = await setUp({ head: 20, inputBytes: 5000 })
    expect(await all(getBlocks(client, { from: 0, to: 20, transactions: 'full', maxBytes: 1000 }))).toHaveLength(21)
    expect(Math.max(...server.posts)).toBe(1)
  })
})

describe('ending early', () => {
  it('leaves no call behind when the consumer stops', async () => {
    const { client, server } = await setUp({ head: 10_000 })
    for await (const block of getBlocks(client, { from: 0, to: 10_000 })) if (block.number === 10n) break
    const asked = server.calls.length
    await client.call('eth_blockNumber')
    // Only calls in flight when the reader stopped, and the later one.
    expect(server.calls.length).toBeLessThanOrEqual(asked + 1)
  })

  it('an abort ends it with the reason of the signal', async () => {
    const { client } = await setUp({ head: 10_000 })
    const stop = new AbortController()
    const reason = new Error('enough')
    const { came, failure } = await untilFailure(
      (async function* () {
        for await (const block of getBlocks(client, { from: 0, to: 10_000, signal: stop.signal })) {
          yield block
          if (block.number === 5n) stop.abort(reason)
        }
      })(),
    )
    expect(failure).toBe(reason)
    expect(came).toHaveLength(6)
  })

  it('an abort ends it also while the node does not answer', async () => {
    const { client } = await setUp({ head: 100, gate: (calls) => (calls[0]?.method === 'eth_getBlockByNumber' ? new Promise(() => {}) : undefined) })
    const { failure } = await untilFailure(getBlocks(client, { from: 0, to: 100, signal: AbortSignal.timeout(50) }))
    expect(failure.name).toBe('TimeoutError')
  })

  it('a client that is closed ends it with ClosedError', async () => {
    const { client } = await setUp({ head: 10_000 })
    const { failure } = await untilFailure(
      (async function* () {
        for await (const block of getBlocks(client, { from: 0, to: 10_000 })) {
          yield block
          if (block.number === 5n) await client.close()
        }
      })(),
    )
    expect(failure.kind).toBe('closed')
  })
})

it('reports its progress after each block', async () => {
  const { client } = await setUp({ head: 40 })
  const told: Progress[] = []
  await all(getBlocks(client, { from: 10, to: 40, onProgress: (progress) => told.push(progress) }))
  expect(told.map(({ done, total, number }) => [done, total, number])).toEqual(Array.from({ length: 31 }, (_, i) => [i + 1, 31, BigInt(i + 10)]))
  expect(told.at(-1)?.bytes).toBeGreaterThan(31 * 200)
})

describe('invalid options', () => {
  it.each([
    [{ from: 5, to: 4 }, 'to: expected at least the first block, 5, received 4'],
    [{ from: -1, to: 4 }, 'from: expected a block number (a whole number that is not negative), received -1'],
    [{ from: 1.5, to: 4 }, 'from: expected a block number (a whole number that is not negative), received 1.5'],
    [
      { from: 0, to: 'pending' },
      'to: expected a block number (a whole number that is not negative), or one of latest, safe, finalized, earliest, received "pending"',
    ],
    [{ from: 0, to: 1, transactions: true }, "transactions: expected 'full' or 'hashes', received true"],
    [{ from: 0, to: 1, receipts: 'yes' }, 'receipts: expected true or false, received "yes"'],
    [{ from: 0, to: 1, maxBytes: 0 }, 'maxBytes: expected a number of bytes above 0, received 0'],
    [{ from: 0, to: 1, signal: {} }, 'signal: expected an AbortSignal, received an object'],
    [{ from: 0, to: 1, fields: 'hash' }, "fields: expected an array of paths such as 'gasUsed', 'transactions.hash' or 'receipts.status', received \"hash\""],
    [{ from: 0, to: 1, fields: [] }, 'fields: expected an array of paths'],
    [
      { from: 0, to: 1, fields: ['gasUsd'] },
      'fields: expected known field names (did you mean `gasUsed`?); omit the option to get all that the node sends, received "gasUsd"',
    ],
    [{ from: 0, to: 1, fields: ['senders'] }, 'fields: expected known field names; omit the option to get all that the node sends, received "senders"'],
    [{ from: 0, to: 1, transactions: 'full', fields: ['transactions.hahs'] }, 'fields: expected known field names (did you mean `transactions.hash`?);'],
    [{ from: 0, to: 1, receipts: true, fields: ['receipts.stauts'] }, 'fields: expected known field names (did you mean `receipts.status`?);'],
    [{ from: 0, to: 1, transactions: 'full', fields: ['transactions.hsah'] }, 'received "transactions.hsah"'],
    [{ from: 0, to: 1, receipts: true, fields: ['receipts.hash'] }, 'received "receipts.hash"'],
    [{ from: 0, to: 1, fields: ['receipts.status'] }, 'fields: expected receipts: true with fields of receipts, received "receipts.status" without it'],
    [
      { from: 0, to: 1, fields: ['transactions.hash'] },
      'fields: expected transactions: \'full\' with fields of transactions, received "transactions.hash" without it',
    ],
    [
      { from: 0, to: 1, limit: 5 },
      'options: expected only from, to, transactions, receipts, traces, fields, verify, senders, signal, maxBytes, onProgress, received "limit"',
    ],
  ])('%o is refused at once', async (options, message) => {
    const { client, server } = await setUp({ head: 10 })
    expect(() => getBlocks(client, options as never)).toThrow(message)
    expect(server.calls).toHaveLength(0)
  })

  it('an end just beyond the head is asked for first: another node of one URL may have it', async () => {
    const { client } = await setUp({ head: 10 })
    await expect(getBlocks(client, { from: 0, to: 11 }).next()).rejects.toThrow("to: expected at most the node's latest block, 10, received 11")
  })

  it('an end far beyond the head is refused before a block is requested', async () => {
    const { client, server } = await setUp({ head: 10 })
    await expect(getBlocks(client, { from: 0, to: 100 }).next()).rejects.toThrow("to: expected at most the node's latest block, 10, received 100")
    expect(server.calls.map(({ method }) => method)).toEqual(['eth_blockNumber'])
  })
})

describe('selected fields', () => {
  it('come with those that link a block, and no others', async () => {
    const { client } = await setUp({ head: 5, transactions: () => 2 })
    const [block] = await all(getBlocks(client, { from: 3, to: 3, transactions: 'full', fields: ['timestamp', 'transactions.nonce', 'transactions.value'] }))
    expect(Object.keys(block ?? {}).sort()).toEqual(['hash', 'number', 'parentHash', 'timestamp', 'transactions'])
    expect(block?.transactions.map((each) => Object.keys(each).sort())).toEqual([
      ['nonce', 'value'],
      ['nonce', 'value'],
    ])
    const [whole] = await all(getBlocks(client, { from: 3, to: 3, transactions: 'full' }))
    expect(block?.transactions[1]?.value).toBe(whole?.transactions[1]?.value)
    expect(block?.timestamp).toBe(whole?.timestamp)
  })

  it('may belong to receipts, too', async () => {
    const { client } = await setUp({ head: 5, transactions: () => 2 })
    const [block] = await all(getBlocks(client, { from: 3, to: 3, receipts: true, fields: ['receipts.gasUsed', 'receipts.status'] }))
    expect(Object.keys(block ?? {}).sort()).toEqual(['hash', 'number', 'parentHash', 'receipts', 'transactions'])
    expect(block?.receipts.map((each) => Object.keys(each).sort())).toEqual([
      ['blockHash', 'gasUsed', 'status', 'transactionHash'],
      ['blockHash', 'gasUsed', 'status', 'transactionHash'],
    ])
    const [bare] = await all(getBlocks(client, { from: 3, to: 3, receipts: true, transactions: 'full', fields: ['transactions', 'receipts'] }))
    const [whole] = await all(getBlocks(client, { from: 3, to: 3, receipts: true, transactions: 'full' }))
    expect(bare?.transactions).toEqual(whole?.transactions)
    expect(bare?.receipts).toEqual(whole?.receipts)
  })

  it('are checked as all fields are', async () => {
    const { client } = await setUp({
      head: 5,
      answer: (_, right) => (right && typeof right === 'object' ? { result: { ...right, parentHash: '0x0' } } : undefined),
    })
    const { failure } = await untilFailure(getBlocks(client, { from: 1, to: 3, fields: ['timestamp'] }))
    expect(failure.message).toContain('names 0x0 as its parent')
  })
})

describe('a block that is invalid JSON', () => {
  const broken = (times: number) => {
    let left = times
    return { head: 9, body: (json: string) => (json.includes(`"number":"0x5"`) && left-- > 0 ? json.replace('"number":"0x5"', '"number":0x5') : json) }
  }

  it('is requested again', async () => {
    const { client, server } = await setUp(broken(2))
    const blocks = await all(getBlocks(client, { from: 4, to: 6 }))
    expect(blocks.map(({ number }) => number)).toEqual([4n, 5n, 6n])
    expect(server.calls.filter(({ params }) => params[0] === '0x5')).toHaveLength(3)
  })

  it('is finally reported as invalid', async () => {
    const { client, server } = await setUp(broken(1000))
    const { came, failure } = await untilFailure(getBlocks(client, { from: 4, to: 6 }))
    expect(came).toHaveLength(1)
    expect(failure).toMatchObject({ name: 'MalformedReplyError', message: 'block 5: received invalid JSON 6 times' })
    expect(server.calls.filter(({ params }) => params[0] === '0x5')).toHaveLength(6)
  })
})

describe('a node that never answers a POST', () => {
  it('delays the iteration only briefly: the blocks are requested again', async () => {
    let left = 0
    const server = await serve(
      chainAnswer({
        head: 2000,
        // Blocks 250, 750 and 1250, the first time.
        gate: (calls) => (calls.some(({ params }) => Number(params[0]) % 500 === 250) && ++left <= 3 ? new Promise<void>(() => {}) : undefined),
      }),
    )
    const client = clientOf(server.url, { timeoutMs: 600_000, deadlineMs: Number.POSITIVE_INFINITY })
    const blocks = await all(getBlocks(client, { from: 0n, to: 1999n }))
    expect(blocks).toHaveLength(2000)
    const asked = server.requests.flatMap(({ entries }) => entries).filter(({ method }) => method === 'eth_getBlockByNumber').length
    expect(left).toBeGreaterThanOrEqual(3)
    expect(asked).toBeLessThan(2000 + 3 * 200)
  })
})

it('takes values from a function that is the node, in place of bytes', async () => {
  const blocks: Record<string, object> = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [hexOf(i), blockOf(i, false)]))
  const client = createClient(async (calls) => calls.map(({ params: [tag] }) => replyOf(tag === undefined ? '0x5' : blocks[tag as string], 1)))
  cleanUp.push(client.close)
  expect((await all(getBlocks(client, { from: 0, to: 5 }))).map(({ number }) => number)).toEqual([0n, 1n, 2n, 3n, 4n, 5n])
})
