import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { DatasetHeader, RangeEntry } from '../../../src/dataset/folder/manifest.ts'
import { type RangeEvent, RangeRun, startRangeWorker } from '../../../src/dataset/verify/range-workers.ts'

// The worker itself is tested in verify-ranges.test.ts.

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-range-workers-'))
})
afterEach(() => rm(dir, { recursive: true }))

const taskOf = (from: number) => ({ range: { from } as RangeEntry, chosen: [] })

/** Starts a thread that runs this for each message, and gives it `count` ranges. */
async function start(body: string, count: number, compare = async (_: unknown): Promise<void> => {}) {
  const file = join(dir, 'worker.mjs')
  await writeFile(file, `import { parentPort } from 'node:worker_threads'\nparentPort.on('message', (message) => { ${body} })\n`)
  const runs = Array.from({ length: count }, (_, i) => new RangeRun(taskOf(i)))
  const left = [...runs]
  const end = startRangeWorker(file, { dir, header: {} as DatasetHeader, senders: false }, { take: () => left.shift(), compare })
  return { runs, left, end }
}

it('events come in their order, before and after they are asked for', async () => {
  const run = new RangeRun(taskOf(1))
  run.tell({ blocks: 1 })
  run.tell({ blocks: 2 })
  expect([await run.next(), await run.next()]).toEqual([{ blocks: 1 }, { blocks: 2 }])
  const next = run.next()
  run.tell({ failed: true })
  expect(await next).toEqual({ failed: true })
})

it('a thread gets one range after another, each when it has ended the one before', async () => {
  const { runs, left } = await start('parentPort.postMessage({ blocks: message.range.from }); parentPort.postMessage({ failed: true })', 3)
  expect(left).toHaveLength(2)
  for (const [i, run] of runs.entries()) expect([await run.next(), await run.next()]).toEqual([{ blocks: i }, { failed: true }])
  expect(left).toHaveLength(0)
})

it('it waits until a block is compared, and a comparison that fails is reported', async () => {
  const body = `message === 'go on' ? parentPort.postMessage({ failed: true }) : parentPort.postMessage({ chosen: 7 })`
  let compare = () => {}
  const { runs } = await start(body, 1, (block) => {
    expect(block).toBe(7)
    return new Promise((_, reject) => {
      compare = () => reject(new Error('differs'))
    })
  })
  const [run] = runs as [RangeRun]
  const { compared } = (await run.next()) as Extract<RangeEvent, { compared: unknown }>
  compare()
  expect(await compared).toEqual({ fault: new Error('differs') })
  expect(await run.next()).toEqual({ failed: true })
})

it.each([
  ['ends', 'process.exit()'],
  ['throws', 'throw new Error("broken")'],
])('the range of a thread that %s has failed, and it gets no other', async (_, body) => {
  const { runs, left } = await start(body, 2)
  expect(await runs[0]?.next()).toEqual({ failed: true })
  expect(left).toHaveLength(1)
})

it('so has the range of one that is ended', async () => {
  const { runs, left, end } = await start('', 2)
  end()
  expect(await runs[0]?.next()).toEqual({ failed: true })
  expect(left).toHaveLength(1)
})
