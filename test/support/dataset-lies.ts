import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { exportDataset, verifyDataset } from 'hexline/bulk'
import type { DatasetFormat } from '../../src/dataset/folder/manifest.ts'
import { tableNames } from '../../src/dataset/tables.ts'
import type { MadeBlock } from './decoded-blocks.ts'
import type { Line } from './forged-dataset.ts'
import { FIRST, startValidChain, type ValidChain, validBlocks } from './valid-chain.ts'

/** A wrong value in the second block of a valid chain, or in its receipts. */
export interface Lie {
  readonly part: 'block' | 'receipts'
  readonly path: readonly (string | number)[]
  readonly value: unknown
}

/**
 * A lie about each value of a block with transactions of all types, and of two of its receipts with
 * logs.
 */
export async function everyLie(): Promise<Lie[]> {
  const { block, receipts } = (await validBlocks(2)).get(FIRST + 1) as MadeBlock
  const of = (part: Lie['part'], whole: unknown) => valuesIn(whole).map(([path, value]): Lie => ({ part, path, value: altered(value) }))
  return [...of('block', block), ...of('receipts', receipts).filter(({ path }) => path[0] === 2 || path[0] === 4)]
}

function valuesIn(value: unknown, path: Lie['path'] = []): [Lie['path'], unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]]
  return Object.entries(value).flatMap(([key, each]) => valuesIn(each, [...path, Array.isArray(value) ? Number(key) : key]))
}

/** Another value of the same form. */
function altered(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  if (value === null) return `0x${'11'.repeat(20)}`
  const text = value as string
  if (text === '0x') return '0x11'
  return `${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}`
}

/**
 * Exports the chain of a node that tells these lies, each to a folder of its own in `folder`, and
 * verifies what was written: its digests are right. Returns the lies that nothing finds, neither
 * the export nor the verification.
 */
export async function lieAndVerify(lies: readonly Lie[], format: DatasetFormat, folder: string): Promise<string[]> {
  let lie: Lie | undefined
  const server: ValidChain = await startValidChain(2, {
    answer: ({ method, params }) =>
      lie === undefined || Number(params[0]) !== FIRST + 1 ? undefined : told(server.blocks.get(FIRST + 1) as MadeBlock, lie, method),
  })
  const client = createClient(server.url)
  const unnoticed: string[] = []
  try {
    for (const [i, each] of lies.entries()) {
      // Columns have what the block says of itself, not what its rows repeat.
      if (format === 'parquet' && /^block(?:Hash|Number|Timestamp)$/.test(String(each.path.at(-1)))) continue
      lie = each
      const dir = join(folder, `${i}`)
      try {
        await exportDataset(client, { from: FIRST, to: FIRST + 1, dir, format, tables: tableNames, blocksPerFile: 4 })
        await verifyDataset(dir, { senders: true })
        unnoticed.push(`${each.part} ${each.path.join('.')}`)
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        // The export finds what does not link.
        if (error.file !== undefined && (error.block === undefined || !error.file.endsWith(`/000000008-000000009.${format}`)))
          throw new Error(`${each.path.join('.')}: the error does not name file and block`, { cause: error })
      }
      await rm(dir, { recursive: true, force: true })
    }
  } finally {
    await client.close()
    await server.close()
  }
  return unnoticed
}

/** The reply with the lie in it; undefined for other methods than the one that it is about. */
function told(made: MadeBlock, { part, path, value }: Lie, method: string): { result: unknown } | undefined {
  if (method !== (part === 'block' ? 'eth_getBlockByNumber' : 'eth_getBlockReceipts')) return undefined
  const result: Line = structuredClone(part === 'block' ? made.block : (made.receipts as unknown as Line))
  const holder = path.slice(0, -1).reduce((at: Line, key) => at[key] as Line, result)
  holder[path.at(-1) as string] = value
  return { result }
}
