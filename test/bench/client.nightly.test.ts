import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_BLOCK } from '../../bench/blocks.ts'
import type { Task } from '../../bench/client.ts'
import type { ServerNews } from '../../bench/server.ts'

const start = (script: string, argument: string): ChildProcess =>
  fork(fileURLToPath(new URL(`../../bench/${script}`, import.meta.url)), [argument], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })

const server = start('server.ts', 'made')
let news: ServerNews
beforeAll(async () => {
  news = (await once(server, 'message'))[0] as ServerNews
})
afterAll(async () => {
  server.disconnect()
  await once(server, 'exit')
})

/** What a client's process reports for ten blocks with hashes, its exit code and its last words. */
async function measure(task: Partial<Task>) {
  const whole: Task = {
    workload: 'blocks with hashes',
    client: 'undici + JSON.parse',
    url: news.url,
    warmUp: 3,
    measured: 10,
    transactions: news.transactions,
    transfers: news.transactions,
    bytes: 1,
    ...task,
  }
  const child = start('client.ts', JSON.stringify(whole))
  let said = ''
  let figures: unknown
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  child.on('message', (message) => {
    figures = message
  })
  const [code] = await once(child, 'close')
  return { code, figures, said }
}

describe("the process of the benchmark's client", () => {
  it('reports CPU and wall time per unit, and its peak', async () => {
    const { code, figures } = await measure({})
    expect(code).toBe(0)
    expect(figures).toEqual({ cpu: expect.any(Number), wall: expect.any(Number), peakMb: expect.any(Number) })
  })

  it('reports no figure for work that was not done', async () => {
    const transactions = news.transactions.map((count, i) => (i === (FIRST_BLOCK + 4) % news.transactions.length ? count + 1 : count))
    const { code, figures, said } = await measure({ transactions })
    expect([code, figures]).toEqual([1, undefined])
    expect(said).toMatch(/undici \+ JSON\.parse, blocks with hashes, 10 from \d+: expected \d+ parts, received \d+/)
  })

  it('reports none for replies that are too short, either', async () => {
    const { figures, said } = await measure({ client: 'undici, bytes only', bytes: 1e9 })
    expect(figures).toBeUndefined()
    expect(said).toMatch(/expected at least 1000000000 bytes each, received \d+ in total/)
  })

  it('says which client has no way to do a workload', async () => {
    const { code, said } = await measure({ client: 'ox', workload: 'throttled' })
    expect(code).toBe(1)
    expect(said).toContain('ox has no way to do throttled')
  })
})
