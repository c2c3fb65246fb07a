import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { exportProgress } from 'hexline/bullmq'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spawnHexline, startHexline } from '../../support/command.ts'
import { startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'
import { randomFrom } from '../../support/random.ts'
import { hasRedis, type RedisServer, startRedis } from '../../support/redis.ts'
import { dumpOf } from '../../support/redis-dump.ts'
import { FIRST, startValidChain } from '../../support/valid-chain.ts'

/* Workers in processes of their own, and all that happens to processes and to Redis. */

/** Of the chain whose hashes hold, each signature of which takes its time. */
const BLOCKS = 200

type Hexline = ReturnType<typeof startHexline>

describe.runIf(hasRedis)('workers', () => {
  let redis: RedisServer
  let folder: string
  beforeEach(async () => {
    redis = await startRedis({ password: 'SECRET-PASSWORD' })
    folder = await mkdtemp(join(tmpdir(), 'hexline-workers-'))
  })
  afterEach(async () => {
    await redis.stop()
    await rm(folder, { recursive: true })
  })

  const env = (url: string) => ({ HEXLINE_REDIS_URL: redis.url, HEXLINE_RPC_URL: `${url}/SECRET-KEY` })

  /** Waits for the export, ends the workers as a supervisor does, and looks at what there is. */
  async function expectAll(dir: string, ranges: number, exported: Hexline, workers: readonly Hexline[], plain: Record<string, string>) {
    const { code, stderr } = await exported.ended
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
    for (const worker of workers) worker.kill('SIGTERM')
    for (const worker of workers) {
      const { code, stderr } = await worker.ended
      // It was started while there was no Redis.
      if (code !== 0) expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('cannot be used') })
    }
    const queue = new Queue('hexline', { connection: redis.redis, prefix: 'hexline' })
    expect((await exportProgress(queue)).ranges).toMatchObject({ total: ranges, done: ranges, failed: 0 })
    expect((await queue.getJobs(['completed'])).filter(({ returnvalue }) => returnvalue === null)).toEqual([])
    await queue.close()
    expect(await spawnHexline(['merge', dir])).toMatchObject({ code: 0 })
    const files = Object.entries(await digestsOf(dir)).filter(([name]) => !name.startsWith('parts/'))
    expect(Object.fromEntries(files)).toEqual(plain)
    const dump = await dumpOf(redis.redis)
    expect(dump).toContain('hexline')
    expect(dump).not.toMatch(/SECRET/)
  }

  it('1, 2, 4 and 8 of them fill one folder: byte for byte what one run writes', async () => {
    const server = await startDatasetChain({ head: 1200 })
    const argsFor = (dir: string) => ['export', '--from', '1', '--to', '1200', '--out', dir, '--blocks-per-file', '20', '--tables', 'blocks,transactions,logs']
    try {
      const alone = join(folder, 'plain')
      expect(await spawnHexline(argsFor(alone), { env: env(server.url) })).toMatchObject({ code: 0 })
      const plain = await digestsOf(alone)
      for (const count of [1, 2, 4, 8]) {
        const dir = join(folder, `by-${count}`)
        const workers = Array.from({ length: count }, () => startHexline(['worker', '--json', '--no-budget'], { env: env(server.url) }))
        await Promise.all(workers.map((worker) => new Promise((resolve) => worker.stderr?.once('data', resolve))))
        const exported = startHexline([...argsFor(dir), '--redis'], { env: env(server.url) })
        await exported.ended
        await expectAll(dir, 61, exported, workers, plain)
        await redis.redis.flushall()
      }
    } finally {
      await server.close()
    }
  })

  it('50 of them killed, Redis killed and cut off, and one stopped past its lock: each range is committed once, and nothing is lost', async () => {
    let delayMs = 0
    const server = await startValidChain(BLOCKS, { gate: () => (delayMs === 0 ? undefined : sleep(delayMs)) })
    const dir = join(folder, 'chaos')
    const argsFor = (out: string) => [
      ...['export', '--from', String(FIRST), '--to', String(FIRST + BLOCKS - 1), '--out', out, '--blocks-per-file', '1', '--verify', 'full', '--json'],
      ...['--tables', 'blocks,transactions,receipts,logs,withdrawals'],
    ]
    try {
      expect(await spawnHexline([...argsFor(join(folder, 'plain')), '--quiet'], { env: env(server.url) })).toEqual({ code: 0, stdout: '', stderr: '' })
      const plain = await digestsOf(join(folder, 'plain'))
      delayMs = 1000
      const random = randomFrom(7)
      const start = () => startHexline(['worker', '--json', '--no-budget', '--lock', '2', '--ranges', '1'], { env: env(server.url) })
      const workers = Array.from({ length: 6 }, start)
      const exported = startHexline([...argsFor(dir), '--redis', '--attempts', '50'], { env: env(server.url) })
      let kills = 0
      while (kills < 50) {
        await sleep(200 + 600 * random())
        const i = Math.floor(random() * workers.length)
        workers[i]?.kill('SIGKILL')
        workers[i] = start()
        kills++
        if (kills === 10 || kills === 30) await redis.restart()
        if (kills === 20) await stopFor(redis.pid, 10_000)
        if (kills === 25 || kills === 35) await stopFor(workers[(i + 1) % workers.length]?.pid as number, 8000)
      }
      // The export was not over before all of that.
      if (exported.exitCode !== null) throw new Error((await exported.ended).stderr)
      delayMs = 0
      await expectAll(dir, BLOCKS, exported, workers, plain)
      expect(await spawnHexline(['verify', dir, '--quiet'])).toMatchObject({ code: 0 })
    } finally {
      await server.close()
    }
  })
})

async function stopFor(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  process.kill(pid, 'SIGCONT')
}
