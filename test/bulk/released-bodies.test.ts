import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type ClientOptions, createClient, type Layer } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { blockLines } from '../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../src/bulk/get-blocks.ts'
import { BodyPool } from '../../src/rpc/body-pool.ts'
import { blockOf, type ChainOptions, startChain } from '../support/chain-server.ts'
import { inShell } from '../support/command.ts'
import { poisons } from '../support/poison.ts'
import { nightly } from '../support/runs.ts'

/*
 * The memory of bodies is reused. In these tests a body is overwritten as soon as it is released,
 * so that reading it later gives bytes that no server has sent: once such that are in no text, and
 * once such that are JSON of other values, since what is not JSON would be requested again.
 */

const { take, release } = BodyPool.prototype
/** The buffers that the pools have handed out, and how many times in all. */
let buffers: Set<unknown>
let taken: number
let released: number
/** Overwrites a released body. */
let poison: (bytes: Buffer) => void = poisons['other digits']

beforeEach(() => {
  buffers = new Set()
  taken = 0
  released = 0
  vi.spyOn(BodyPool.prototype, 'take').mockImplementation(function (this: BodyPool, size) {
    const memory = take.call(this, size)
    if (memory === undefined) return undefined
    buffers.add(memory.buffer)
    taken++
    return memory.fill(0xff)
  })
  vi.spyOn(BodyPool.prototype, 'release').mockImplementation(function (this: BodyPool, bytes) {
    release.call(this, bytes)
    if (bytes.length > 0) released++
    poison(bytes)
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

const LAST = 150
/** Blocks of 90 kB. */
const LARGE: Omit<ChainOptions, 'head'> = { transactions: () => 4, inputBytes: 10_000 }

async function chain(options: Partial<ChainOptions> = {}) {
  const server = await startChain({ head: LAST, ...LARGE, ...options })
  onTestFinished(() => server.close())
  return server
}

/** A proxy that forwards the server's replies in another form. */
async function passedOn(url: string, send: (body: Buffer, response: ServerResponse) => void) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const right = await fetch(url, { method: 'POST', body: Buffer.concat(chunks) })
    send(Buffer.from(await right.arrayBuffer()), response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const range = { from: 0, to: LAST, transactions: 'full' } as const

async function linesFrom(url: string, options: object = {}, settings: ClientOptions = {}): Promise<string[]> {
  await using client = createClient(url, settings)
  const lines: string[] = []
  for await (const line of blockLines(client, checkBlockOptions({ ...range, ...options }))) {
    // Other bodies arrive in the meantime.
    if (lines.length % 20 === 0) await setTimeout(5)
    lines.push(Buffer.concat(line).toString())
  }
  return lines
}

function expectLines(lines: readonly string[], count = LAST + 1) {
  expect(lines.length).toBe(count)
  for (const [number, line] of lines.entries()) {
    const { receipts, ...block } = JSON.parse(line)
    expect(block).toEqual(blockOf(number, true, { head: LAST, ...LARGE }))
  }
}

const { 'other digits': otherDigits, 'no text': noText } = poisons

describe.each([['other digits', otherDigits] as const, ...nightly(['no text', noText] as const)])(
  'the memory of bodies, overwritten by %s,',
  (_, overwrite) => {
    beforeEach(() => {
      poison = overwrite
    })

    it('is reused for the bodies of later blocks, whose lines are correct', async () => {
      const { url } = await chain()
      expectLines(await linesFrom(url, { maxBytes: 1_000_000 }, { batch: { maxCalls: 1 } }))
      expect(taken).toBeGreaterThan(LAST)
      expect(buffers.size).toBeLessThan(taken / 2)
    })

    it.each([
      ['without their length', (body, response) => void response.write(body.subarray(0, 70_000), () => response.end(body.subarray(70_000)))],
      ['with the results before the ids', (body, response) => response.end(reordered(body))],
      ['compressed', (body, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(body))],
    ] as [string, Parameters<typeof passedOn>[1]][])('is reused for bodies %s', async (name, send) => {
      const { url } = await chain()
      expectLines(await linesFrom(await passedOn(url, send)))
      // zlib allocates its own memory.
      expect(taken > 0).toBe(name !== 'compressed')
      expect(released).toBeGreaterThan(5)
    })

    it.each([{}, { receipts: true }])('is released once blocks are decoded: %o', async (options) => {
      const { url } = await chain()
      await using client = createClient(url)
      const blocks = await allOf(getBlocks(client, { ...range, ...options }))
      expect(released).toBeGreaterThan(5)
      vi.restoreAllMocks()
      const right = await allOf(getBlocks(client, { ...range, ...options }))
      expect(blocks).toEqual(right)
    })

    it('is released with receipts, even if they are fetched one by one', async () => {
      const right = await chain()
      expectLines(await linesFrom(right.url, { receipts: true }))
      const { url } = await chain({
        answer: ({ method }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'the method does not exist' } } : undefined),
      })
      expect(await linesFrom(url, { receipts: true, to: 40 })).toEqual(await linesFrom(right.url, { receipts: true, to: 40 }))
      expect(released).toBeGreaterThan(5)
    })

    it('is not reused under a layer that keeps replies', async () => {
      const { url, calls } = await chain()
      const kept = new Map<string, { value: unknown; bytes: number }>()
      const cache: Layer = (next) => async (call) => {
        const key = JSON.stringify([call.method, call.params])
        if (!kept.has(key)) {
          const reply = await next(call)
          kept.set(key, { value: reply.take(), bytes: reply.bytes })
        }
        const { value, bytes } = kept.get(key) as { value: unknown; bytes: number }
        return { take: () => value, bytes }
      }
      const layers = (defaults: readonly Layer[]) => [cache, ...defaults]
      expectLines(await linesFrom(url, {}, { layers }))
      const asked = calls.length
      expectLines(await linesFrom(url, {}, { layers }))
      expect(calls.length).toBe(asked)
    })

    it('is not reused after a job is stopped while others continue', async () => {
      const { url } = await chain()
      // Each block has its own body.
      await using client = createClient(url, { batch: { maxCalls: 1 } })
      const stopped = new AbortController()
      const held: { line: readonly Uint8Array[]; text: string }[] = []
      const hold = (line: readonly Uint8Array[]) => held.push({ line, text: Buffer.concat(line).toString() })
      const iterator = blockLines(client, checkBlockOptions({ ...range, signal: stopped.signal }))
      const { value } = await iterator.next()
      hold(value as readonly Uint8Array[])
      stopped.abort(new Error('enough'))
      await expect(iterator.next()).rejects.toThrow('enough')
      for await (const line of blockLines(client, checkBlockOptions(range))) {
        hold(line)
        break
      }
      expect(await allOf(blockLines(client, checkBlockOptions(range)))).toHaveLength(LAST + 1)
      for (const { line, text } of held) expect(Buffer.concat(line).toString() === text).toBe(true)
    })

    it('is never reused for bytes that the user requested', async () => {
      const { url } = await chain()
      await using client = createClient(url)
      const ask = (n: number) => client.send({ method: 'eth_getBlockByNumber', params: [`0x${n.toString(16)}`, true], as: 'bytes' })
      const [mine] = await Promise.all([ask(7), allOf(getBlocks(client, range))])
      const bytes = mine.take() as Uint8Array
      expect(await allOf(blockLines(client, checkBlockOptions(range)))).toHaveLength(LAST + 1)
      expect(Number(JSON.parse(Buffer.from(bytes).toString()).number)).toBe(7)
    })
  },
)

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The same envelopes, each with its result first. */
function reordered(body: Buffer): string {
  const replies = JSON.parse(body.toString()) as object | object[]
  const turn = (reply: object) => Object.fromEntries(Object.entries(reply).reverse())
  return JSON.stringify(Array.isArray(replies) ? replies.map(turn) : turn(replies))
}

describe.each([['other digits', otherDigits] as const, ...nightly(['no text', noText] as const)])(
  'hexline blocks, with bodies overwritten by %s,',
  (_, overwrite) => {
    const source = (url: string) => `
    const poison = ${overwrite}
    const { BodyPool } = await import(${JSON.stringify(url)})
    const { release } = BodyPool.prototype
    BodyPool.prototype.release = function (bytes) { release.call(this, bytes); poison(bytes) }`

    it.each([
      ['--out', '--out $folder/lines'],
      ['a pipe', '| cat > $folder/lines'],
      ...nightly(['a file', '> $folder/lines'], ['a slow pipe', '| (sleep 1; cat) > $folder/lines']),
    ])('does not read a released body: %s', async (_, to) => {
      const folder = await mkdtemp(join(tmpdir(), 'hexline-released-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const { url } = await chain()
      const pool = pathToFileURL(new URL('../../dist/src/rpc/body-pool.js', import.meta.url).pathname).href
      const poison = `data:text/javascript,${encodeURIComponent(source(pool))}`
      const { code, stderr } = await inShell(
        `folder=${folder}; set -o pipefail; NODE_OPTIONS=--import=${JSON.stringify(poison)} $hexline blocks --rpc ${url} --from 0 --to ${LAST} --quiet ${to}`,
      )
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expectLines((await readFile(join(folder, 'lines'), 'utf8')).trimEnd().split('\n'))
    })
  },
)
