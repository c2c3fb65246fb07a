import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIRST_BLOCK } from '../../bench/blocks.ts'

const BLOCKS = 100_000

const start = (script: string, ...args: string[]) => fork(fileURLToPath(new URL(script, import.meta.url)), args, { execArgv: ['--import', 'tsx'] })

let server: ReturnType<typeof start>
let url: string
beforeAll(async () => {
  server = start('../../bench/server.ts', 'made', '200')
  const [news] = (await once(server, 'message')) as [{ url: string }]
  url = news.url
})
afterAll(() => {
  server.disconnect()
})

const medianOf = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number

it.each(['ndjson', 'parquet'])(
  '%s: 100,000 blocks of 200 transactions on average take at most 400 MB, and no more in the end than in the middle',
  async (format) => {
    const child = start('../support/dataset-memory-process.ts', url, String(FIRST_BLOCK), String(BLOCKS), format)
    const [{ samples, peak }] = (await once(child, 'message')) as [{ samples: number[]; peak: number }]
    console.log(`${format}: peak ${peak} MB; every 10,000 blocks: ${samples.filter((_, i) => i % 10 === 9).join(', ')} MB`)
    expect(samples).toHaveLength(BLOCKS / 1000)
    expect(peak).toBeLessThanOrEqual(400)
    const half = samples.slice(samples.length / 2)
    expect(medianOf(half.slice(half.length / 2))).toBeLessThanOrEqual(1.1 * medianOf(half.slice(0, half.length / 2)))
  },
  // It takes ten minutes on an idle machine.
  3_600_000,
)
