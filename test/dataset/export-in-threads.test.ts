import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type * as Hexline from '../../src/index.ts'
import type * as Bulk from '../../src/index-bulk.ts'
import { FIRST, startValidChain } from '../support/valid-chain.ts'

/*
 * Blocks are verified in threads once a hundred have been, and later ones are read meanwhile. The
 * built package has threads on every Node.js, the sources do not.
 */

const load = <T>(file: string) => import(new URL(`../../dist/src/${file}`, import.meta.url).href) as Promise<T>

const COUNT = 130

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

it.each(['ndjson', 'parquet'] as const)('%s files are the same, however their blocks are verified', async (format) => {
  const [{ createClient }, { exportDataset }] = await Promise.all([load<typeof Hexline>('index.js'), load<typeof Bulk>('index-bulk.js')])
  const chain = await startValidChain(COUNT, {}, 7)
  onTestFinished(() => chain.close())
  const client = createClient(chain.url)
  onTestFinished(() => client.close())
  const files: Record<string, string>[] = []
  for (const verify of ['link', 'header', 'full'] as const) {
    const dir = await mkdtemp(join(tmpdir(), 'hexline-threads-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const tables = ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const
    await exportDataset(client, { from: FIRST, to: FIRST + COUNT - 1, dir, format, tables, verify, blocksPerFile: 50 })
    const names = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(format))
    files.push(Object.fromEntries(await Promise.all(names.map(async (name) => [name, digestOf(await readFile(join(dir, name)))] as const))))
  }
  const [link, header, full] = files
  expect(Object.keys(link ?? {}).length).toBeGreaterThanOrEqual(15)
  expect(header).toEqual(link)
  expect(full).toEqual(link)
})
