import { expect, it } from 'vitest'
import type { Answer } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

/** Answers calls other than the chain's after this long. */
const answering =
  (result: unknown, afterMs: number): Answer =>
  async ({ entries, isBatch }, response) => {
    if (entries.some(({ method }) => method === 'eth_getBalance')) await sleep(afterMs)
    const replies = entries.map(({ id, method }) => ({
      jsonrpc: '2.0',
      id,
      result: method === 'eth_getBalance' ? result : method === 'eth_chainId' ? '0x1' : null,
    }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isBatch ? replies : replies[0]))
  }

it('the deadline of a call holds for the endpoint that is asked in place of one whose result cannot be decoded, too', async () => {
  const [first, second] = [await serve(answering({}, 400)), await serve(answering('0x10', 400))]
  const client = clientOf([first.url, second.url], { deadlineMs: 500 })
  const began = clock.now()
  const call = client.call('eth_getBalance', '0x000000000000000000000000000000000000dEaD')
  await expect(call).rejects.toMatchObject({ name: 'CodecError', endpoint: new URL(first.url).host })
  expect(clock.now() - began).toBeLessThan(510)
  const patient = clientOf([first.url, second.url])
  expect(await patient.call('eth_getBalance', '0x000000000000000000000000000000000000dEaD')).toBe(16n)
})
