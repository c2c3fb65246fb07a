import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cert } from './certificate.ts'
import type { Task } from './client.ts'
import { clients } from './clients/index.ts'
import { type Options, readOptions, usage } from './options.ts'
import { installNode24, installPeers, versionOf } from './peers.ts'
import { workloadTable } from './report/tables.ts'
import type { Figures, Measured, Results } from './results.ts'
import { root } from './root.ts'
import type { ServerNews } from './server.ts'
import { type ClientName, type WorkloadName, workloads } from './workloads.ts'

/*
 * Compares clients: each in its own process, in turn, for several rounds, against one server in its
 * own process.
 */

/** Share of the work in a quick run. */
const QUICK = 0.12

/** Time limit for a client in ms, after which it has no figure. */
const LONGEST_MS = 120_000

const options = optionsOrUsage()
installPeers()
const execPath = options.node === undefined ? process.execPath : options.node === '24' ? installNode24() : options.node.path
const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
/** Each client trusts the certificate of the server, also one without an option for it. */
const certFile = join(folder, 'certificate.pem')
writeFileSync(certFile, cert)
const server = start('./server.ts', [], process.execPath)
const news = await messageOf<ServerNews>(server)
const results = await run(options)
server.disconnect()
if (options.isSaved) {
  const file = new URL(`bench/results/node${/^v(\d+)/.exec(results.versions.node as string)?.[1]}.json`, root)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(results, rounded, 1)}\n`)
  console.log(`\nsaved to ${fileURLToPath(file).slice(fileURLToPath(root).length)}: npm run bench:report writes it to bench/README.md`)
}

function optionsOrUsage(): Options {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    return process.exit(2)
  }
}

async function run({ isQuick, rounds, workloads: chosen }: Options): Promise<Results> {
  const peers = ['undici', 'viem', 'ethers', 'web3', '@subsquid/rpc-client', 'ox']
  const node = execFileSync(execPath, ['--version'], { encoding: 'utf8' }).trim()
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
  }
  const measured: Partial<Record<WorkloadName, Partial<Record<ClientName, Measured>>>> = {}
  const results: Results = {
    date: new Date().toISOString().slice(0, 10),
    isQuick,
    rounds,
    machine,
    versions: { node, hexline: versionOf('hexline'), ...Object.fromEntries(peers.map((name) => [name, versionOf(name)])) },
    blocks: { source: news.source, ...news.bytes },
    workloads: measured,
  }
  console.log(`Node ${node}, ${machine.cpu}, ${machine.cores} cores; ${news.source}; ${rounds} rounds${isQuick ? ', quick' : ''}`)
  for (const name of chosen) {
    measured[name] = await runWorkload(name, isQuick, rounds)
    console.log(`\n${workloadTable(results, name)}`)
  }
  return results
}

async function runWorkload(name: WorkloadName, isQuick: boolean, rounds: number): Promise<Partial<Record<ClientName, Measured>>> {
  const { amounts, warmUp = 0.25, roundsEach = 1, isWhole = false } = workloads[name]
  const measured: Partial<Record<ClientName, Measured>> = {}
  for (let round = 0; round < rounds * roundsEach; round++) {
    for (const [client, whole] of Object.entries(amounts) as [ClientName, number][]) {
      const amount = isQuick && !isWhole ? Math.ceil(whole * QUICK) : whole
      const { settings = '' } = clients[client][name] ?? {}
      const before = measured[client] ?? { amount, settings, rounds: [] }
      if (before.failure !== undefined) continue
      try {
        const origin = workloads[name].isSecure ? news.secureUrl : news.url
        const path =
          name === 'throttled' || workloads[name].isCounted ? `${workloads[name].path}/${round}-${encodeURIComponent(client)}` : (workloads[name].path ?? '/')
        const url = name === 'throttled and faulty' ? await faultyUrl(round + 1) : `${origin}${path}`
        const figures = await runClient({ workload: name, client, url, warmUp: Math.round(amount * warmUp), measured: amount })
        const { refused } = name === 'throttled' ? ((await (await fetch(`${news.url}${path}`)).json()) as { refused: number }) : { refused: undefined }
        measured[client] = { ...before, rounds: [...before.rounds, { ...figures, ...(refused !== undefined && { refused }) }] }
      } catch (error) {
        const failure = (error as Error).message
        measured[client] = { ...before, rounds: [], failure }
        console.log(`\n${name}, ${client}: ${failure}`)
      }
    }
  }
  return measured
}

/** A URL with the same faults for all clients of a round. */
async function faultyUrl(seed: number): Promise<string> {
  const { url } = (await (await fetch(`${news.url}${workloads['throttled and faulty'].path}/${seed}`)).json()) as { url: string }
  return url
}

async function runClient(task: Omit<Task, 'transactions' | 'transfers' | 'bytes'>): Promise<Figures> {
  const bytes = task.workload === '10,000 logs' ? news.bytes.logs : task.workload === 'blocks with hashes' ? news.bytes.hashes : news.bytes.full
  const env = workloads[task.workload].isSecure ? { NODE_EXTRA_CA_CERTS: certFile } : {}
  const child = start(
    './client.ts',
    [JSON.stringify({ ...task, transactions: news.transactions, transfers: news.transfers, bytes: bytes * 0.8 } satisfies Task)],
    execPath,
    env,
  )
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
  try {
    const figures = await messageOf<Figures>(child)
    if (child.exitCode === null) await once(child, 'exit')
    return figures
  } finally {
    clearTimeout(timer)
  }
}

function start(script: string, args: readonly string[], execPath: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
  const path = fileURLToPath(new URL(script.replace(/\.ts$/, import.meta.url.slice(-3)), import.meta.url))
  return fork(path, args, { execPath, execArgv: [], env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(0, 10_000)
  })
  const ended = once(child, 'close').then(([code, signal]) => Promise.reject(new Error(`ended with ${code ?? signal} and no figure: ${firstError(said)}`)))
  ended.catch(() => {})
  return (await Promise.race([once(child, 'message').then(([message]) => message), ended])) as T
}

/** The line of a stack trace with the error message. */
function firstError(said: string): string {
  return said.split('\n').find((line) => /^\w*Error\b.*:/.test(line)) ?? said.slice(0, 200)
}

/** Rounds to four digits, which is more than the precision of the measurements. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
