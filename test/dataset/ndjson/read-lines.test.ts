import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib, { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { IntegrityError } from 'hexline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DatasetFormat } from '../../../src/dataset/folder/manifest.ts'
import { readLines } from '../../../src/dataset/ndjson/read-lines.ts'
import { runs } from '../../support/runs.ts'

const zstd = (zlib as { zstdCompressSync?: (bytes: string) => Buffer }).zstdCompressSync

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-lines-'))
})
afterAll(() => rm(dir, { recursive: true }))

async function linesOf(bytes: Buffer, format: DatasetFormat): Promise<string[]> {
  await writeFile(join(dir, 'file'), bytes)
  const lines: string[] = []
  for await (const some of readLines(dir, 'file', format)) lines.push(...some.map(String))
  return lines
}

it('gives back the lines, however long, of one member or of several', async () => {
  const line = fc
    .oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(600_000).map((length) => 'x'.repeat(length)),
    )
    .map((text) => text.replaceAll('\n', ' '))
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
      const pieces = lines.map((each) => Buffer.from(`${each}\n`))
      expect(await linesOf(Buffer.concat(pieces), 'ndjson')).toEqual(lines)
      expect(await linesOf(Buffer.concat([gzipSync(''), ...pieces.map((each) => gzipSync(each))]), 'ndjson.gz')).toEqual(lines)
    }),
    runs(20),
  )
})

it.each([
  ['a last line without its end', Buffer.from('{}\n{}'), 'ndjson'],
  ['a last line without its end, compressed', gzipSync('{}'), 'ndjson.gz'],
  ['no gzip', Buffer.from('{}\n'), 'ndjson.gz'],
  ['gzip that ends early', gzipSync('{}\n').subarray(0, 12), 'ndjson.gz'],
  ['gzip with more behind it', Buffer.concat([gzipSync('{}\n'), Buffer.alloc(3), gzipSync('{}\n')]), 'ndjson.gz'],
  ...(zstd === undefined
    ? []
    : ([
        ['a second frame, which Node.js does not read', Buffer.concat([zstd('{}\n'), zstd('{}\n')]), 'ndjson.zst'],
        ['a frame that ends early', zstd('{}\n').subarray(0, -2), 'ndjson.zst'],
        ['a frame to skip', Buffer.concat([zstd('{}\n'), Buffer.from('502a4d1803000000010203', 'hex')]), 'ndjson.zst'],
      ] as const)),
] as const)('%s is refused', async (_, bytes, format) => {
  const error = await linesOf(bytes, format).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(IntegrityError)
  expect(error).toMatchObject({ file: 'file', field: 'content' })
})

it('a file that is not there is no falsehood of its content', async () => {
  const reading = async () => {
    for await (const _ of readLines(dir, 'nothing', 'ndjson.gz'));
  }
  await expect(reading()).rejects.toMatchObject({ message: `${join(dir, 'nothing')} cannot be read: it does not exist` })
})

it('a line that is longer than any may be is refused before it is whole', async () => {
  const lines = async (bytes: Buffer, longest: number) => {
    await writeFile(join(dir, 'file'), bytes)
    const found: number[] = []
    for await (const some of readLines(dir, 'file', 'ndjson.gz', longest)) found.push(...some.map(({ length }) => length))
    return found
  }
  const bomb = gzipSync(Buffer.alloc(20_000_000, 0x61))
  await expect(lines(bomb, 1_000_000)).rejects.toMatchObject({ file: 'file', field: 'content', expected: 'lines of at most 1000000 bytes' })
  const fits = Buffer.from(`${'a'.repeat(400_000)}\n${'b'.repeat(400_000)}\n${'c'.repeat(400_000)}\n`)
  expect(await lines(gzipSync(fits), 400_000)).toEqual([400_000, 400_000, 400_000])
})
