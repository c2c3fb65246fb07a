import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { excerpt, NetworkError, OptionError } from '../errors.ts'

/** A node of the sandbox's own. */
export interface Node {
  readonly url: string
  stop(): Promise<void>
}

/** A busy machine may take its time, in ms. */
const START_TIMEOUT = 30_000
/** Before it is ended by force, in ms. */
const STOP_TIMEOUT = 2_000

/** Those that run; a process that ends, in whatever way it can notice, leaves none of them behind. */
const running = new Set<ChildProcess>()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A signal ends a process without a word to its `exit` listeners. */
function onSignal(signal: NodeJS.Signals): void {
  // Somebody else sees to it that the process ends, or does not.
  if (process.listenerCount(signal) > 1) return
  killAll()
  watch('off')
  process.kill(process.pid, signal)
}

/** Before other listeners: one that is there once only must still be counted. */
function watch(how: 'prependListener' | 'off'): void {
  process[how]('exit', killAll)
  for (const signal of signals) process[how](signal, onSignal)
}

/**
 * Starts anvil on a free port of the loopback. It is an optional peer: its package is looked for now, beside hexline and in the folder that the process runs
 * in. Throws `OptionError` when it is not there, and `NetworkError` when it does not start.
 */
export async function startAnvil(chainId: number, from: readonly string[] = [import.meta.url, join(process.cwd(), 'package.json')]): Promise<Node> {
  const child = spawn(binaryOf(from), ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId)], { stdio: ['ignore', 'pipe', 'pipe'] })
  if (running.size === 0) watch('prependListener')
  running.add(child)
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  void exited.then(() => {
    running.delete(child)
    if (running.size === 0) watch('off')
  })
  const stop = async () => {
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT)
    await exited
    clearTimeout(force)
  }
  try {
    return { url: `http://127.0.0.1:${await portOf(child)}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The binary ships inside a package of its own for each platform. */
function binaryOf(from: readonly string[]): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const file = `@foundry-rs/anvil-${platform}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`
  for (const each of from) {
    try {
      return createRequire(createRequire(each).resolve('@foundry-rs/anvil/package.json')).resolve(file)
    } catch {}
  }
  throw new OptionError('upstream', "a node's URL, or anvil to start one (npm install --save-dev @foundry-rs/anvil)", 'no URL, and anvil is not installed')
}

/** With port 0 the system picks a free one, which anvil prints. */
function portOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => fail(`has not started within ${START_TIMEOUT} ms`), START_TIMEOUT)
    const fail = (what: string) => {
      clearTimeout(timer)
      reject(new NetworkError(`anvil ${what}${said === '' ? '' : `: ${excerpt(said.slice(-200))}`}`))
    }
    const onText = (text: string) => {
      said = (said + text).slice(-4000)
      const port = /Listening on \S+:(\d+)/.exec(said)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      for (const stream of [child.stdout, child.stderr]) stream?.off('data', onText).resume()
      resolve(port)
    }
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onText)
    child.once('error', (error) => fail(`cannot be started (${error.message})`))
    child.once('close', (code) => fail(`has ended with ${code}`))
  })
}
