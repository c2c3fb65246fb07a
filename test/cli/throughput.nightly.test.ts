import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { ServerNews } from '../../bench/server.ts'
import { type Ended, spawnHexline, startHexline } from '../support/command.ts'
import { hasRedis, startRedis } from '../support/redis.ts'

/*
 * How fast 1, 2, 4 and 8 processes fill one folder, as shards and as workers of a queue: the table
 * of docs/scale.md. The node is the benchmark's server, which copies blocks from memory. It shares
 * the cores with the processes, so the CPU time of both is printed, too.
 */

/** The first block of a range, with the seven hexadecimal digits that the server needs. */
const FROM = 20_980_000
const BLOCKS = 9600
/** 96 ranges: the same number for each of eight. */
const BLOCKS_PER_FILE = 100

it.runIf(hasRedis)('1, 2, 4 and 8 shards, and as many workers, make the same dataset, each at its speed', async () => {
  const server = fork(fileURLToPath(new URL('../../bench/server.ts', import.meta.url)), ['made'], { execArgv: ['--import', 'tsx'] })
  const redis = await startRedis()
  const folder = await mkdtemp(join(tmpdir(), 'hexline-throughput-'))
  try {
    const [{ url }] = (await once(server, 'message')) as [ServerNews]
    const env = { HEXLINE_RPC_URL: url, HEXLINE_REDIS_URL: redis.url }
    const range = ['--from', String(FROM), '--to', String(FROM + BLOCKS - 1), '--blocks-per-file', String(BLOCKS_PER_FILE)]
    const ways: Record<string, (count: number, dir: string) => Promise<readonly Ended[]>> = {
      shards: (count, dir) =>
        Promise.all(Array.from({ length: count }, (_, i) => spawnHexline(['export', ...range, '--out', dir, '--shard', `${i + 1}/${count}`], { env }))),
      async workers(count, dir) {
        const workers = Array.from({ length: count }, () => startHexline(['worker'], { env }))
        const exported = await spawnHexline(['export', ...range, '--out', dir, '--redis'], { env })
        for (const worker of workers) worker.kill('SIGTERM')
        return [exported, ...(await Promise.all(workers.map(({ ended }) => ended)))]
      },
    }
    const manifests = new Set<string>()
    for (const [way, run] of Object.entries(ways)) {
      for (const count of [1, 2, 4, 8]) {
        const dir = join(folder, `${way}-${count}`)
        const before = await cpuNow(server.pid as number)
        const ended = await run(count, dir)
        const took = since(before, await cpuNow(server.pid as number))
        expect(ended.filter(({ code }) => code !== 0)).toEqual([])
        console.log(count, way, took)
        expect(await spawnHexline(['merge', dir])).toMatchObject({ code: 0 })
        // It has the digest of each file.
        manifests.add(await readFile(join(dir, 'manifest.json'), 'utf8'))
        await rm(dir, { recursive: true })
        await redis.redis.flushall()
      }
    }
    expect(manifests.size).toBe(1)
  } finally {
    server.kill()
    await redis.stop()
    await rm(folder, { recursive: true })
  }
})

interface Cpu {
  readonly at: number
  /** CPU time of the server, in ms. */
  readonly serverMs: number
  /** Of the processes that this one has started and that have ended, in ms. */
  readonly endedMs: number
  /** Time of all cores without work, in ms. */
  readonly idleMs: number
}

async function cpuNow(server: number): Promise<Cpu> {
  const [serverMs] = await cpuOf(server)
  const [, endedMs] = await cpuOf('self')
  return { at: performance.now(), serverMs, endedMs, idleMs: cpus().reduce((sum, { times }) => sum + times.idle, 0) }
}

/** CPU time of a process and of its children that have ended; NaN where the system has neither. */
async function cpuOf(pid: number | 'self'): Promise<[own: number, ended: number]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [, user, system, endedUser, endedSystem] = /\)(?: \S+){11} (\d+) (\d+) (\d+) (\d+)/.exec(stat) ?? []
  // In ticks of 10 ms.
  return [10 * (Number(user) + Number(system)), 10 * (Number(endedUser) + Number(endedSystem))]
}

function since(before: Cpu, now: Cpu) {
  const wallMs = now.at - before.at
  return {
    blocksPerSecond: (BLOCKS / wallMs) * 1000,
    msPerBlock: (now.endedMs - before.endedMs) / BLOCKS,
    serverMsPerBlock: (now.serverMs - before.serverMs) / BLOCKS,
    coresBusy: cpus().length - (now.idleMs - before.idleMs) / wallMs,
  }
}
