import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { NetworkError, OptionError } from '../errors.ts'
import { excerpt } from '../text.ts'

/** A node of the sandbox's own. */
export interface Node {
  readonly url: string
  stop(): Promise<void>
}

/** A busy machine may take its time, in ms. */
const START_TIMEOUT = 30_000
/** Before it is ended by force, in ms. */
const STOP_TIMEOUT = 2_000

/**
 * Run beside anvil, and ended with a word while all is well: when its standard input ends without one, the process that started anvil has ended, in
 * whatever way, and anvil with it. Listeners for signals would do less (SIGKILL, a crash), and change what Ctrl-C does in the program around.
 */
const GUARD = "process.stdin.on('data', () => process.exit()).on('end', () => process.kill(Number(process.argv[1]), 'SIGKILL'))"

/** A process group of its own: Ctrl-C on a terminal must not end it first. Nothing waits for it. */
function guard(pid: number): () => void {
  const child = spawn(process.execPath, ['-e', GUARD, String(pid)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const { stdin } = child
  for (const each of [child, stdin]) each.on('error', () => {})
  child.unref()
  ;(stdin as Socket).unref()
  return () => stdin.end('done')
}

/**
 * Starts anvil on a free port of the loopback. It is an optional peer: its package is looked for now, beside the program and in the folder that the process
 * runs in. Throws `OptionError` when it is not there, and `NetworkError` when it does not start.
 */
export async function startAnvil(chainId: number, from: readonly string[] = places()): Promise<Node> {
  const child = spawn(binaryOf(from), ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  if (child.pid !== undefined) void exited.then(guard(child.pid))
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

/** Where the program's own modules are looked for. An installed command is started through a link. */
function places(): string[] {
  const [, program] = process.argv
  const folder = join(process.cwd(), 'package.json')
  return program !== undefined && existsSync(program) ? [realpathSync(program), folder] : [folder]
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
