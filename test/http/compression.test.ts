import * as zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { acceptEncoding, decompress, isLoopback } from '../../src/http/compression.ts'

/* Through clients: exchange.test.ts. */

const text = 'x'.repeat(1000)
const { gzipSync, deflateSync, deflateRawSync, brotliCompressSync } = zlib

describe('decompression', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['br ,identity, gzip', gzipSync(brotliCompressSync(text))],
  ])('undoes %s, the last coding first', async (encoding, body) => {
    expect(String(await decompress(body, encoding, 1000))).toBe(text)
  })

  test('decompresses no more than its limit', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync(text)],
      ['br, gzip', gzipSync(brotliCompressSync(text))],
    ] as const)
      await expect(decompress(body, encoding, 999)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
  })

  test.each([
    ['compress', 'unknown coding "compress"'],
    ['gzip, zip', 'unknown coding "zip"'],
    ['', 'unknown coding ""'],
  ])('refuses the coding %j', async (encoding, message) => {
    await expect(decompress(gzipSync(text), encoding, 1000)).rejects.toThrow(message)
  })

  test('supports each coding that it requests', async () => {
    const compressors: Record<string, (body: string) => Buffer> = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }
    if ('zstdCompressSync' in zlib) compressors.zstd = zlib.zstdCompressSync as (body: string) => Buffer
    expect(acceptEncoding.split(', ')).toEqual(Object.keys(compressors))
    for (const [encoding, pack] of Object.entries(compressors)) expect(String(await decompress(pack(text), encoding, 1000))).toBe(text)
  })
})

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
