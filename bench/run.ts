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

/** The clients of a workload, by what the table calls them. The first one is what the others are compared with. */
const parsing = { 'undici + JSON.parse': 'undici', hexline: 'hexline', viem: 'viem', 'ethers on hexline': 'ethersOnHexline', ethers: 'ethers' }
const blocks = {
  'undici + JSON.parse': 'undici',
  hexline: 'hexline',
  'viem on hexline, getBlocks': 'viemBulk',
  'viem, batched': 'viem',
  'ethers on hexline, getBlocks': 'ethersBulk',
  'ethers, batched': 'ethers',
}
const workloads: Record<string, Readonly<Record<string, string>>> = {
  'full blocks': blocks,
  'blocks with hashes': blocks,
  'full blocks to a file': { 'undici, bytes only': 'undici', hexline: 'hexline' },
  'small calls, 64 in parallel': parsing,
  'small calls, one after another': parsing,
}

const args = process.argv.slice(2)
const at = args.indexOf('--rounds')
const rounds = at >= 0 ? Number(args.splice(at, 2)[1]) : 3
const chosen = Object.keys(workloads).filter((name) => args.length === 0 || args.some((arg) => name.includes(arg)))
if (!Number.isSafeInteger(rounds) || rounds < 1 || chosen.length === 0) {
  console.error(`usage: npm run bench -- [--rounds N] [part of a workload's name ...]\nworkloads: ${Object.keys(workloads).join('; ')}`)
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
console.log(
  `Node ${process.version}, undici ${versionOf('undici')}, viem ${versionOf('viem')}, ethers ${versionOf('ethers')}, ${cpus().length} cores; ${rounds} rounds`,
)
console.log(`${source}: ${Math.round(fullBytes / 1000)} kB with transactions, ${Math.round(hashesBytes / 1000)} kB with hashes, on average\n`)

for (const workload of chosen) {
  const clients = Object.entries(workloads[workload] as Record<string, string>)
  const figures = new Map<string, Figures[]>(clients.map(([, client]) => [client, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [, client] of clients) {
      const child = start('./client.ts', workload, client, url)
      figures.get(client)?.push(await messageOf<Figures>(child))
      if (child.exitCode === null) await once(child, 'exit')
    }
  }
  console.log(`\n${workload}\n`)
  const peers = clients.filter(([, client]) => ['undici', 'viem', 'ethers'].includes(client))
  table([
    ['', 'CPU us', 'wall us', 'peak MB', ...peers.map(([label]) => `CPU to ${label}`), ...peers.map(([label]) => `wall to ${label}`)],
    ...clients.map(([label, client]) => {
      const mine = figures.get(client) as Figures[]
      const ratio = (peer: string, of: 'cpu' | 'wall') => {
        const theirs = figures.get(peer) as Figures[]
        return median(mine.map((each, i) => each[of] / (theirs[i] as Figures)[of])).toFixed(2)
      }
      const of = (figure: keyof Figures) => median(mine.map((each) => each[figure]))
      const [cpu, wall, peakMb] = [of('cpu').toFixed(1), of('wall').toFixed(1), of('peakMb').toFixed(0)]
      return [label, cpu, wall, peakMb, ...peers.map(([, peer]) => ratio(peer, 'cpu')), ...peers.map(([, peer]) => ratio(peer, 'wall'))]
    }),
  ])
}

/** In Markdown, ready for the README. */
function table([head, ...rows]: readonly (readonly string[])[]): void {
  for (const row of [head ?? [], (head ?? []).map((_, i) => (i === 0 ? '---' : '---:')), ...rows]) console.log(`| ${row.join(' | ')} |`)
}
server.disconnect()
