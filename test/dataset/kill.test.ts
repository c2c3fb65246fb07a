import { afterAll, beforeAll, expect, it } from 'vitest'
import { type KillBench, startKillBench } from '../support/dataset-kills.ts'

let bench: KillBench
beforeAll(async () => {
  bench = await startKillBench()
})
afterAll(() => bench.close())

it('SIGKILL, and the folder ends as if nothing had happened', async () => {
  expect(await bench.run('parquet', 1)).toEqual({ kills: 1, isSame: true })
})
