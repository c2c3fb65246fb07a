import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { blockLines } from '../../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../../src/bulk/get-blocks.ts'
import { IntegrityError, OptionError } from '../../../src/index.ts'
import { type GetBlocksOptions, getBlocks, type Progress } from '../../../src/index-bulk.ts'
import type { ChainServer } from '../../support/chain-server.ts'
import { type MadeBlock, madeJson } from '../../support/decoded-blocks.ts'
import { type Alter, madeChain, startMadeChain } from '../../support/made-chain.ts'
import { clientOf, errorOf } from '../../support/server.ts'

const LAST = 5
const WRONG = 3
const whole = { from: 0, to: LAST, transactions: 'full', receipts: true, verify: 'full' } as const

let chain: MadeBlock[]
beforeAll(async () => {
  chain = await madeChain(LAST)
})

/** A node of the chain, which alters block 3. */
async function start(alter?: Alter): Promise<ChainServer> {
  const server = await startMadeChain(chain, WRONG, alter)
  onTestFinished(() => server.close())
  return server
}

async function hashesOf(servers: readonly ChainServer[], options: GetBlocksOptions = whole): Promise<unknown[]> {
  const hashes: unknown[] = []
  const [first = '', ...others] = servers.map(({ url }) => url)
  for await (const { hash } of getBlocks(clientOf([first, ...others]), options)) hashes.push(hash)
  return hashes
}

const asked = ({ calls }: ChainServer, method: string) => calls.filter((call) => call.method === method && call.params[0] === `0x${WRONG}`).length

const alterations: readonly (readonly [string, string, Alter])[] = [
  ['a field of the header', 'hash', ({ block }) => Object.assign(block, { gasLimit: '0x1' })],
  ['the hash of the block', 'hash', ({ block }) => Object.assign(block, { hash: `0x${'ab'.repeat(32)}` })],
  ['a value', 'transactions[3].hash', ({ block }) => Object.assign(block.transactions[3] as object, { value: '0x2' })],
  ['a status', 'receiptsRoot', ({ receipts }) => Object.assign(receipts[1] as object, { status: '0x0' })],
  ['a withdrawal', 'withdrawalsRoot', ({ block }) => (block.withdrawals as unknown[]).pop()],
]

describe("getBlocks with verify: 'full'", () => {
  test('delivers blocks that are right, and counts what was proven', async () => {
    const progress: Progress[] = []
    const server = await start()
    expect(await hashesOf([server], { ...whole, senders: true, onProgress: (each) => progress.push(each) })).toEqual(chain.map(({ block }) => block.hash))
    const blocks = LAST + 1
    expect(progress.map(({ number, verified }) => [number, verified?.blocks])).toEqual(chain.map((_, i) => [BigInt(i), i + 1]))
    expect(progress.at(-1)?.verified).toEqual({
      blocks,
      checks: { hash: blocks, uncles: blocks, withdrawals: blocks, transactions: blocks, receipts: blocks, prices: blocks, size: blocks, senders: blocks },
      skipped: {},
    })
  })

  test.each(alterations)('asks another endpoint for a block with %s altered', async (_, __, alter) => {
    const [wrong, right] = [await start(alter), await start()]
    expect(await hashesOf([wrong, right])).toEqual(chain.map(({ block }) => block.hash))
    expect(await hashesOf([right, wrong])).toEqual(chain.map(({ block }) => block.hash))
  })

  test.each(alterations)('rejects if all agree on %s, after the blocks before', async (_, field, alter) => {
    const servers = [await start(alter), await start(alter)]
    const hashes: unknown[] = []
    const [a, b] = servers.map(({ url }) => url) as [string, string]
    const error: unknown = await errorOf(
      (async () => {
        for await (const { hash } of getBlocks(clientOf([a, b]), whole)) hashes.push(hash)
      })(),
    )
    expect(error).toBeInstanceOf(IntegrityError)
    // Receipts of a block whose hash was altered are those of another block.
    expect((error as IntegrityError).message).toContain(
      field === 'hash' && (error as IntegrityError).field === undefined ? `block ${WRONG}: receipt 0` : `block ${WRONG}: ${field}: expected`,
    )
    expect(hashes).toEqual(chain.slice(0, WRONG).map(({ block }) => block.hash))
    expect(servers.map((server) => asked(server, 'eth_getBlockByNumber')).reduce((sum, each) => sum + each)).toBe(7)
  })

  test('asks another endpoint for a block that is right, but of another branch', async () => {
    const branch = await madeJson({ number: BigInt(WRONG), parentHash: `0x${'ab'.repeat(32)}` })
    const replaced: Alter = (made) => Object.assign(made, structuredClone(branch))
    const [wrong, right] = [await start(replaced), await start()]
    const options = { ...whole, receipts: false }
    expect(await hashesOf([wrong, right], options)).toEqual(chain.map(({ block }) => block.hash))
    expect(await hashesOf([right, wrong], options)).toEqual(chain.map(({ block }) => block.hash))
    const error = await errorOf(hashesOf([wrong], options))
    expect(error).toBeInstanceOf(IntegrityError)
    expect(error.message).toContain(`block ${WRONG} names 0x${'ab'.repeat(32)} as its parent`)
  })

  test('asks the only endpoint once more', async () => {
    let left = 1
    const server = await start(({ block }) => left-- > 0 && Object.assign(block, { gasLimit: '0x1' }))
    const options = { ...whole, receipts: false }
    expect(await hashesOf([server], options)).toEqual(chain.map(({ block }) => block.hash))
    expect(asked(server, 'eth_getBlockByNumber')).toBe(2)
  })

  test('names the endpoint', async () => {
    const server = await start(({ block }) => Object.assign(block, { gasLimit: '0x1' }))
    expect(await errorOf(hashesOf([server], { ...whole, receipts: false }))).toMatchObject({ field: 'hash', endpoint: new URL(server.url).host })
  })

  test('verifies all fields, and delivers those that were asked for', async () => {
    const blocks: unknown[] = []
    const server = await start()
    for await (const block of getBlocks(clientOf(server.url), { ...whole, fields: ['gasUsed'] })) blocks.push(Object.keys(block).sort())
    expect(blocks).toEqual(chain.map(() => ['gasUsed', 'hash', 'number', 'parentHash', 'receipts', 'transactions']))
    const wrong = await start(({ block }) => Object.assign(block.transactions[3] as object, { value: '0x2' }))
    expect(await errorOf(hashesOf([wrong], { ...whole, fields: ['gasUsed'] }))).toMatchObject({ field: 'transactions[3].hash' })
  })

  test('verifies transactions without receipts, and receipts without transactions', async () => {
    const wrongStatus = await start(({ receipts }) => Object.assign(receipts[1] as object, { status: '0x0' }))
    expect(await hashesOf([wrongStatus], { ...whole, receipts: false })).toHaveLength(LAST + 1)
    expect(await errorOf(hashesOf([wrongStatus], { ...whole, transactions: 'hashes' }))).toMatchObject({ field: 'receiptsRoot' })
  })

  test('verifies the lines of an export', async () => {
    const lines = async (server: ChainServer) => {
      let count = 0
      for await (const _ of blockLines(clientOf(server.url), checkBlockOptions(whole))) count++
      return count
    }
    expect(await lines(await start())).toBe(LAST + 1)
    expect(await errorOf(lines(await start(({ block }) => Object.assign(block.transactions[3] as object, { value: '0x2' }))))).toMatchObject({
      field: 'transactions[3].hash',
    })
  })

  test('ends its requests when the consumer stops', async () => {
    const server = await start()
    for await (const block of getBlocks(clientOf(server.url), whole)) if (block.number === 1n) break
    const { length } = server.calls
    expect(length).toBeGreaterThan(0)
  })
})

describe("getBlocks with verify: 'header'", () => {
  test('finds a wrong header, without transactions and receipts', async () => {
    const options = { from: 0, to: LAST, verify: 'header' } as const
    expect(await hashesOf([await start()], options)).toHaveLength(LAST + 1)
    const wrong = await start(({ block }) => Object.assign(block, { gasLimit: '0x1' }))
    expect(await errorOf(hashesOf([wrong], options))).toMatchObject({ field: 'hash' })
    expect(await hashesOf([wrong], { ...options, verify: 'link' })).toHaveLength(LAST + 1)
  })
})

test.each([
  [{ verify: 'all' }, "verify: expected 'link', 'header' or 'full', received \"all\""],
  [{ verify: 'full' }, "verify: expected transactions: 'full' or receipts: true with 'full', received \"full\" without them"],
  [{ verify: 'full', receipts: true, senders: true }, "senders: expected verify: 'full' and transactions: 'full' with it, received true without them"],
  [{ senders: true }, "senders: expected verify: 'full' and transactions: 'full' with it, received true without them"],
])('refuses %o at once', async (options, message) => {
  const server = await start()
  const client = clientOf(server.url)
  expect(() => getBlocks(client, { from: 0, to: 1, ...options } as GetBlocksOptions)).toThrow(OptionError)
  expect(() => getBlocks(client, { from: 0, to: 1, ...options } as GetBlocksOptions)).toThrow(message)
})
