import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acceptEncoding, Decompressor, isLoopback } from '../../src/http/compression.ts'
import { runs } from '../support/runs.ts'

/* Through clients: exchange.test.ts. In pieces over sockets: chunk-boundaries.test.ts. */

const text = 'x'.repeat(1000)
const { gzipSync, deflateSync, deflateRawSync, brotliCompressSync } = zlib
const { zstdCompressSync, zstdDecompress } = zlib as { zstdCompressSync?: (body: zlib.InputType) => Buffer; zstdDecompress?: typeof zlib.gunzip }

const undo = (body: Buffer, encoding: string, maxOutputLength: number) => new Decompressor().undo(body, encoding, maxOutputLength)

/** What packs each coding, and Node.js's own way to undo it, as it is without settings. */
const codings: Record<string, { pack: (body: zlib.InputType) => Buffer; unpack: (body: Buffer) => Promise<Buffer> }> = {
  gzip: { pack: (body) => gzipSync(body), unpack: promisify(zlib.gunzip) },
  deflate: { pack: (body) => deflateSync(body), unpack: promisify(zlib.inflate) },
  br: { pack: (body) => brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }), unpack: promisify(zlib.brotliDecompress) },
}
if (zstdCompressSync !== undefined) codings.zstd = { pack: zstdCompressSync, unpack: promisify(zstdDecompress as typeof zlib.gunzip) }
const names = Object.keys(codings)

/** Whether the event loop turned before the promise settled: it did not if all was done at once. */
async function turnsUntil(settled: Promise<unknown>): Promise<boolean> {
  let turns = false
  setImmediate(() => {
    turns = true
  })
  await settled.catch(() => {})
  return turns
}

describe('decompression', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['gzip,', gzipSync(text)],
    [', gzip,, br ,', brotliCompressSync(gzipSync(text))],
    ['br ,identity, gzip', gzipSync(brotliCompressSync(text))],
  ])('undoes %s, the last coding first', async (encoding, body) => {
    expect(String(await undo(body, encoding, 1000))).toBe(text)
  })

  test.each([999, 99_999, 999_999])('decompresses no more than its limit of %i bytes', async (most) => {
    const body = Buffer.alloc(most + 1, 'xyz')
    for (const name of names) {
      const { pack } = codings[name] as (typeof codings)[string]
      expect((await undo(pack(body), name, most + 1)).equals(body)).toBe(true)
      for (const [encoding, packed] of [
        [name, pack(body)],
        [`${name}, gzip`, gzipSync(pack(body))],
      ] as const)
        await expect(undo(packed, encoding, most)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
    }
  })

  test.each([
    ['compress', 'unknown coding "compress"'],
    ['gzip, zip', 'unknown coding "zip"'],
    ['', 'unknown coding ""'],
    [' , ', 'unknown coding ""'],
  ])('refuses the coding %j', async (encoding, message) => {
    await expect(undo(gzipSync(text), encoding, 1000)).rejects.toThrow(message)
  })

  test('supports each coding that it requests', async () => {
    expect(acceptEncoding.split(', ').sort()).toEqual([...names].sort())
    for (const name of names) expect(String(await undo(codings[name]?.pack(text) as Buffer, name, 1000))).toBe(text)
  })

  test('gives what Node.js gives for any body, whole or damaged, and the same errors', async () => {
    const decompressors = new Map<string, Decompressor>()
    const plain = fc.tuple(fc.integer({ min: 0, max: 200_000 }), fc.string({ minLength: 1, maxLength: 300 })).map(([size, part]) => Buffer.alloc(size, part))
    const damage = fc.oneof(
      fc.constant((body: Buffer) => body),
      fc.double({ min: 0, max: 1, noNaN: true }).map((share) => (body: Buffer) => body.subarray(0, share * body.length)),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 255 })).map(([share, bits]) => (body: Buffer) => {
        const at = Math.floor(share * (body.length - 1))
        return Buffer.concat([body.subarray(0, at), Buffer.from([(body[at] as number) ^ bits]), body.subarray(at + 1)])
      }),
      fc.uint8Array({ minLength: 1, maxLength: 50 }).map((rest) => (body: Buffer) => Buffer.concat([body, rest])),
      plain.map((more) => (body: Buffer) => Buffer.concat([body, gzipSync(more)])),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), plain, damage, async (name, body, damaged) => {
        const { pack, unpack } = codings[name] as (typeof codings)[string]
        const packed = damaged(pack(body))
        // An empty body is never decompressed. A first byte that is not zlib's means raw deflate.
        fc.pre(packed.length > 0 && (name !== 'deflate' || ((packed[0] as number) & 0x0f) === 8))
        const decompressor = decompressors.get(name) ?? new Decompressor()
        decompressors.set(name, decompressor)
        const [mine, right] = await Promise.all([decompressor.undo(packed, name, 2 ** 27), unpack(packed)].map(resultOf))
        expect(mine).toEqual(right)
      }),
      runs(300),
    )
  })

  test('of small results is done at once: a thread of the pool would take longer', async () => {
    for (const name of names) expect(await turnsUntil(undo(codings[name]?.pack(text) as Buffer, name, 10 ** 6))).toBe(false)
  })

  test('of large results leaves this thread free, even where a small body holds them', async () => {
    for (const name of names) {
      const body = codings[name]?.pack(Buffer.alloc(2 ** 22)) as Buffer
      for (const most of [2 ** 22, 2 ** 20]) expect(await turnsUntil(undo(body, name, most))).toBe(true)
      if (name === 'gzip') continue
      // By what has come so far, this result would be small.
      const decompressor = new Decompressor()
      await decompressor.undo(codings[name]?.pack('0x') as Buffer, name, 100)
      expect(await turnsUntil(decompressor.undo(body, name, 2 ** 22))).toBe(true)
    }
  })

  test('makes a large result in one piece, with little room to spare', async () => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ number: i, hash: `0x${(i * 7919).toString(16)}` }))))
    for (const name of names) {
      const decompressor = new Decompressor()
      const packed = codings[name]?.pack(body) as Buffer
      // The first one shows how much larger results are, where bodies do not say it.
      if (name !== 'gzip') await decompressor.undo(packed, name, 2 ** 27)
      const { buffer, length } = await decompressor.undo(packed, name, 2 ** 27)
      expect(length).toBe(body.length)
      // A result that was joined from pieces has no spare room.
      expect(buffer.byteLength, name).toBeGreaterThan(length)
      expect(buffer.byteLength, name).toBeLessThan(1.2 * length)
    }
  })

  test('does not believe a size that cannot be', async () => {
    const members = [gzipSync(Buffer.alloc(300_000, 'xy')), gzipSync('z')]
    for (const body of [Buffer.concat(members), Buffer.concat([...members, Buffer.from([0, 0, 0, 255, 255, 255, 255])])]) {
      const result = await undo(body, 'gzip', 2 ** 27)
      expect(result.length).toBe(300_001)
      expect(result.buffer.byteLength).toBeLessThan(1_000_000)
    }
  })
})

async function resultOf(promise: Promise<Buffer>): Promise<string> {
  try {
    return (await promise).toString('latin1')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return `${code}: ${message}`
  }
}

test('this machine has several names', () => {
  for (const url of [
    'http://localhost',
    'http://LOCALHOST:8545',
    'http://a.localhost',
    'http://127.0.0.1',
    'http://127.1.2.3',
    'http://127.1',
    'http://[::1]:8545',
    'http://0x7f000001',
  ])
    expect([url, isLoopback(new URL(url).hostname)]).toEqual([url, true])
  for (const url of [
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://notlocalhost',
    'http://10.0.0.1',
    'http://[::2]',
    'http://128.0.0.1',
  ])
    expect([url, isLoopback(new URL(url).hostname)]).toEqual([url, false])
})
