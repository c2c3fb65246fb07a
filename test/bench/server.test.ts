import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_BLOCK } from '../../bench/blocks.ts'
import type { ServerNews } from '../../bench/server.ts'

const script = fileURLToPath(new URL('../../bench/server.ts', import.meta.url))
const server = fork(script, ['made'], { execArgv: ['--import', 'tsx'] })
let news: ServerNews
beforeAll(async () => {
  news = (await once(server, 'message'))[0] as ServerNews
})
afterAll(async () => {
  server.disconnect()
  await once(server, 'exit')
})

const call = (id: number, method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })
const post = (path: string, body: unknown, headers = {}) => fetch(`${news.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
// biome-ignore lint/suspicious/noExplicitAny: replies of several shapes
const json = async (path: string, body: unknown): Promise<any> => (await post(path, body)).json()
const hex = (number: number) => `0x${number.toString(16)}`
const account = (number: number) => `0x${number.toString(16).padStart(40, '0')}`

describe("the benchmark's server", () => {
  it('gives each block its number, as many transactions as it says, and their receipts', async () => {
    // Numbers of as many digits as the templates have room for.
    const [number, next] = [hex(FIRST_BLOCK), hex(FIRST_BLOCK + 1)]
    const [full, hashes, receipts] = await json('/', [
      call(1, 'eth_getBlockByNumber', number, true),
      call(2, 'eth_getBlockByNumber', number, false),
      call(3, 'eth_getBlockReceipts', number),
    ])
    const count = news.transactions[FIRST_BLOCK % news.transactions.length]
    expect([full.id, hashes.id, receipts.id]).toEqual([1, 2, 3])
    expect([full.result.number, full.result.transactions.length, receipts.result.length]).toEqual([number, count, count])
    expect(full.result.transactions.map(({ hash }: { hash: string }) => hash)).toEqual(hashes.result.transactions)
    expect(receipts.result.map(({ transactionHash }: { transactionHash: string }) => transactionHash)).toEqual(hashes.result.transactions)
    const child = await json('/', call(4, 'eth_getBlockByNumber', next, false))
    expect(child.result.parentHash).toBe(hashes.result.hash)
  })

  it('gives each account its own balance, and other methods an error', async () => {
    expect(await json('/', call(7, 'eth_getBalance', account(258)))).toEqual({ jsonrpc: '2.0', id: 7, result: '0x102' })
    expect(await json('/', call(8, 'eth_mine'))).toMatchObject({ id: 8, error: { code: -32601 } })
  })

  it('compresses replies for clients that accept it', async () => {
    const plain = Buffer.from(await (await post('/', call(1, 'eth_getBlockByNumber', '0x10', true))).arrayBuffer())
    const { request } = await import('undici')
    const ask = (encoding: string) =>
      request(`${news.url}/gzip`, {
        method: 'POST',
        body: JSON.stringify(call(1, 'eth_getBlockByNumber', '0x10', true)),
        headers: { 'accept-encoding': encoding },
      })
    const zipped = await ask('gzip')
    expect(zipped.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(Buffer.from(await zipped.body.arrayBuffer())).equals(plain)).toBe(true)
    const refused = await ask('identity')
    expect(refused.headers['content-encoding']).toBeUndefined()
    expect(Buffer.from(await refused.body.arrayBuffer()).equals(plain)).toBe(true)
  })

  it('refuses a batch that is over its rate as a whole, and counts its calls for its path alone', async () => {
    const batch = (calls: number) => Array.from({ length: calls }, (_, id) => call(id, 'eth_chainId'))
    const refused = await post('/throttled/1/mine', batch(5))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await refused.text()
    expect((await post('/throttled/1/mine', batch(1))).status).toBe(200)
    const countOf = async (path: string) => (await fetch(`${news.url}${path}`)).json()
    expect(await countOf('/throttled/1/mine')).toMatchObject({ refused: 5 })
    expect(await countOf('/throttled/1/other')).toMatchObject({ refused: 0 })
  })
})
