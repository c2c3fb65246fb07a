import { describe, expect, it, onTestFinished } from 'vitest'
import { type ClientOptions, createClient, OptionError } from '../../src/index.ts'
import { type GetLogsOptions, getBlocks, getLogs } from '../../src/index-bulk.ts'
import { type LogChain, type LogChainOptions, startLogChain, TRANSFER, tokens, type WireLog } from '../support/log-chain.ts'

const filter = { address: tokens.slice(0, 4) as `0x${string}`[], topics: [TRANSFER] as `0x${string}`[] }

function clientFor(urls: string | readonly string[], options: ClientOptions = {}) {
  const client = createClient(urls as string, { deadlineMs: 60_000, ...options })
  onTestFinished(() => client.close())
  return client
}

/** What identifies a log, for comparison. */
const keyOf = (log: WireLog) => `${Number(log.blockNumber)}/${Number(log.logIndex)}/${log.data}`
const decodedKey = (log: { blockNumber: bigint; logIndex: number; data: string }) => `${log.blockNumber}/${log.logIndex}/${log.data}`

async function fetched(chain: LogChain | readonly LogChain[], options: Partial<GetLogsOptions> = {}, clientOptions: ClientOptions = {}) {
  const urls = [chain].flat().map(({ url }) => url)
  const logs = getLogs(clientFor(urls, clientOptions), { ...filter, from: 0n, to: 'latest', ...options } as GetLogsOptions)
  const keys: string[] = []
  for await (const log of logs) keys.push(decodedKey(log))
  return { keys, audit: logs.audit }
}

const rightKeys = (chain: LogChain, from: number, to: number) => chain.logs(from, to, filter).map(keyOf)

describe('logs of a range', () => {
  it('are those of the node, in order', async () => {
    const chain = await startLogChain({ head: 3000 })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 3000))
    expect(keys.length).toBeGreaterThan(4000)
  })

  it('are asked for once, not in parts, of a node that no longer leaves any out', async () => {
    let most = 1000
    const chain: LogChain = await startLogChain({
      head: 100_000,
      logs: (block) => (block % 7 === 0 ? 0 : 1),
      answer: (method, [each]) => {
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = each as { fromBlock: string; toBlock: string }
        return { result: chain.logs(Number(fromBlock), Number(toBlock)).slice(0, most) }
      },
    })
    const client = clientFor(chain.url)
    const read = async (from: number, to: number) => {
      const keys: string[] = []
      for await (const log of getLogs(client, { address: tokens as `0x${string}`[], from, to, audit: 'none' })) keys.push(decodedKey(log))
      expect(keys).toEqual(chain.logs(from, to).map(keyOf))
    }
    await read(0, 5_000)
    most = Number.POSITIVE_INFINITY
    const before = chain.calls.eth_getLogs as number
    await read(5_000, 100_000)
    expect((chain.calls.eth_getLogs as number) - before).toBeLessThan(100)
  })

  it('come in pages that tile the range, also where there are none', async () => {
    const chain = await startLogChain({ head: 50_000, logs: (block) => (block % 20_000 === 7 ? 5 : 0) })
    const pages = []
    for await (const page of getLogs(clientFor(chain.url), { ...filter, from: 100n, to: 'latest', audit: 'none' }).pages()) pages.push(page)
    expect(pages[0]?.from).toBe(100n)
    expect(pages.at(-1)?.to).toBe(50_000n)
    for (const [i, page] of pages.entries()) if (i > 0) expect(page.from).toBe((pages[i - 1]?.to ?? 0n) + 1n)
    expect(pages.flatMap(({ logs }) => logs).map(decodedKey)).toEqual(rightKeys(chain, 100, 50_000))
  })

  it.each([
    ['a limit on blocks', 2000, () => ({ message: 'query exceeds max block range 2000' })],
    ['a limit that does not count the last block', 1000, () => ({ message: 'query exceeds max block range 1001' })],
    ['a suggestion', 500, (from: number) => ({ message: `this block range should work: [0x${from.toString(16)}, 0x${(from + 499).toString(16)}]` })],
    ['a suggestion that fails, too', 100, (from: number) => ({ message: `retry with the range ${from}-${from + 2999}` })],
    ['a refusal without a number', 300, () => ({ code: -32005, message: 'block range is too wide' })],
    ['a tiny limit', 10, () => ({ code: -32600, message: 'You can make eth_getLogs requests with up to a 10 block range.' })],
  ])('follow %s', async (_, most, says) => {
    const chain = await startLogChain({ head: 5000, range: { most, says } })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 5000))
    const refused = chain.ranges.filter(([from, to]) => to - from + 1 > most).length
    expect(refused).toBeLessThan(60)
  })

  it('are complete where a node leaves out what exceeds a number of results', async () => {
    const chain = await startLogChain({ head: 6000, cap: 1000 })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 6000))
  })

  it('of one block that exceed the number of results come from its receipts', async () => {
    const chain = await startLogChain({ head: 40, cap: 1000, logs: (block) => (block === 20 ? 5000 : 3) })
    const { keys } = await fetched(chain, { audit: 'none' })
    expect(keys).toEqual(rightKeys(chain, 0, 40))
  })
})

describe('the logs of one block that are too large for a reply', () => {
  const start = (answer?: LogChainOptions['answer']) => startLogChain({ head: 20, logs: (block) => (block === 9 ? 301 : 3), ...(answer && { answer }) })
  // The hashes of the block's transactions fit, but neither its logs nor its receipts.
  const options = { maxResponseBytes: 60_000 }

  it('come from the receipts of its transactions, one by one', async () => {
    const chain = await start()
    const { keys } = await fetched(chain, { audit: 'none' }, options)
    expect(keys).toEqual(rightKeys(chain, 0, 20))
    expect(chain.calls.eth_getTransactionReceipt).toBeGreaterThanOrEqual(301)
  })

  it('are named with the block and the sizes where these cannot be had', async () => {
    const missing = { error: { code: -32601, message: 'the method eth_getTransactionReceipt does not exist' } }
    const chain = await start((method) => (method === 'eth_getTransactionReceipt' ? missing : undefined))
    await expect(fetched(chain, { audit: 'none' }, options)).rejects.toThrow(
      /^block 9 has more logs than the node sends in one reply, and its receipts cannot be used \(.*does not exist.*\): .*60,?000/,
    )
  })
})

it('logs of a block that the node refuses, and leaves out of its receipts, fail the job', async () => {
  const refusal = { error: { code: -32005, message: 'query returned more than 100 results' } }
  const isOf = (block: number, params: readonly unknown[]) => {
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    return Number(fromBlock) <= block && Number(toBlock) >= block
  }
  const chain = await startLogChain({
    head: 20,
    logs: (block) => (block === 9 ? 250 : 3),
    receiptLogs: (log) => (Number(log.blockNumber) === 9 ? [] : [log]),
    answer: (method, params) => (method === 'eth_getLogs' && isOf(9, params) ? refusal : undefined),
  })
  await expect(fetched(chain, { audit: 'none' })).rejects.toThrow(
    /^block 9 .* \(they match neither the header's receipts root nor its bloom\): .*more than 100 results/,
  )
})

describe('an audit', () => {
  const everyTenth = (log: WireLog) => Number(log.data.slice(0, 66)) % 10 === 0

  it('by blooms finds each block that was left out as a whole', async () => {
    const chain = await startLogChain({ head: 3000, drops: (log) => Number(log.blockNumber) % 100 === 0 })
    const { keys, audit } = await fetched(chain, { audit: 'bloom' })
    expect(keys).toEqual(rightKeys(chain, 0, 3000))
    expect(audit).toMatchObject({ level: 'bloom', blocks: 3001, unproven: 0 })
    expect(audit.recovered).toBeGreaterThan(20)
  })

  it.each(['bloom', 'receipts'] as const)('by %s does not prove a block without transactions whose receipts root says that it has some', async (audit) => {
    const allOnes = `0x${'ff'.repeat(256)}`
    const chain = await startLogChain({
      head: 20,
      logs: (block) => (block % 5 === 0 ? 0 : 3),
      bloom: (block, right) => (block % 5 === 0 ? allOnes : right),
      root: (block, right) => (block % 10 === 0 ? `0x${'12'.repeat(32)}` : right),
    })
    const { audit: report } = await fetched(chain, { audit })
    expect(report).toMatchObject({ unproven: 3, reasons: { "the receipts do not have the header's receipts root": 3 } })
  })

  it('by receipts finds each log that was left out', async () => {
    const chain = await startLogChain({ head: 1000, drops: everyTenth })
    const { keys, audit } = await fetched(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain, 0, 1000))
    expect(audit).toMatchObject({ level: 'receipts', blocks: 1001, fetched: 1001, unproven: 0 })
    expect(audit.recovered).toBe(chain.logs(0, 1000, filter).filter(everyTenth).length)
  })

  describe('enviodev/hyperindex#1498: a block with the right hash, without one of its logs', () => {
    /**
     * The node leaves out one log of block 42, and gives the others, with the right hash of the
     * block.
     */
    const missing = (log: WireLog) => Number(log.blockNumber) === 42 && log.logIndex === '0x2'
    const all = { address: tokens as `0x${string}`[], topics: [] }
    const start = () => startLogChain({ head: 100, drops: missing })

    it('is found by receipts, and reported', async () => {
      const chain = await start()
      const { keys, audit } = await fetched(chain, { ...all, audit: 'receipts' })
      expect(keys).toEqual(chain.logs(0, 100).map(keyOf))
      expect(audit).toMatchObject({ level: 'receipts', blocks: 101, fetched: 101, recovered: 1, unproven: 0 })
    })

    it('is found by a second endpoint, and reported', async () => {
      const chain = await start()
      const { keys, audit } = await fetched([chain, await startLogChain({ head: 100 })], { ...all, audit: 'peer' })
      expect(keys).toEqual(chain.logs(0, 100).map(keyOf))
      expect(audit).toMatchObject({ level: 'peer', blocks: 101, suspects: 1, fetched: 1, unproven: 0 })
    })

    it('is not found by blooms: they say that the block has logs, and it was given some', async () => {
      const chain = await start()
      const { keys, audit } = await fetched(chain, { ...all, audit: 'bloom' })
      const given = chain.logs(0, 100).filter((log) => !missing(log))
      expect(keys).toEqual(given.map(keyOf))
      expect(audit).toMatchObject({ level: 'bloom', blocks: 101, suspects: 0, fetched: 0, recovered: 0, unproven: 0 })
    })
  })

  it('of all logs by blooms finds blocks whose logs have a gap in their indexes', async () => {
    const chain = await startLogChain({ head: 100, drops: (log) => log.logIndex === '0x1' })
    const { keys, audit } = await fetched(chain, { address: undefined, topics: undefined, audit: 'bloom' } as object)
    const given = chain.logs(0, 100)
    const gaps = new Set(given.filter(({ logIndex }) => Number(logIndex) > 1).map(({ blockNumber }) => blockNumber))
    const last = given.filter(({ blockNumber, logIndex }) => logIndex !== '0x1' || gaps.has(blockNumber))
    expect(gaps.size).toBeGreaterThan(10)
    expect(keys).toEqual(last.map(keyOf))
    expect(audit).toMatchObject({ level: 'bloom', suspects: gaps.size, fetched: gaps.size, recovered: gaps.size, unproven: 0 })
  })

  it('by a second endpoint finds what one of them left out', async () => {
    const liar = await startLogChain({ head: 1000, drops: everyTenth })
    const other = await startLogChain({ head: 1000 })
    const { keys, audit } = await fetched([liar, other], { audit: 'peer' })
    expect(keys).toEqual(rightKeys(other, 0, 1000))
    expect(audit).toMatchObject({ level: 'peer', blocks: 1001, unproven: 0 })
  })

  it('by a second endpoint proves pages whose range had to be split, too', async () => {
    const range = { most: 300, says: () => ({ code: -32005, message: 'block range is too wide' }) }
    const chains = [await startLogChain({ head: 3000, range }), await startLogChain({ head: 3000, range })]
    const { keys, audit } = await fetched(chains, { audit: 'peer' })
    expect(keys).toEqual(rightKeys(chains[0] as LogChain, 0, 3000))
    expect(audit).toMatchObject({ level: 'peer', blocks: 3001, suspects: 0, unproven: 0 })
  })

  it('is by blooms where the end is final', async () => {
    const chain = await startLogChain({ head: 100 })
    expect((await fetched(chain, { to: 'finalized' })).audit.level).toBe('bloom')
  })
})

describe('bad input', () => {
  const client = () => clientFor('http://127.0.0.1:1')
  it.each<[string, object, RegExp]>([
    ['an end before the start', { from: 5n, to: 4n }, /^to: expected at least the first block, 5/],
    ['a topic that is not a hash', { from: 0n, to: 1n, topics: ['0x12'] }, /^topics\[0\]: expected a topic \(32 bytes in hex\)/],
    ['an invalid address among thousands', { from: 0n, to: 1n, address: [...Array(4999).fill(tokens[0]), '0x1'] }, /^address\[4999\]: expected an address/],
    ['a hole in a list of topics', { from: 0n, to: 1n, topics: [Object.assign(Array(2), { 1: TRANSFER })] }, /^topics\[0\]\[0\]: expected a topic/],
    ['a hole in a list of addresses', { from: 0n, to: 1n, address: Object.assign(Array(2), { 1: tokens[0] }) }, /^address\[0\]: expected an address/],
    ['no addresses', { from: 0n, to: 1n, address: [] }, /^address: expected at least one address/],
    ['an unknown audit', { from: 0n, to: 1n, audit: 'all' }, /^audit: expected/],
    ["viem's name of an option", { fromBlock: 0n, to: 1n }, /^fromBlock: expected undefined \(it is called `from` here\), received 0n/],
    ['a hash and a range', { from: 0n, to: 1n, blockHash: `0x${'1'.repeat(64)}` }, /^blockHash: expected either blockHash, or from and to, received both/],
  ])('is refused at once: %s', (_, options, message) => {
    expect(() => getLogs(client(), options as GetLogsOptions)).toThrow(OptionError)
    expect(() => getLogs(client(), options as GetLogsOptions)).toThrow(message)
  })

  it.each([
    ['https://rpc.example.com/KEY', 'a string'],
    [undefined, 'undefined'],
  ])('is refused at once: %j in place of a client', (client, received) => {
    expect(() => getLogs(client as never, { from: 0, to: 1 })).toThrow(`client: expected a client, as createClient returns it, received ${received}`)
    expect(() => getBlocks(client as never, { from: 0, to: 1 })).toThrow(`client: expected a client, as createClient returns it, received ${received}`)
  })
})

describe('a range beyond the head', () => {
  it.each<[string, Partial<GetLogsOptions>, RegExp]>([
    ['its end', { from: 3n, to: 41n }, /^to: expected at most the node's latest block, 40, received 41/],
    ['its start', { from: 41n, to: 'latest' }, /^from: expected at most the latest block, 40, received 41/],
    ['all of it', { from: 41n, to: 50n, audit: 'bloom' }, /^to: expected at most the node's latest block, 40, received 50/],
  ])('is an error at once, and no logs are requested: %s', async (_, options, message) => {
    const chain = await startLogChain({ head: 40 })
    await expect(fetched(chain, options)).rejects.toThrow(message)
    expect(chain.calls.eth_getLogs).toBeUndefined()
  })
})

describe('a node that answers wrongly', () => {
  it('with logs of other blocks, or that do not match, is not believed', async () => {
    const wrong = (change: object) =>
      startLogChain({
        head: 50,
        answer: (method, params) =>
          method === 'eth_getLogs' ? { result: [{ ...(chainForLogs.logs(10, 10)[0] as object), ...change, ...(params.length === 0 && {}) }] } : undefined,
      })
    const chainForLogs = await startLogChain({ head: 50 })
    const [log] = chainForLogs.logs(10, 10)
    for (const [change, message] of [
      [{ blockNumber: '0x99' }, 'requested logs of blocks 0 to 50, but received one of block 153'],
      [{ address: tokens[7], topics: [TRANSFER] }, 'block 10: log 0 does not match the filter'],
      [{ ...log, address: tokens[0], topics: [TRANSFER], removed: true }, 'block 10: log 0 is of a block that is no longer part of the chain'],
      [{ blockNumber: null, blockHash: null }, 'requested logs of blocks 0 to 50, but received one of a pending block'],
    ] as const) {
      const chain = await wrong(change)
      await expect(fetched(chain, { audit: 'none' })).rejects.toThrow(message)
      expect(chain.calls.eth_getLogs).toBe(6)
    }
  })

  it('is asked again elsewhere', async () => {
    const good = await startLogChain({ head: 500 })
    const bad = await startLogChain({
      head: 500,
      answer: (method) => (method === 'eth_getLogs' ? { result: [{ ...good.logs(0, 0)[0], blockNumber: '0x999' }] } : undefined),
    })
    expect((await fetched([bad, good], { audit: 'none' })).keys).toEqual(rightKeys(good, 0, 500))
  })

  it('with [] when it is overloaded is found by blooms', async () => {
    let asked = 0
    const chain = await startLogChain({ head: 1000, answer: (method) => (method === 'eth_getLogs' && asked++ % 2 === 0 ? { result: [] } : undefined) })
    const { keys, audit } = await fetched(chain, { audit: 'bloom' })
    expect(keys).toEqual(rightKeys(chain, 0, 1000))
    expect(audit.recovered).toBe(keys.length)
  })

  it('with blooms that prove nothing leaves blocks unproven, without an error', async () => {
    const zero = `0x${'0'.repeat(512)}`
    const one = await fetched(await startLogChain({ head: 60, bloom: (block, right) => (block === 1 ? zero : right) }), { audit: 'bloom' })
    expect(one.audit).toMatchObject({ blocks: 61, unproven: 1, reasons: { "the header's bloom does not have the logs that the node gave": 1 } })
    const empty = await fetched(await startLogChain({ head: 60, bloom: () => zero, drops: () => true }), { audit: 'bloom' })
    expect(empty).toMatchObject({ keys: [], audit: { blocks: 61, unproven: 61, reasons: { 'the chain leaves blooms empty': 61 } } })
    const era = await fetched(await startLogChain({ head: 60, chainId: 324, bloom: () => zero, drops: () => true }), { audit: 'bloom' })
    expect(era.audit).toMatchObject({
      blocks: 61,
      unproven: 61,
      reasons: { 'zkSync Era had no blooms until August 2024, and nodes fill in those of older blocks later': 61 },
    })
  })
})

it.each(['none', 'bloom'] as const)('a node that no longer has the last block for a while is asked again (audit: %s)', async (audit) => {
  let asked = 0
  const chain: LogChain = await startLogChain({
    head: 300,
    answer: (method, [number]) => {
      const isBehind = method === 'eth_getBlockByNumber' && number === '0x12c' && (chain.calls.eth_getLogs ?? 0) > 0 && ++asked <= 8
      return isBehind ? { result: null } : undefined
    },
  })
  const client = clientFor(chain.url, { retry: { baseDelayMs: 2, maxDelayMs: 10 } })
  const found = []
  for await (const log of getLogs(client, { from: 0, to: 300, audit })) found.push(log)
  expect(found.map(decodedKey)).toEqual(chain.logs(0, 300).map(keyOf))
  expect(asked).toBeGreaterThan(8)
})

describe('a reorganisation', () => {
  it('of the end of the range is named', async () => {
    let name = 0
    const chain = await startLogChain({
      head: 3000,
      fork: () => ({ name, at: 2990 }),
      answer: (method) => {
        if (method === 'eth_getLogs') name = 1
        return undefined
      },
    })
    await expect(fetched(chain, { audit: 'none', address: tokens as `0x${string}`[], topics: [] })).rejects.toThrow(
      /^block 3000 came as 0xbbbbbbbb0{8}\S+, but its logs as those of 0xbbbbbbbb0{7}1\S+: the chain was reorganised in between/,
    )
  })

  it('that only one of two endpoints has seen is named with a peer, too', async () => {
    // What the two give is never put together: their last blocks are different ones.
    const range = { most: 20, says: () => ({ message: 'query exceeds max block range 20' }) }
    const logs = (block: number) => (block < 190 ? 3 : 0)
    const chains = [await startLogChain({ head: 200, range, logs }), await startLogChain({ head: 200, range, logs, fork: () => ({ name: 1, at: 100 }) })]
    for (let run = 0; run < 5; run++) {
      await expect(fetched(chains, { audit: 'peer', address: tokens as `0x${string}`[], topics: [] })).rejects.toThrow(/^block 200 came as /)
    }
  })

  it('leaves no rejection that nobody handles, with an audit', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => void unhandled.push(reason)
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', onUnhandled)
    onTestFinished(() => {
      process.off('unhandledRejection', onUnhandled)
      for (const other of others) process.on('unhandledRejection', other)
    })
    let name = 0
    const chain = await startLogChain({
      head: 50,
      fork: () => ({ name, at: 45 }),
      answer: (method) => {
        if (method === 'eth_getLogs') name = 1
        return undefined
      },
    })
    await expect(fetched(chain, { audit: 'bloom', address: tokens as `0x${string}`[], topics: [] })).rejects.toThrow(/^block 50 came as \S+, but its logs/)
    // Node.js reports a rejection once the promises of the turn are settled.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })

  it('is named where the last block has no logs', async () => {
    let name = 0
    const chain = await startLogChain({
      head: 3000,
      logs: (block) => (block > 2990 ? 0 : 5),
      fork: () => ({ name, at: 2995 }),
      answer: (method) => {
        if (method === 'eth_getLogs') name = 1
        return undefined
      },
    })
    await expect(fetched(chain, { audit: 'none' })).rejects.toThrow(/^block 3000 came as \S+, and at the end as \S+: the chain was reorganised in between/)
  })
})

describe('the logs of one block by its hash', () => {
  it('are requested by it, and audited', async () => {
    const chain = await startLogChain({ head: 100, drops: (log) => log.logIndex === '0x0' })
    const blockHash = chain.logs(42, 42)[0]?.blockHash as `0x${string}`
    const logs = getLogs(clientFor(chain.url), { blockHash, audit: 'receipts' })
    const found = []
    for await (const log of logs) found.push(log)
    expect(found.map(decodedKey)).toEqual(chain.logs(42, 42).map(keyOf))
    expect(logs.audit).toMatchObject({ recovered: 1, blocks: 1, unproven: 0 })
    expect(chain.ranges).toEqual([[42, 42]])
  })
})

describe('a consumer', () => {
  it('that stops early ends the requests', async () => {
    const chain = await startLogChain({ head: 100_000, range: { most: 50, says: () => ({ message: 'query exceeds max block range 50' }) } })
    for await (const page of getLogs(clientFor(chain.url), { ...filter, from: 0n, to: 'latest', audit: 'none' }).pages()) if (page.to > 1000n) break
    const { length } = chain.ranges
    await new Promise((resolve) => setImmediate(resolve))
    expect(length).toBeLessThan(600)
  })

  it('that aborts gets its reason', async () => {
    const chain = await startLogChain({ head: 100_000, range: { most: 50, says: () => ({ message: 'query exceeds max block range 50' }) } })
    const controller = new AbortController()
    const reason = new Error('enough')
    const run = async () => {
      for await (const _ of getLogs(clientFor(chain.url), { ...filter, from: 0n, to: 'latest', audit: 'none', signal: controller.signal }))
        controller.abort(reason)
    }
    await expect(run()).rejects.toBe(reason)
  })

  it('that aborts within a page gets no more logs of it', async () => {
    const chain = await startLogChain({ head: 50 })
    const controller = new AbortController()
    const reason = new Error('enough')
    let count = 0
    const run = async () => {
      for await (const _ of getLogs(clientFor(chain.url), { ...filter, from: 0n, to: 'latest', audit: 'none', signal: controller.signal })) {
        count++
        if (count === 3) controller.abort(reason)
      }
    }
    await expect(run()).rejects.toBe(reason)
    expect(count).toBe(3)
  })
})
