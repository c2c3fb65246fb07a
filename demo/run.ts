import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { startAnvil } from '../test/support/anvil.ts'
import { type BadNode, type Faults, startBadNode } from './bad-node.ts'
import { seedChain } from './chain.ts'
import { exportArgs, prove, sqlArgs } from './dataset.ts'
import { CALLERS, newRunner, runHexline, runViem, stuck } from './race.ts'
import { count, showMaking, showRace } from './screen.ts'

/*
 * Why to choose hexline, on this machine alone: a real node behind two endpoints that throttle,
 * stall and die. hexline and viem's `http()` read the same blocks through them, side by side; then
 * the command writes them to a file, and to a folder of tables that is verified without the node
 * and asked in SQL.
 *
 *     npm run demo [BLOCKS]        # default 1,500
 */

const BLOCKS = Number(process.argv[2] ?? 1500)
const RATE = 150
const STALL_EVERY = 40
const DEAD_MS = [2000, 5000] as const
const faults: readonly [Faults, Faults] = [
  { callsPerSecond: RATE, stallEvery: STALL_EVERY },
  { callsPerSecond: RATE, stallEvery: STALL_EVERY, dead: { fromMs: DEAD_MS[0], toMs: DEAD_MS[1] } },
]

const root = fileURLToPath(new URL('../', import.meta.url))
const file = 'demo/out/blocks.ndjson'
const folder = 'demo/out/chain'
const command = 'dist/src/cli/bin.js'
const say = (text = '') => process.stdout.write(`${text}\n`)

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort(name))
const { signal } = stop

/** What was started, to be stopped at the end, the last one first. */
const started: (() => Promise<unknown>)[] = []

async function badNodes(upstream: string): Promise<[BadNode, BadNode]> {
  const nodes = await Promise.all([startBadNode(upstream, faults[0]), startBadNode(upstream, faults[1])])
  for (const node of nodes) started.push(() => node.close())
  return nodes
}

const urlsOf = ([a, b]: readonly [BadNode, BadNode]) => [a.url, b.url] as const

async function demo(): Promise<void> {
  // Blocks of the chain are 12 s apart; the last one is about now.
  const anvil = await startAnvil({ chainId: 1, pruneHistory: true, timestamp: Math.floor(Date.now() / 1000) - 12 * BLOCKS })
  started.push(() => anvil.stop())
  say(`Making a chain of ${count(BLOCKS)} blocks on anvil, a real node …`)
  await seedChain(anvil.url, {
    blocks: BLOCKS - 1,
    // anvil takes seconds to prepare for the first one.
    blobs: 0,
    onProgress: (done, total) => {
      signal.throwIfAborted()
      showMaking(process.stdout, done, total)
    },
  })

  say(`
hexline and viem read these blocks, each through its own two endpoints:

  A and B  answer ${RATE} calls a second, and refuse the rest as rate limited;
           every ${STALL_EVERY}th reply stops in the middle
  B        drops all requests from ${DEAD_MS[0] / 1000} s to ${DEAD_MS[1] / 1000} s after the first

  hexline  getBlocks(createClient([a, b]), …)
  viem     fallback([http(a), http(b)]), ${CALLERS} callers of getBlock(…)

Both have their default settings. viem gets twice as long as hexline takes.
`)
  const [ours, theirs] = [await badNodes(anvil.url), await badNodes(anvil.url)]
  const [hexline, viem] = [newRunner(), newRunner()]
  const lanes = [
    { name: 'hexline', runner: hexline },
    { name: 'viem   ', runner: viem },
  ]
  const startedAt = performance.now()
  const secondsNow = () => ((performance.now() - startedAt) / 1000).toFixed(1)
  const screen = showRace(process.stdout, lanes, ours, BLOCKS)
  const viemStop = new AbortController()
  signal.addEventListener('abort', () => viemStop.abort())
  try {
    const viemRuns = runViem(viem, urlsOf(theirs), BLOCKS, viemStop.signal).then(secondsNow)
    await runHexline(hexline, urlsOf(ours), BLOCKS, signal)
    const seconds = secondsNow()
    const patience = setTimeout(() => viemStop.abort(), performance.now() - startedAt)
    const viemSeconds = await viemRuns
    clearTimeout(patience)
    screen.stop()
    say(`
hexline  ${count(hexline.done)} of ${count(BLOCKS)} blocks in ${seconds} s, in order, each the child of the last
viem     ${count(viem.done)} of ${count(BLOCKS)} blocks in ${viemSeconds} s; ${count(viem.failed)} failed, ${stuck(viem)} of ${CALLERS} callers are stuck

Stuck: the reply has stopped, and viem's timeout covers the headers only.`)
  } finally {
    screen.stop()
  }
  signal.throwIfAborted()

  await rm(`${root}demo/out`, { recursive: true, force: true })
  await mkdir(`${root}demo/out`)
  const args = ['blocks', '--rpc', ours[0].url, '--from', '0', '--to', 'latest', '--out', file]
  say(`
The same blocks into a file, through endpoint A alone:

$ hexline blocks --rpc ${ours[0].url} --from 0 --to latest \\
    --out ${file}`)
  await runCommand(args)
  const lines = (await readFile(root + file, 'latin1')).split('\n').length - 1
  if (lines !== BLOCKS) throw new Error(`${file} has ${lines} lines instead of ${BLOCKS}`)
  say(`\n${file} has ${count(lines)} lines: the node's own JSON, one block a line.`)

  say(`
The chain once more, as tables in Parquet with receipts and logs:

$ hexline export --rpc ${anvil.url} --from 0 --to latest \\
    --out ${folder} --tables blocks,transactions,receipts,logs,withdrawals`)
  await runCommand(exportArgs(anvil.url, folder))
  say(`\n${await prove(root + folder, BLOCKS, signal)}`)
  const [, , query] = sqlArgs(folder)
  say(`\n$ hexline sql ${folder} '${query}'\n`)
  await runCommand(sqlArgs(folder))
}

/** Runs the command on this terminal, to its end. */
async function runCommand(args: readonly string[]): Promise<void> {
  // Detached, it gets one SIGINT. A second one, from the terminal, would end it before it has
  // restored the terminal.
  const child = spawn(process.execPath, [command, ...args], { cwd: root, stdio: 'inherit', detached: true })
  const interrupt = () => child.kill('SIGINT')
  signal.addEventListener('abort', interrupt)
  const [code] = await once(child, 'exit')
  signal.removeEventListener('abort', interrupt)
  signal.throwIfAborted()
  if (code !== 0) throw new Error(`hexline ${args[0]} ended with ${code}`)
}

let code = 0
try {
  await demo()
} catch (error) {
  code = signal.aborted ? 130 : 1
  if (!signal.aborted) console.error(error)
} finally {
  // A terminal's Ctrl-C reaches anvil as well, and stopping it then fails.
  for (const end of started.reverse()) await end().catch(() => {})
}
// viem cannot end the calls that wait, which would keep the process up.
process.exit(code)
