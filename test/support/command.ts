import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built command, as a user runs it. */
export function startHexline(args: readonly string[], options: { env?: Record<string, string>; cwd?: string } = {}): ChildProcess & { ended: Promise<Ended> } {
  if (!existsSync(main)) throw new Error('the command is tested as it is built: run `npm run build` first')
  const { HEXLINE_RPC_URL: _, ...env } = process.env
  const child = spawn(process.execPath, [main, ...args], { cwd: options.cwd, env: { ...env, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
  return Object.assign(child, { ended })
}

/** Runs it to its end. */
export function hexline(args: readonly string[], options?: Parameters<typeof startHexline>[1]): Promise<Ended> {
  return startHexline(args, options).ended
}
