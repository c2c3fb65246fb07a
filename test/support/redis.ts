import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'

/** A Redis server, in a process and a folder of its own. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  /** The process: for signals. */
  readonly pid: number
  /** A connection for the test itself. */
  readonly redis: Redis
  /** Kills it without a warning, and starts it again with what it has on disk. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface RedisServerOptions {
  /** The password that clients have to give. */
  readonly password?: string
}

/**
 * Whether the tests with Redis can run. `.ci/run` installs it. Elsewhere they are skipped where it
 * is missing, and say what to install.
 */
export const hasRedis = findRedis()

function findRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('redis-server is missing, so the tests with Redis are skipped: apt-get install redis-server')
    return false
  }
}

/**
 * Starts `redis-server` on a free port of the loopback interface, with an append-only file that is
 * written through each second, and without eviction.
 */
export async function startRedis({ password }: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-redis-'))
  for (;;) {
    const port = await freePort()
    const start = () => startOn(port, folder, password)
    const child = await start()
    // Another process has taken the port in between.
    if (child !== undefined) return serverOf(child, start, { port, folder, password })
  }
}

function serverOf(
  first: ChildProcess,
  start: () => Promise<ChildProcess | undefined>,
  { port, folder, password }: { port: number; folder: string; password: string | undefined },
): RedisServer {
  let child = first
  const redis = new Redis({ port, host: '127.0.0.1', ...(password !== undefined && { password }), maxRetriesPerRequest: null, retryStrategy: () => 20 })
  redis.on('error', () => {})
  const kill = async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  return {
    url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid as number
    },
    redis,
    async restart() {
      await kill()
      const next = await start()
      if (next === undefined) throw new Error(`redis-server cannot start again on port ${port}`)
      child = next
    },
    async stop() {
      redis.disconnect()
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Undefined if it cannot listen. Throws what it says where anything else is wrong. */
async function startOn(port: number, folder: string, password: string | undefined): Promise<ChildProcess | undefined> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--daemonize', 'no', '--save', '', '--databases', '1']
  const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction']
  const child = spawn('redis-server', [...args, ...durable, ...(password === undefined ? [] : ['--requirepass', password])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`
    if (!line.includes('Ready to accept connections')) continue
    child.stdout.resume()
    return child
  }
  if (said.includes('Address already in use')) return undefined
  throw new Error(`redis-server does not start: ${said}`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
