import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { main } from '../../src/cli/main.ts'

/** The built command. */
export const bin = fileURLToPath(new URL('../../dist/src/cli/bin.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built command, as a user runs it. */
export function startHexline(args: readonly string[], options: { env?: Record<string, string>; cwd?: string } = {}): ChildProcess & { ended: Promise<Ended> } {
  if (!existsSync(bin)) throw new Error('the command is tested as it is built: run `npm run build` first')
  const { HEXLINE_RPC_URL: _, ...env } = process.env
  const child = spawn(process.execPath, [bin, ...args], { cwd: options.cwd, env: { ...env, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr: withoutProgress(stderr) })))
  return Object.assign(child, { ended })
}

/** Runs the built command to its end, for what needs a process: exit codes, pipes and files. */
export function spawnHexline(args: readonly string[], options?: Parameters<typeof startHexline>[1]): Promise<Ended> {
  return startHexline(args, options).ended
}

/** Runs the command to its end in this process, with pipes for input and output. */
export async function hexline(args: readonly string[], { env = {} }: { env?: Record<string, string> } = {}): Promise<Ended> {
  const [stdout, stderr] = [new Gathered(), new Gathered()]
  const code = await main('0.0.0', { args, env, stdout, stderr })
  return { code, stdout: stdout.text, stderr: withoutProgress(stderr.text) }
}

/**
 * Without the lines that a job prints every five seconds: on a busy machine, any job may take that
 * long.
 */
function withoutProgress(stderr: string): string {
  return stderr.replace(/^(?:waiting for the node(?:: .+)?|\d+ % \| .+|block \d+ \| .+|\{"type":"(?:progress|waiting)","(?:done|number|retries)":.+)\n/gm, '')
}

/** The same with a terminal as standard output and error; `stdout` is all of its output. */
export async function hexlineOnTerminal(
  args: readonly string[],
  { env = {}, columns = 80 }: { env?: Record<string, string>; columns?: number } = {},
): Promise<Ended> {
  const terminal = Object.assign(new Gathered(), { isTTY: true, columns })
  const code = await main('0.0.0', { args, env, stdout: terminal, stderr: terminal })
  return { code, stdout: terminal.text, stderr: '' }
}

/** Collects what is written. */
class Gathered extends Writable {
  readonly #pieces: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#pieces).toString()
  }

  override _write(piece: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(Buffer.from(piece as string, encoding))
    done()
  }
}

/**
 * Runs the built command on its own terminal as standard input, output and error; `stdout` is all
 * of the terminal's output.
 */
export async function spawnOnTerminal(args: readonly string[]): Promise<Ended> {
  const command = [process.execPath, bin, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  // A terminal puts a carriage return before each line feed.
  return { code, stdout: stdout.replaceAll('\r\n', '\n'), stderr }
}

/** Runs it in a shell, for redirections and limits; `$hexline` is the command. */
export async function inShell(line: string): Promise<Ended> {
  const child = spawn('bash', ['-c', line], { env: { ...process.env, hexline: `${process.execPath} ${bin}` }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr }
}
