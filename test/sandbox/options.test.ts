import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, OptionError } from 'hexline'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { deadPort, errorOf } from '../support/server.ts'
import { ask } from './ask.ts'

let node: Sandbox

beforeAll(async () => {
  node = await startSandbox({ chain: 'polygon-zkevm' })
})
afterAll(() => node?.stop())

it('a sandbox’s description', async () => {
  const { url, apiKey, service, rpcUrl, dataUrl, nftUrl, streamsUrl, upstream } = node
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect([rpcUrl, dataUrl, nftUrl, streamsUrl]).toEqual([url, url, url, url])
  expect(service).toEqual({ dataUrl: url, nftUrl: url, streamsUrl: url, apiKey })
  expect([node.chain, node.chainId]).toEqual(['polygon-zkevm', 1101])
  expect(node.nodeUrl()).toBe(`${url}/polygon-zkevm/${apiKey}`)
  expect(upstream).not.toBe(url)
  await using client = createClient(upstream)
  expect(await client.call('eth_chainId')).toBe(1101)
})

it('accepts a port, prices and records', async () => {
  const port = await deadPort()
  const stream = { ...node.seed.streams[0], id: 'mine' } as Sandbox['seed']['streams'][number]
  await using own = await startSandbox({ upstream: node.upstream, port, seed: { streams: [stream] } })
  expect(own.url).toBe(`http://127.0.0.1:${port}`)
  expect(own.seed.streams.map(({ id }) => id)).toEqual(['mine'])
  expect(own.seed.nfts).toEqual(node.seed.nfts)
  own.seed.streams.length = 0
  expect((await ask(own, 'streams/evm?limit=1')).body).toEqual({ result: [], cursor: '', total: 0 })
})

const token = `0x${'a1'.repeat(20)}`

it.each<[options: unknown, message: string]>([
  [{ prot: 1 }, 'options: expected only port, chain, upstream'],
  [5, 'options: expected an object, received 5'],
  [{ port: 65_536 }, 'port: expected a port from 0 (any free one) to 65535, received 65536'],
  [{ port: '8600' }, 'port: expected a port from 0 (any free one) to 65535, received "8600"'],
  [{ chain: 'ethereum' }, 'chain: expected one of eth, sepolia'],
  [{ chain: 1 }, 'chain: expected the name of a chain, received 1'],
  [{ upstream: 'localhost' }, 'upstream: expected an http or https URL, received an invalid URL'],
  [{ upstream: 'ws://127.0.0.1:8545' }, 'upstream: expected an http or https URL, received a WebSocket URL'],
  [{ apiKey: '' }, 'apiKey: expected a key of printable ASCII characters, received another string'],
  [{ apiKey: '..' }, 'apiKey: expected a key of printable ASCII characters, received another string'],
  [{ apiKey: 'kéy' }, 'apiKey: expected a key of printable ASCII characters, received another string'],
  [{ quotaKeys: 'k' }, 'quotaKeys: expected an array of keys, received a string'],
  [{ apiKey: 'k', quotaKeys: ['k'] }, 'quotaKeys[0]: expected a key other than apiKey, received the same key'],
  [{ prices: { eth: { usd: 1 } } }, 'prices: expected addresses of tokens or \'native\' as names, received "eth"'],
  [{ prices: { native: { usd: 0 } } }, 'prices["native"].usd: expected a number above 0, received 0'],
  [{ prices: { native: { usd: 1, usd24hAgo: '2' } } }, 'prices["native"].usd24hAgo: expected a number above 0, received "2"'],
  [{ prices: { native: { eur: 1 } } }, 'prices["native"]: expected only usd, usd24hAgo, received "eur"'],
  [{ likeProduction: 'yes' }, 'likeProduction: expected true or false, received "yes"'],
  [{ allowedHosts: 'a.test' }, 'allowedHosts: expected an array of host names, received a string'],
  [{ allowedHosts: ['a.test:80'] }, 'allowedHosts[0]: expected a host name without a port, received "a.test:80"'],
  [{ allowedHosts: ['http://a.test'] }, 'allowedHosts[0]: expected a host name without a port, received "http://a.test"'],
  [{ allowedHosts: ['a.test', 5] }, 'allowedHosts[1]: expected a host name without a port, received 5'],
  [{ tokens: { native: {} } }, 'tokens: expected addresses of tokens as names, received "native"'],
  [{ tokens: { [token]: { possibleSpam: 'no' } } }, `tokens["${token}"].possibleSpam: expected true or false, received "no"`],
  [{ tokens: { [token]: { logo: 1 } } }, `tokens["${token}"].logo: expected a URL, received 1`],
  [{ seed: { tokens: [] } }, 'seed: expected only transfers, nfts, collections, streams, received "tokens"'],
  [{ seed: { streams: {} } }, 'seed.streams: expected an array of records, received an object'],
  [{ seed: { streams: [{}] } }, 'seed.streams[0].id: expected a string, received undefined'],
  [{ seed: { nfts: [null] } }, 'seed.nfts[0]: expected a record, received null'],
  [{ latencyMs: -1 }, 'latencyMs: expected a number of ms from 0 to 2147483647, received -1'],
  [{ callsPerSecond: 0 }, 'callsPerSecond: expected a number above 0, received 0'],
  [{ faults: 1.5 }, 'faults: expected a share from 0 to 1, received 1.5'],
  [{ notificationFaults: -1 }, 'notificationFaults: expected a share from 0 to 1, received -1'],
  [{ notificationFaults: { late: 0.6, double: 0.5 } }, 'notificationFaults: expected a share from 0 to 1, received 1.1'],
  [{ faultSeed: 0.5 }, 'faultSeed: expected a whole number, received 0.5'],
  [{ maxBatch: 0 }, 'maxBatch: expected a whole number of at least 1, received 0'],
  [{ maxLogRange: '2k' }, 'maxLogRange: expected a whole number of at least 1, received "2k"'],
  [{ maxResults: 0.5 }, 'maxResults: expected a whole number of at least 1, received 0.5'],
  [{ maxResults: null }, 'maxResults: expected a whole number of at least 1, received null'],
  [{ maxResults: {} }, 'maxResults.most: expected a whole number of at least 1, received undefined'],
  [{ maxResults: { most: 5, silent: true } }, 'maxResults: expected only most, silently, received "silent"'],
  [{ maxResults: { most: 5, silently: 1 } }, 'maxResults.silently: expected true or false, received 1'],
  [{ dropLogs: 1.1 }, 'dropLogs: expected a share from 0 to 1, received 1.1'],
  [{ lag: -1 }, 'lag: expected a whole number of at least 0, received -1'],
  [{ prunedBelow: '1000' }, 'prunedBelow: expected a whole number of at least 0, received "1000"'],
])('%j is refused at once', async (options, message) => {
  const error = await errorOf(startSandbox(options as SandboxOptions))
  expect(error).toBeInstanceOf(OptionError)
  expect(error.message.startsWith(message)).toBe(true)
})

it('a version of a transfer must be digits, since transfers are ordered by it', async () => {
  const [transfer] = node.seed.transfers
  const options = { seed: { transfers: [{ ...transfer, transaction_version: '1e3' }] } } as SandboxOptions
  expect((await errorOf(startSandbox(options))).message).toBe('seed.transfers[0].transaction_version: expected a string of at most 20 digits, received "1e3"')
})

it('a port in use is reported, and nothing is left running', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  expect((await errorOf(startSandbox({ upstream: node.upstream, port }))).message).toBe(`port: expected a free port, received ${port} (in use)`)
})

it('an upstream that does not answer is reported at once', async () => {
  const port = await deadPort()
  expect(await errorOf(startSandbox({ upstream: `http://127.0.0.1:${port}/s3cret` }))).toMatchObject({
    kind: 'network',
    message: `127.0.0.1:${port}: no connection: connect ECONNREFUSED 127.0.0.1:${port}`,
  })
})

it('a missing upstream and anvil are reported in one line with advice', async () => {
  const error = await errorOf(startAnvil(1, [join(tmpdir(), 'nowhere', 'package.json')]))
  expect(error).toBeInstanceOf(OptionError)
  expect(error.message).toBe("upstream: expected a node's URL, or anvil installed (npm install --save-dev @foundry-rs/anvil), received neither")
})
