import { describe, expect, it } from 'vitest'
import type { BlockRange } from '../../../src/dataset/aligned-range.ts'
import { RangeFiles } from '../../../src/dataset/export/range-files.ts'
import type { CutBlock } from '../../../src/dataset/rows/cut-block.ts'
import type { TableFile } from '../../../src/dataset/rows/table-file.ts'
import type { DatasetTable } from '../../../src/dataset/tables.ts'
import { VERSION } from '../../../src/version.ts'

/** What the files of a range were told, in order. Files of tables in `full` have no room. */
function recorded({ full = [], fails }: { full?: readonly DatasetTable[]; fails?: DatasetTable } = {}) {
  const told: string[] = []
  const room = manual()
  const createFile = async (table: DatasetTable, { from }: BlockRange): Promise<TableFile> => {
    if (table === fails) throw new Error('no space left')
    const note = (what: string) => void told.push(`${table}: ${what}`)
    return {
      add: ({ number }: CutBlock) => {
        note(`add ${number}`)
        return full.includes(table) ? room.promise : undefined
      },
      finish: async () => {
        note('finish')
        return { entry: { name: `${table}-${from}` }, nulls: { [`${table}.value`]: 2 } }
      },
      publish: async () => note('publish'),
      abandon: async () => note('abandon'),
    } as unknown as TableFile
  }
  return { told, createFile, room }
}

function manual(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

const block = (number: number) => ({ number, hash: `h${number}`, parentHash: `h${number - 1}` }) as CutBlock
const range: BlockRange = { from: 3, to: 5 }

describe('the files of a range', () => {
  it('get each block, and the entry tells where the range begins and ends', async () => {
    const { told, createFile } = recorded()
    const files = await RangeFiles.create(['blocks', 'logs'], range, createFile)
    for (const number of [3, 4, 5]) expect(files.add(block(number))).toBeUndefined()
    expect(await files.finish()).toEqual({
      ...{ from: 3, to: 5, parentHash: 'h2', firstHash: 'h3', lastHash: 'h5', tool: VERSION },
      files: [{ name: 'blocks-3' }, { name: 'logs-3' }],
      checks: { made: { link: 3 }, skipped: {} },
      nulls: { 'blocks.value': 2, 'logs.value': 2 },
    })
    await files.publish()
    const steps = ['add 3', 'add 4', 'add 5', 'finish', 'publish']
    expect(told).toEqual(steps.flatMap((step) => [`blocks: ${step}`, `logs: ${step}`]))
  })

  it('count what was checked, in the order of names', async () => {
    const files = await RangeFiles.create(['blocks'], range, recorded().createFile)
    files.add(block(3), { checks: ['size', 'hash'], skipped: [{ check: 'prices', reason: 'z' }] })
    files.add(block(4), { checks: ['hash'], skipped: ['b', 'a'].map((reason) => ({ check: 'prices', reason })) })
    files.add(block(5), {
      checks: ['hash'],
      skipped: [
        { check: 'prices', reason: 'a' },
        { check: 'hash', reason: 'c' },
      ],
    } as never)
    const { checks } = await files.finish()
    expect(JSON.stringify(checks)).toBe('{"made":{"link":3,"hash":3,"size":1},"skipped":{"hash":{"c":1},"prices":{"a":2,"b":1,"z":1}}}')
  })

  it('make the reader wait for those that have no room, and for all of them', async () => {
    const { createFile, room } = recorded({ full: ['logs'] })
    const files = await RangeFiles.create(['blocks', 'logs'], range, createFile)
    const waiting = files.add(block(3))
    let isDone = false
    const done = waiting?.then(() => {
      isDone = true
    })
    await new Promise(setImmediate)
    expect(isDone).toBe(false)
    room.resolve()
    await done
  })

  it('are removed if one cannot be created, or if they are given up', async () => {
    const { told, createFile } = recorded({ fails: 'logs' })
    await expect(RangeFiles.create(['blocks', 'receipts', 'logs'], range, createFile)).rejects.toThrow('no space left')
    expect(told).toEqual(['blocks: abandon', 'receipts: abandon'])
    const other = recorded()
    await (await RangeFiles.create(['blocks', 'logs'], range, other.createFile)).abandon()
    expect(other.told).toEqual(['blocks: abandon', 'logs: abandon'])
  })
})
