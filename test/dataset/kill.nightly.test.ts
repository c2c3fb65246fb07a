import { afterAll, beforeAll, expect, it } from 'vitest'
import { type KillBench, startKillBench } from '../support/dataset-kills.ts'

let bench: KillBench
beforeAll(async () => {
  bench = await startKillBench()
})
afterAll(() => bench.close())

it.each(['ndjson', 'ndjson.gz', 'parquet'])('%s: 50 times SIGKILL, and the folder ends as if nothing had happened', async (format) => {
  expect(await bench.run(format, 50)).toEqual({ kills: 50, isSame: true })
})
