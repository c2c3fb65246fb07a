import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { NetworkError, OptionError } from '../errors.ts'
import { excerpt } from '../text.ts'

/** The node that the sandbox has started. */
export interface Node {
  readonly url: string
  stop(): Promise<void>
}

/** Longest start, in ms; generous for a busy machine. */
const START_TIMEOUT = 30_000
/** Time to end before it is killed, in ms. */
const STOP_TIMEOUT = 2_000

/**
 * A watchdog that runs beside anvil. It is normally ended with a byte on its standard input. If the
 * input closes without one, the process that started anvil is gone, and the watchdog ends anvil.
 * Unlike signal handlers, this covers SIGKILL and crashes, and does not change how the program
 * handles Ctrl-C.
 */
const GUARD = "process.stdin.on('data', () => process.exit()).on('end', () => process.kill(Number(process.argv[1]), 'SIGKILL'))"

/** Detached, so that Ctrl-C on a terminal does not end it first. Nothing waits for it. */
function guard(pid: number): () => void {
  const child = spawn(process.execPath, ['-e', GUARD, String(pid)], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const { stdin } = child
  for (const each of [child, stdin]) each.on('error', () => {})
  child.unref()
  ;(stdin as Socket).unref()
  return () => stdin.end('done')
}

/**
 * Starts anvil on a free port of the loopback. It is an optional peer dependency, looked up beside
 * the program and in the working directory. Throws `OptionError` when it is not installed, and
 * `NetworkError` when it does not start.
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

/** Where the program's modules are looked up. An installed command is started through a link. */
function places(): string[] {
  const [, program] = process.argv
  const folder = join(process.cwd(), 'package.json')
  return program !== undefined && existsSync(program) ? [realpathSync(program), folder] : [folder]
}

/** Each platform has its own package with the binary. */
function binaryOf(from: readonly string[]): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const file = `@foundry-rs/anvil-${platform}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`
  for (const each of from) {
    try {
      return createRequire(createRequire(each).resolve('@foundry-rs/anvil/package.json')).resolve(file)
    } catch {}
  }
  throw new OptionError('upstream', "a node's URL, or anvil installed (npm install --save-dev @foundry-rs/anvil)", 'neither')
}

/** With port 0 the system picks a free one, which anvil prints. */
function portOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => fail(`did not start within ${START_TIMEOUT} ms`), START_TIMEOUT)
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
    child.once('close', (code) => fail(`exited with code ${code}`))
  })
}
