import { describe, expect, onTestFinished, test } from 'vitest'
import { byteDecoder, decodeResult, methods } from '../../src/eth/methods.ts'
import { type Client, type ClientOptions, createClient, type Endpoint, type HexlineError, type Layer } from '../../src/index.ts'
import { decodedOf } from '../../src/rpc/decoded-reply.ts'
import { hasCorpus, readBlocks, readPairs } from '../support/corpus.ts'
import { type Answer, each, errorOf, failed, send, serve } from '../support/server.ts'

/*
 * Large results of single calls are decoded from their bytes, without `JSON.parse`.
 */

const hash = (i: number, size = 32) => `0x${i.toString(16).padStart(size * 2, 'a')}`
const logs = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({
    address: hash(1, 20),
    topics: [hash(i), hash(2)],
    data: hash(i, 64),
    blockNumber: `0x${(from + i).toString(16)}`,
    logIndex: `0x${i.toString(16)}`,
    removed: false,
  }))
const decoded = (raw: unknown) => decodeResult('eth_getLogs', structuredClone(raw), [{}])

/** A client whose layer notes of each reply whether it was decoded from its bytes. */
function watched(endpoint: Endpoint | readonly Endpoint[], options: ClientOptions = {}): { client: Client; wereDecoded: boolean[] } {
  const wereDecoded: boolean[] = []
  const watch: Layer = (next) => async (call) => {
    const reply = await next(call)
    if (call.method === 'eth_getLogs') wereDecoded.push(decodedOf(reply) !== undefined)
    return reply
  }
  const client = createClient(endpoint, { ...options, layers: (defaults) => [watch, ...defaults] })
  onTestFinished(() => client.close())
  return { client, wereDecoded }
}

/** Resolves once the readers are loaded, which the first call sees to. */
async function loaded(): Promise<void> {
  const plain = Buffer.from('[]')
  while (byteDecoder('eth_getLogs', [{}])?.(plain) === undefined) await import('../../src/eth/large-results.ts')
}

const serveLogs = (answer: Answer) => loaded().then(() => serve(answer))

describe('client.call decodes a large result from its bytes', () => {
  const raw = logs(100)

  test('to what JSON.parse and the decoder give', async () => {
    const server = await serveLogs(each(({ id }) => ({ jsonrpc: '2.0', id, result: raw })))
    const { client, wereDecoded } = watched(server.url)
    expect(await client.call('eth_getLogs', {})).toEqual(decoded(raw))
    expect(wereDecoded).toEqual([true])
  })

  test('and gives each of several identical calls its own value', async () => {
    const server = await serveLogs(each(({ id }) => ({ jsonrpc: '2.0', id, result: raw })))
    const { client } = watched(server.url)
    const [a, b, c] = await Promise.all([
      client.call('eth_getLogs', {}),
      client.call('eth_getLogs', {}),
      client.request({ method: 'eth_getLogs', params: [{}] }),
    ])
    expect(server.requests).toHaveLength(1)
    expect([a, b, c]).toEqual([decoded(raw), decoded(raw), raw])
    expect(a).not.toBe(b)
    expect(a?.[0]).not.toBe(b?.[0])
  })

  test('while a layer that takes the result still gets the JSON', async () => {
    const server = await serveLogs(each(({ id }) => ({ jsonrpc: '2.0', id, result: raw })))
    const taken: unknown[] = []
    const layer: Layer = (next) => async (call) => {
      const reply = await next(call)
      const value = reply.take()
      taken.push(structuredClone(value))
      return { take: () => value, bytes: reply.bytes }
    }
    await using client = createClient(server.url, { layers: (defaults) => [layer, ...defaults] })
    expect(await client.call('eth_getLogs', {})).toEqual(decoded(raw))
    expect(taken).toEqual([raw])
  })

  test('also with several endpoints, whose newest blocks are learnt from results', async () => {
    const answer = each(({ id, method }) => ({ jsonrpc: '2.0', id, result: method === 'eth_getLogs' ? raw : '0x1' }))
    const [first, second] = [await serveLogs(answer), await serve(answer)]
    const { client, wereDecoded } = watched([first.url, second.url])
    expect(await client.pinned().call('eth_getLogs', {})).toEqual(decoded(raw))
    expect(wereDecoded).toEqual([true])
  })
})

describe('client.call leaves to JSON.parse and the decoder', () => {
  const long = (result: string) => result.padEnd(10_000)
  test.each<[string, string, unknown]>([
    ['white space', long('[ {"address":"0x1","topics":[],"data":"0x","blockNumber":"0x1"}]'), [{ address: '0x1', topics: [], data: '0x', blockNumber: 1n }]],
    ['escapes', long('[{"address":"0x1","topics":[],"data":"\\u0030x","note":"é"}]'), [{ address: '0x1', topics: [], data: '0x', note: 'é' }]],
    ['a few bytes', '[]', []],
  ])('%s', async (_, json, expected) => {
    const server = await serveLogs((request, response) => send(response, `{"jsonrpc":"2.0","id":${request.entries[0]?.id},"result":${json}}`))
    const { client, wereDecoded } = watched(server.url)
    expect(await client.call('eth_getLogs', {})).toEqual(expected)
    expect(wereDecoded).toEqual([false])
  })

  test('a wrong field, and the error has its path', async () => {
    const raw = logs(100).with(70, { ...logs(1)[0], blockNumber: 'x' } as never)
    const server = await serveLogs(each(({ id }) => ({ jsonrpc: '2.0', id, result: raw })))
    const { client } = watched(server.url)
    expect(await errorOf<HexlineError>(client.call('eth_getLogs', {}))).toMatchObject({
      name: 'CodecError',
      message: expect.stringContaining('[70].blockNumber'),
    })
  })

  test('an error of the node', async () => {
    const server = await serveLogs(each((entry) => failed(entry, 3, 'no', 'x'.repeat(10_000))))
    const { client } = watched(server.url)
    expect(await errorOf<HexlineError>(client.call('eth_getLogs', {}))).toMatchObject({ name: 'RpcError', code: 3 })
  })
})

describe('a decoder of bytes', () => {
  test('exists for the methods with large results alone', () => {
    const named = Object.keys(methods).filter((name) => byteDecoder(name, []) !== undefined)
    expect(named).toEqual(['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getLogs'])
    expect(byteDecoder('debug_traceTransaction', [])).toBeUndefined()
  })

  test.runIf(hasCorpus)('gives what JSON.parse and the decoder give for every recorded result', async () => {
    await loaded()
    const results = [
      ...readPairs().map(({ method, request, response }) => ({ method, params: request.params ?? [], result: response.result })),
      ...readBlocks().flatMap(({ block, receipts }) => [
        { method: 'eth_getBlockByNumber', params: ['0x1', true], result: block },
        { method: 'eth_getBlockReceipts', params: ['0x1'], result: receipts },
      ]),
    ]
    let read = 0
    for (const { method, params, result } of results) {
      if (result === undefined) continue
      const json = Buffer.from(JSON.stringify(result))
      let value: object | undefined
      try {
        value = byteDecoder(method, params)?.(json)
      } catch {
        continue
      }
      if (value === undefined) continue
      expect(value).toEqual(decodeResult(method, JSON.parse(json.toString()), params))
      read++
    }
    expect(read).toBeGreaterThan(20)
  })
})
