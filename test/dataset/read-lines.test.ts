import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { IntegrityError } from 'hexline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DatasetFormat } from '../../src/dataset/manifest.ts'
import { readLines } from '../../src/dataset/read-lines.ts'
import { runs } from '../support/runs.ts'

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
] as const)('%s is refused', async (_, bytes, format) => {
  const error = await linesOf(bytes, format).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(IntegrityError)
  expect(error).toMatchObject({ file: 'file', field: 'content' })
})

it('a file that is not there is no falsehood of its content', async () => {
  const reading = async () => {
    for await (const _ of readLines(dir, 'nothing', 'ndjson.gz'));
  }
  await expect(reading()).rejects.toMatchObject({ code: 'ENOENT' })
})
