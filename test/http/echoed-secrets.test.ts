import { createPublicClient } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HexlineProvider } from '../../adapters/ethers/index.ts'
import { bulkActions, hexline } from '../../adapters/viem/index.ts'
import { blockLines } from '../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../src/bulk/get-blocks.ts'
import { methods } from '../../src/eth/methods.ts'
import { type Client, HexlineError, type MethodName, probe } from '../../src/index.ts'
import { getBlocks } from '../../src/index-bulk.ts'
import { blockOf, type ChainOptions, startChain } from '../support/chain-server.ts'
import { hexline as command } from '../support/command.ts'
import { steadyTime } from '../support/held-time.ts'
import { randomFrom } from '../support/random.ts'
import { operations } from '../support/rest-operations.ts'
import * as rest from '../support/rest-server.ts'
import { nightly, runs } from '../support/runs.ts'
import { clientOf, each, serve } from '../support/server.ts'
import { shownBy } from '../support/shown.ts'

const KEY = 'k9/zQ+w"v8%SECRETkeyOfTheURL0123456789'
const USER = 'u5er"NAME%with/OTHERletters'
const TOKEN = 'h4+T"oken%of/AheaderSECRET'
const HEADERS = { 'x-token': TOKEN }
const percent = encodeURIComponent

/** The URL of a server, with a key in its path and one as its user. */
function keyed(url: string): string {
  return `${url.replace('://', `://${percent(USER)}@`)}/v2/${percent(KEY)}`
}

const spellings = [(text: string) => text, percent, (text: string) => JSON.stringify(text).slice(1, -1)]
/** Not even the first half of one may be visible where a text was cut. */
const hidden = [KEY, USER, TOKEN].flatMap((secret) => spellings.flatMap((spell) => [spell(secret), spell(secret.slice(0, 14))]))

/** The problems of an error with secrets and lengths. */
function faultsOf(error: unknown, most = 1000): string[] {
  const shown = shownBy(error)
  const { message } = error as Error
  const leaks = hidden.filter((secret) => shown.includes(secret)).map((secret) => `${secret}: ${message.slice(0, 300)}`)
  return message.length <= most ? leaks : [...leaks, `a message of ${message.length} characters: ${message.slice(0, 100)}`]
}

/**
 * Texts in which a server echoes secrets: plain and in other spellings, short, long, and across a
 * cut.
 */
function echoesFrom(random: () => number): () => string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  return () => {
    const secret = pick(spellings)(pick([KEY, USER, TOKEN, `/v2/${KEY}`]))
    return pick([secret, `0x${secret}`, `see ${secret} there`, `${'x'.repeat(Math.floor(random() * 90))} ${secret}`, `\n${secret}${' y'.repeat(50_000)}`])
  }
}

/** A copy of `value` with `echo` at one place in it, or in its place. */
function withEcho(value: unknown, echo: string, random: () => number): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.1) return echo
  const copy = structuredClone(value) as Record<string, unknown>
  const names = Object.keys(copy)
  const name = names[Math.floor(random() * names.length)]
  if (name === undefined) return echo
  copy[name] = withEcho(copy[name], echo, random)
  if (random() < 0.1 && !Array.isArray(copy)) {
    copy[echo] = copy[name]
    delete copy[name]
  }
  return copy
}

const log = { address: `0x${'a'.repeat(40)}`, topics: [], data: '0x', blockNumber: '0x1', logIndex: '0x0', transactionIndex: '0x0' }
const receipt = { transactionHash: `0x${'7'.repeat(64)}`, blockHash: `0x${'b'.repeat(64)}`, blockNumber: '0x1', gasUsed: '0x1', status: '0x1', logs: [log] }
const samples: unknown[] = [
  '0x1',
  blockOf(1, true),
  blockOf(1, false),
  receipt,
  [receipt],
  [log],
  { oldestBlock: '0x1', baseFeePerGas: ['0x1'], gasUsedRatio: [0.5], reward: [['0x1']] },
  {
    address: log.address,
    balance: '0x1',
    nonce: '0x1',
    codeHash: '0x',
    storageHash: '0x',
    accountProof: [],
    storageProof: [{ key: '0x0', value: '0x1', proof: [] }],
  },
  { accessList: [{ address: log.address, storageKeys: [] }], gasUsed: '0x1' },
  { type: '0x4', hash: '0x1', authorizationList: [{ chainId: '0x1', address: log.address, nonce: '0x0', yParity: '0x0' }] },
]

/** Arguments for each method. */
const BLOCK = `0x${'b'.repeat(64)}`
const ACCOUNT = log.address
const args: Partial<Record<MethodName, unknown[]>> = {
  eth_call: [{ to: ACCOUNT }],
  eth_createAccessList: [{ to: ACCOUNT }],
  eth_estimateGas: [{ to: ACCOUNT }],
  eth_feeHistory: [1, 'latest'],
  eth_getBalance: [ACCOUNT],
  eth_getBlockByHash: [BLOCK, true],
  eth_getBlockByNumber: [1, true],
  eth_getBlockTransactionCountByHash: [BLOCK],
  eth_getBlockTransactionCountByNumber: [1],
  eth_getBlockReceipts: [1],
  eth_getCode: [ACCOUNT],
  eth_getLogs: [{}],
  eth_getProof: [ACCOUNT, [0]],
  eth_getStorageAt: [ACCOUNT, 0],
  eth_getTransactionByHash: [BLOCK],
  eth_getTransactionByBlockHashAndIndex: [BLOCK, 0],
  eth_getTransactionByBlockNumberAndIndex: [1, 0],
  eth_getTransactionCount: [ACCOUNT],
  eth_getTransactionReceipt: [BLOCK],
  eth_getUncleByBlockHashAndIndex: [BLOCK, 0],
  eth_getUncleByBlockNumberAndIndex: [1, 0],
  eth_getUncleCountByBlockHash: [BLOCK],
  eth_getUncleCountByBlockNumber: [1],
  eth_sendRawTransaction: ['0x01'],
}

/**
 * The problems of the errors of `attempt`, each time with another echo; it must fail at least
 * sometimes.
 */
async function faultsIn(times: number, attempt: (i: number) => Promise<unknown>, most?: number): Promise<string[]> {
  const faults: string[] = []
  let failures = 0
  for (let i = 0; i < times; i++) {
    try {
      await attempt(i)
    } catch (error) {
      failures++
      faults.push(...faultsOf(error, most))
    }
  }
  expect(failures).toBeGreaterThan(times / 10)
  return faults
}

describe('a secret that a server echoes is in no error', () => {
  test('in the results of the 28 methods', async () => {
    const random = randomFrom(1)
    const echo = echoesFrom(random)
    let result: unknown
    const server = await serve(each(({ id }) => ({ id, result })))
    const client = clientOf(keyed(server.url), { retry: false, headers: HEADERS })
    const names = Object.keys(methods) as MethodName[]
    const faults = await faultsIn(names.length * runs(5).numRuns, (i) => {
      const method = names[i % names.length] as MethodName
      result = withEcho(samples[Math.floor(random() * samples.length)], echo(), random)
      return (client.call as (...all: unknown[]) => Promise<unknown>)(method, ...(args[method] ?? []))
    })
    expect(faults.slice(0, 5)).toEqual([])
  })

  test('in errors of the node, and in replies that are not JSON-RPC', async () => {
    const random = randomFrom(2)
    const echo = echoesFrom(random)
    const error = { code: -32000, message: 'no', data: { url: 'x', list: ['x'] }, more: { deep: ['x'] } }
    const bodies = [
      () => ({ error: withEcho(error, echo(), random) }),
      () => withEcho({ result: 1, jsonrpc: '2.0' }, echo(), random),
      () => withEcho({ message: 'x' }, echo(), random),
    ]
    let status = 200
    const server = await serve((request, response) => {
      const body = (bodies[Math.floor(random() * 3)] as (typeof bodies)[number])() as object
      const id = request.entries[0]?.id
      const location = percent(echo()).slice(0, 4000)
      response.writeHead(status, { 'content-type': 'application/json', location })
      response.end(typeof body === 'string' ? body : JSON.stringify(random() < 0.5 ? { id, ...body } : body))
    })
    const client = clientOf(keyed(server.url), { retry: false, headers: HEADERS })
    const faults = await faultsIn(
      runs(80).numRuns,
      (i) => {
        status = [200, 400, 404, 500][i % 4] as number
        return client.request({ method: 'eth_call', params: [] })
      },
      4096,
    )
    expect(faults.slice(0, 5)).toEqual([])
  })

  /** A chain with an echo in one reply, and in each to the same call. */
  async function chainWithEchoes(seed: number, more: Partial<ChainOptions> = {}): Promise<{ url: string; next(): void }> {
    const random = randomFrom(seed)
    const echo = echoesFrom(random)
    let left = 0
    let echoed: { readonly call: string; readonly result: unknown } | undefined
    const chain = await startChain({
      head: 6,
      transactions: () => 2,
      answer: (call, right) => {
        const other = more.answer?.(call, right)
        if (other !== undefined) return other
        if (call.method === 'eth_blockNumber' || call.method === 'eth_chainId') return call.method === 'eth_chainId' ? { result: '0x1' } : undefined
        const name = `${call.method} ${call.params[0]}`
        if (left-- === 0) echoed = { call: name, result: withEcho(right, echo(), random) }
        return echoed?.call === name ? { result: echoed.result } : undefined
      },
    })
    onTestFinished(() => chain.close())
    return {
      url: chain.url,
      next: () => {
        left = Math.floor(random() * 6)
        echoed = undefined
      },
    }
  }

  async function all(items: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of items);
  }

  const range = { from: 0, to: 5, transactions: 'full', receipts: true } as const
  const readers: [string, (client: Client) => AsyncIterable<unknown>][] = [
    ['getBlocks', (client) => getBlocks(client, range)],
    ['getBlocks with some fields', (client) => getBlocks(client, { ...range, fields: ['gasUsed', 'transactions.value', 'receipts.status'] })],
    ['lines', (client) => blockLines(client, checkBlockOptions(range))],
    [
      'viem',
      (client) =>
        createPublicClient({ transport: hexline(client) })
          .extend(bulkActions())
          .getBlocks({ fromBlock: 0n, toBlock: 5n, includeTransactions: true, includeReceipts: true }),
    ],
    ['ethers', (client) => new HexlineProvider(client, 1, { staticNetwork: true }).getBlocks(0, 5, { prefetchTxs: true })],
  ]
  test.each([...readers.slice(1, 3), ...nightly(...readers.filter((_, i) => i < 1 || i > 2))])('of a range of blocks, by %s', async (_, read) => {
    const chain = await chainWithEchoes(3)
    const client = clientOf(keyed(chain.url), { retry: false, headers: HEADERS })
    const faults = await faultsIn(runs(40).numRuns, () => {
      chain.next()
      return all(read(client))
    })
    expect(faults.slice(0, 5)).toEqual([])
  })

  test('for receipts requested one by one, by the node’s own hashes', async () => {
    steadyTime()
    const chain = await chainWithEchoes(4, {
      answer: ({ method }) =>
        method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'no' } } : method === 'eth_getTransactionReceipt' ? { result: null } : undefined,
    })
    const client = clientOf(keyed(chain.url), { retry: false, headers: HEADERS, deadlineMs: 100 })
    const faults = await faultsIn(40, () => {
      chain.next()
      return all(getBlocks(client, range))
    })
    expect(faults.slice(0, 5)).toEqual([])
  })

  test('for blocks of invalid JSON, which the runtime quotes', async () => {
    steadyTime()
    const key = 'q7zSECRETq7zSECRETq7zSECRET'
    const chain = await startChain({ head: 3, body: (json) => json.replaceAll('"number":', `"key":${key},"number":`) })
    onTestFinished(() => chain.close())
    const client = clientOf(`${chain.url}/v2/${key}`, { retry: false, deadlineMs: 300 })
    for (const read of [() => getBlocks(client, { from: 0, to: 2n }), () => blockLines(client, checkBlockOptions({ from: 0, to: 2 }))]) {
      const error = await all(read()).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(HexlineError)
      expect(shownBy(error)).not.toContain(key.slice(0, 4))
    }
  })

  test('in results that ethers reads', async () => {
    const random = randomFrom(5)
    const echo = echoesFrom(random)
    let result: unknown
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : result })))
    const provider = new HexlineProvider(clientOf(keyed(server.url), { retry: false, headers: HEADERS }), 1, { staticNetwork: true, cacheTimeout: -1 })
    const reads = [
      () => provider.getBlockNumber(),
      () => provider.getBalance(ACCOUNT),
      () => provider.getTransactionCount(ACCOUNT),
      () => provider.getCode(ACCOUNT),
      () => provider.getStorage(ACCOUNT, 0),
      () => provider.call({ to: ACCOUNT }),
      () => provider.estimateGas({ to: ACCOUNT }),
      () => provider.getBlock(1, true),
      () => provider.getTransaction(BLOCK),
      () => provider.getTransactionReceipt(BLOCK),
      () => provider.getLogs({}),
      () => provider.getBlockReceipts(1),
    ]
    const faults = await faultsIn(reads.length * runs(4).numRuns, (i) => {
      result = withEcho(samples[Math.floor(random() * samples.length)], echo(), random)
      return (reads[i % reads.length] as () => Promise<unknown>)()
    })
    expect(faults.slice(0, 5)).toEqual([])
  })

  test('in records of the service', async () => {
    const random = randomFrom(6)
    const echo = echoesFrom(random)
    const record = { token_address: 'a', balance: '1', decimals: 18, possible_spam: false, usd_price: 1.5 }
    const server = await rest.serveRest((_, response) => {
      const status = random() < 0.3 ? 400 : 200
      response
        .writeHead(status)
        .end(
          JSON.stringify(
            status === 200
              ? withEcho({ result: [record], cursor: null, page: 1 }, echo(), random)
              : withEcho({ message: 'no', list: [{ a: 1 }] }, echo(), random),
          ),
        )
    })
    const { call, params } = operations.getWalletTokens
    const service = { dataUrl: server.url, apiKey: TOKEN }
    const headers = { 'x-user': USER, 'x-key': KEY }
    const faults = await faultsIn(runs(60).numRuns, async () => void (await call(service, params, { retry: false, headers })))
    expect(faults.slice(0, 5)).toEqual([])
  })

  test('in the report of a probe', async () => {
    const random = randomFrom(7)
    const echo = echoesFrom(random)
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : echo() })))
    const client = clientOf(keyed(server.url), { retry: false, headers: HEADERS })
    const report = JSON.parse(JSON.stringify(await probe(client, { rateCalls: false, maxCalls: 80 })))
    const shown = shownBy(report)
    expect(shown).toContain('[hidden]')
    expect(hidden.filter((secret) => shown.includes(secret))).toEqual([])
  })

  test('of the command', async () => {
    const server = await serve(each(({ id }) => ({ id, result: `${'x'.repeat(60)} ${KEY}` })))
    for (const words of [
      ['call', 'eth_gasPrice'],
      ['call', 'eth_getBlockByNumber', 'latest', 'true'],
      ['blocks', '--from', '0', '--to', '1'],
    ]) {
      const { code, stderr } = await command([...words, '--deadline', '20'], { env: { HEXLINE_RPC_URL: keyed(server.url) } })
      expect(code).toBe(1)
      expect(stderr).toMatch(/expected/)
      expect(hidden.filter((secret) => stderr.includes(secret))).toEqual([])
    }
  })
})

test('a block with a parent of five megabytes is refused with a short message', async () => {
  const chain = await startChain({
    head: 3,
    answer: ({ params }, right) => (params[0] === '0x2' ? { result: { ...(right as object), parentHash: 'x'.repeat(5_000_000) } } : undefined),
  })
  onTestFinished(() => chain.close())
  const client = clientOf(chain.url, { retry: false })
  const error = await (async () => {
    for await (const _ of getBlocks(client, { from: 0, to: 3 }));
  })().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(HexlineError)
  expect((error as Error).message).toMatch(/^block 2 names an invalid hash \(5000000 characters\) as its parent/)
  expect(faultsOf(error)).toEqual([])
})
