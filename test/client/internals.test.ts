import { createRequire } from 'node:module'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/create-client.ts'
import { limitsOf, withInternalsOf } from '../../src/client/internals.ts'
import { startChain } from '../support/chain-server.ts'

/* The ES modules and the CommonJS build in one process: each has a copy of everything. */
const require = createRequire(import.meta.url)
type Hexline = typeof import('../../src/index.ts')
type Bulk = typeof import('../../src/index-bulk.ts')
const modules = new URL('../../dist/src/', import.meta.url).href
const esm: Hexline & Bulk = { ...(await import(`${modules}index.js`)), ...(await import(`${modules}index-bulk.js`)) }
const cjs: Hexline & Bulk = { ...require('../../dist/cjs/src/index.js'), ...require('../../dist/cjs/src/index-bulk.js') }

it.each([
  { owner: 'CommonJS build', own: cjs, user: 'ES modules', other: esm },
  { owner: 'ES modules', own: esm, user: 'CommonJS build', other: cjs },
])('a client of the $owner works with the blocks and the probe of the $user', async ({ own, other }) => {
  const server = await startChain({
    head: 5,
    answer: ({ params }, right) => (params[0] === '0x3' ? { result: { ...(right as object), gasUsed: '0x' } } : undefined),
  })
  onTestFinished(() => server.close())
  await using client = own.createClient(server.url)
  const numbers: bigint[] = []
  const read = async () => {
    for await (const { number } of other.getBlocks(client, { from: 0, to: 5 })) numbers.push(number)
  }
  // The error says where the block came from, as with a client of the same build.
  const { host } = new URL(server.url)
  await expect(read()).rejects.toMatchObject({ name: 'CodecError', path: 'blocks[3].gasUsed', endpoint: host, attempts: 1 })
  expect(numbers).toEqual([0n, 1n, 2n])
  const { endpoints } = await other.probe(client, { rateCalls: false })
  expect(endpoints.map(({ endpoint }) => endpoint)).toEqual([host])
})

it('a client shows what its endpoints are sent, also through a client that calls it', () => {
  const units = { unitsPerSecond: 500, units: { eth_call: 7 } }
  const client = createClient(['http://127.0.0.1:1', 'http://127.0.0.1:2'], { batch: { maxCalls: 7 }, concurrency: 3, rate: units })
  const [one, two] = limitsOf(client)
  expect(one).toMatchObject({ maxCalls: 7, concurrency: 3, callsPerSecond: undefined, units: { perSecond: 500 } })
  expect([one?.units?.costOf?.('eth_call'), two?.units?.costOf?.('eth_getLogs')]).toEqual([7, 60])
  expect(limitsOf(createClient('http://127.0.0.1:1', { rate: { callsPerSecond: 25 } }))[0]).toMatchObject({ callsPerSecond: 25, units: undefined })
  expect(limitsOf(withInternalsOf(client, { ...client }))).toHaveLength(2)
  expect(limitsOf({})).toEqual([])
})
