import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

/*
 * Clients side by side: each in a process of its own, in turn, several rounds; medians and ratios of CPU and wall time.
 * `npm run bench -- [--rounds N] [WORKLOAD ...]`
 */

interface Figures {
  readonly cpu: number
  readonly wall: number
  readonly peakMb: number
}

const workloads = ['full blocks', 'blocks with hashes', 'small calls, 64 in parallel', 'small calls, one after another']
const clients = ['undici', 'hexline', 'viem']

const args = process.argv.slice(2)
const at = args.indexOf('--rounds')
const rounds = at >= 0 ? Number(args.splice(at, 2)[1]) : 3
const chosen = workloads.filter((name) => args.length === 0 || args.some((arg) => name.includes(arg)))
if (!Number.isSafeInteger(rounds) || rounds < 1 || chosen.length === 0) {
  console.error(`usage: npm run bench -- [--rounds N] [part of a workload's name ...]\nworkloads: ${workloads.join('; ')}`)
  process.exit(2)
}

function start(script: string, ...args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(script, import.meta.url)), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`ended with ${code} without a figure`)))
  ended.catch(() => {})
  return (await Promise.race([once(child, 'message').then(([message]) => message), ended])) as T
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number

const server = start('./server.ts')
const { url, source, fullBytes, hashesBytes } = await messageOf<{ url: string; source: string; fullBytes: number; hashesBytes: number }>(server)
const versionOf = (name: string) => JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8')).version as string
console.log(`Node ${process.version}, undici ${versionOf('undici')}, viem ${versionOf('viem')}, ${cpus().length} cores; ${rounds} rounds`)
console.log(`${source}: ${Math.round(fullBytes / 1000)} kB with transactions, ${Math.round(hashesBytes / 1000)} kB with hashes, on average\n`)

for (const workload of chosen) {
  const figures = new Map<string, Figures[]>(clients.map((client) => [client, []]))
  for (let round = 0; round < rounds; round++) {
    for (const client of clients) {
      const child = start('./client.ts', workload, client, url)
      figures.get(client)?.push(await messageOf<Figures>(child))
      if (child.exitCode === null) await once(child, 'exit')
    }
  }
  console.log(workload)
  console.table(
    Object.fromEntries(
      clients.map((client) => {
        const mine = figures.get(client) as Figures[]
        const ratio = (peer: string, of: 'cpu' | 'wall') => {
          const theirs = figures.get(peer) as Figures[]
          return median(mine.map((each, i) => each[of] / (theirs[i] as Figures)[of])).toFixed(2)
        }
        return [
          client === 'undici' ? 'undici + JSON.parse' : client,
          {
            'CPU us': Number(median(mine.map(({ cpu }) => cpu)).toFixed(1)),
            'to undici': ratio('undici', 'cpu'),
            'to viem': ratio('viem', 'cpu'),
            'wall us': Number(median(mine.map(({ wall }) => wall)).toFixed(1)),
            'wall to undici': ratio('undici', 'wall'),
            'peak MB': Math.round(median(mine.map(({ peakMb }) => peakMb))),
          },
        ]
      }),
    ),
  )
}
server.disconnect()
