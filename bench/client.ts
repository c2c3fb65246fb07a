import { hasRareLog } from './audited.ts'
import { FIRST_BLOCK, LOGS } from './blocks.ts'
import { clients } from './clients/index.ts'
import type { Seen } from './clients/way.ts'
import { logSums } from './logs.ts'
import type { Figures } from './results.ts'
import type { Counts } from './server.ts'
import { type ClientName, type WorkloadName, workloads } from './workloads.ts'

/** What to measure in this process: one client on one workload. */
export interface Task {
  readonly workload: WorkloadName
  readonly client: ClientName
  readonly url: string
  readonly warmUp: number
  readonly measured: number
  /** Number of transactions in each of the blocks, which repeat. */
  readonly transactions: readonly number[]
  readonly transfers: readonly number[]
  /** Size of the smallest possible reply for one unit, in bytes. */
  readonly bytes: number
}

/** Interval between memory samples, in ms. */
const SAMPLE_MS = 25

const task = JSON.parse(process.argv[2] as string) as Task
const { workload, client, url, warmUp, measured } = task
const way = clients[client][workload]
if (way === undefined) throw new Error(`${client} has no way to do ${workload}`)

const job = await way.load(url)
if (warmUp > 0) check(FIRST_BLOCK, warmUp, await job.run(FIRST_BLOCK, warmUp))
const first = FIRST_BLOCK + warmUp
const rss: number[] = []
const sampler = workload === 'memory' ? setInterval(() => rss.push(process.memoryUsage.rss()), SAMPLE_MS) : undefined
const countsBefore = await countsAtServer()
const cpuBefore = process.cpuUsage()
const wallBefore = performance.now()
const seen = await job.run(first, measured)
const wall = (performance.now() - wallBefore) * 1000
const cpu = process.cpuUsage(cpuBefore)
clearInterval(sampler)
const counts = await countsAtServer()
check(first, measured, seen)
process.send?.({
  cpu: (cpu.user + cpu.system) / measured,
  wall: wall / measured,
  peakMb: process.resourceUsage().maxRSS / 1024,
  ...(rss.length > 0 && { middleMb: around(rss, 0.5), endMb: around(rss, 0.9) }),
  ...(seen.failures !== undefined && { failures: seen.failures }),
  ...(workloads[workload].isCounted && {
    posts: counts.posts - countsBefore.posts,
    calls: counts.calls - countsBefore.calls,
    receivedMb: (counts.bytes - countsBefore.bytes) / 1e6,
  }),
} satisfies Figures)
await job.end()
process.disconnect?.()

/** What the server has counted so far. It counts nothing for most workloads. */
async function countsAtServer(): Promise<Counts> {
  return workloads[workload].isCounted ? ((await (await fetch(url)).json()) as Counts) : { posts: 0, calls: 0, bytes: 0 }
}

/** Throws unless the client has done all of the work, so that no figure is reported otherwise. */
function check(first: number, count: number, seen: Seen): void {
  const { transactions } = task
  const isCalls = workload.startsWith('small')
  const numbers = count * (first + (isCalls ? 1 : 0) + (count - 1) / 2)
  let parts = 0
  for (let i = first; i < first + count; i++) parts += workload === '10,000 logs' ? LOGS : isCalls ? 0 : (transactions[i % transactions.length] as number)
  const expected = {
    items: count,
    numbers,
    parts,
    bytes: count * task.bytes,
    ...(workload === 'logs' && logSums(first, count)),
    ...(workload.startsWith('audit') && auditSums(first, count)),
  }
  for (const name of ['items', 'numbers', 'parts'] as const) {
    if (seen[name] !== undefined && seen[name] !== expected[name]) {
      throw new Error(`${client}, ${workload}, ${count} from ${first}: expected ${expected[name]} ${name}, received ${seen[name]}`)
    }
  }
  if (seen.bytes !== undefined && seen.bytes < expected.bytes) {
    throw new Error(
      `${client}, ${workload}, ${count} units: expected at least ${Math.floor(expected.bytes / count)} bytes each, received ${seen.bytes} in total`,
    )
  }
}

function auditSums(first: number, count: number): { readonly parts: number; readonly numbers: number } {
  const { transfers } = task
  let [parts, numbers] = [0, 0]
  for (let block = first; block < first + count; block++) {
    const logs = workload === 'audit, one contract' ? Number(hasRareLog(block)) : (transfers[block % transfers.length] as number)
    parts += logs
    numbers += logs * block
  }
  return { parts, numbers }
}

/** Mean of a fifth of the samples around this share of the run, in MB. */
function around(samples: readonly number[], share: number): number {
  const near = samples.slice(Math.floor(samples.length * (share - 0.1)), Math.ceil(samples.length * (share + 0.1)))
  return near.reduce((sum, each) => sum + each, 0) / near.length / 2 ** 20
}
