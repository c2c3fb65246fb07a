import type { Queue } from 'bullmq'
import { OptionError } from 'hexline'
import { expect, it } from 'vitest'
import { enqueueExport, idOf } from '../../../adapters/bullmq/export-jobs.ts'

const plan = { dir: '/data', from: 0, to: 9999, chainId: 1 }

it.each([
  [{ ...plan, to: 'finalized' }, 'to: expected a block number: ask a node what a tag stands for'],
  [{ ...plan, chainId: 0 }, 'chainId: expected '],
  [{ ...plan, dir: '' }, 'dir: expected the path of a folder'],
  [{ ...plan, from: 10_000 }, 'to: expected at least the first block'],
  [{ ...plan, format: 'csv' }, 'format: expected '],
  [{ ...plan, rpc: 'http://SECRET' }, 'plan'],
])('an invalid export is refused before anything is added (%#)', async (wrong, message) => {
  // Nothing of a queue is used.
  const promise = enqueueExport({} as Queue, wrong as never)
  await expect(promise).rejects.toThrow(OptionError)
  await expect(promise).rejects.toThrow(message)
})

it('the id of an export is the same wherever it ends, and another one for anything else', () => {
  const one = { dir: '/data', chainId: 1, from: 0, to: 9, tables: ['blocks'] } as const
  expect(idOf({ ...one, to: 99 })).toBe(idOf(one))
  for (const other of [
    { ...one, dir: '/other' },
    { ...one, chainId: 2 },
    { ...one, from: 1 },
  ])
    expect(idOf(other)).not.toBe(idOf(one))
  expect(idOf(one)).toMatch(/^[0-9a-f]{16}$/)
})
