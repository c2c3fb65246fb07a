import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { type ExportDatasetOptions, exportDataset, verifyDataset } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tableNames } from '../../../src/dataset/tables.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { everyLie, lieAndVerify } from '../../support/dataset-lies.ts'
import { flipBits } from '../../support/flipped-bits.ts'
import { randomFrom } from '../../support/random.ts'
import { FIRST, startValidChain } from '../../support/valid-chain.ts'

const formats = ['ndjson', 'ndjson.gz', ...(hasZstd ? (['ndjson.zst'] as const) : []), 'parquet'] as const
const COUNT = 20

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-verify-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** Exports to `dir`; returns the names of all files. */
async function write(options: Partial<ExportDatasetOptions>): Promise<string[]> {
  const server = await startValidChain(COUNT)
  await using client = createClient(server.url)
  await exportDataset(client, { from: FIRST, to: FIRST + COUNT - 1, dir, tables: tableNames, ...options })
  await server.close()
  return (await readdir(dir, { recursive: true, withFileTypes: true }))
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(dir.length + 1))
}

/** Whether the verification names this file. */
async function isFound(name: string): Promise<boolean> {
  try {
    await verifyDataset(dir)
    return false
  } catch (error) {
    return error instanceof IntegrityError && error.file === name
  }
}

describe.each(formats)('%s', (format) => {
  it('every single bit of a small dataset', { timeout: 600_000 }, async () => {
    const options = { format, to: FIRST, tables: ['withdrawals'] as const }
    for (const name of await write({ ...options, ...(format === 'parquet' && { columns: ['withdrawals.index'] }) })) {
      const bytes = await readFile(join(dir, name))
      await flipBits(bytes, 'all', async () => {
        await writeFile(join(dir, name), bytes)
        return await isFound(name)
      })
      await writeFile(join(dir, name), bytes)
    }
    await verifyDataset(dir)
  })

  it('bits at random of a larger one, with all tables', { timeout: 600_000 }, async () => {
    const names = await write({ format, blocksPerFile: 5 })
    const random = randomFrom(20)
    for (let i = 0; i < 3_000; i++) {
      const name = names[Math.floor(random() * names.length)] as string
      const bytes = await readFile(join(dir, name))
      if (bytes.length === 0) continue
      const at = Math.floor(random() * bytes.length)
      const byte = bytes[at] as number
      bytes[at] = byte ^ (1 << Math.floor(random() * 8))
      await writeFile(join(dir, name), bytes)
      if (!(await isFound(name))) expect.fail(`byte ${at} of ${name}`)
      bytes[at] = byte
      await writeFile(join(dir, name), bytes)
    }
    await verifyDataset(dir)
  })

  it('every lie of a node about a block, its receipts and logs', { timeout: 600_000 }, async () => {
    expect(await lieAndVerify(await everyLie(), format, dir)).toEqual([])
  })
})
