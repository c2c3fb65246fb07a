import type { Command } from 'commander'
import { OptionError } from '../errors.ts'
import { excerpt, show } from '../text.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'

/** The adapter, and what the command uses of bullmq and ioredis. */
type Adapter = typeof import('../../adapters/bullmq/command.ts')

export interface RedisFlags {
  readonly redis?: string | true
  readonly queue: string
}

/** A connection to Redis, and what is done with it. */
export interface Queueing extends Omit<Adapter, 'openQueue' | 'connectRedis'> {
  readonly redis: Awaited<ReturnType<Adapter['connectRedis']>>
  /** `onFailure` is told whenever Redis does not answer. */
  openQueue(onFailure: (error: Error) => void): ReturnType<Adapter['openQueue']>
  /** Ends the connection. */
  close(): void
}

/** Adds the flags that name a queue. */
export function redisFlags(command: Command, what: string): Command {
  return command
    .option('--redis [url]', `${what}, such as redis://127.0.0.1:6379 (env: HEXLINE_REDIS_URL, which is safer where the URL holds a password)`)
    .option('--queue <name>', 'the name of the queue', 'hexline')
}

/**
 * Connects to Redis. Throws `OptionError` for an invalid URL, and an `Error`, which shows no
 * password, where bullmq or ioredis is not installed, or Redis does not answer.
 */
export async function openRedis({ redis: flag, queue }: RedisFlags, io: Io, messages: Messages): Promise<Queueing> {
  const { url, place } = addressFrom(flag, io, messages)
  if (!/^[\w.-]+$/.test(queue)) throw new OptionError('--queue', 'a name of letters, digits, dots, hyphens and underscores', show(queue))
  const { connectRedis, ...adapter } = await loadAdapter()
  try {
    const redis = await connectRedis(url)
    return { ...adapter, redis, openQueue: (onFailure) => adapter.openQueue(redis, queue, onFailure), close: () => redis.disconnect() }
  } catch (error) {
    const { message } = error as Error
    const hint = NO_REDIS.test(message) ? '; is Redis running there?' : ''
    throw new Error(`Redis at ${place} cannot be used: ${excerpt(message)}${hint}`)
  }
}

/** What is said where nothing answers, or something else than Redis. */
const NO_REDIS = /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|ECONNRESET|EPIPE|RESP type/

/** Its packages are optional peer dependencies. */
async function loadAdapter(): Promise<Adapter> {
  try {
    return await import('../../adapters/bullmq/command.ts')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error('--redis needs two packages beside hexline: npm install bullmq ioredis')
  }
}

function addressFrom(flag: string | true | undefined, { env }: Io, messages: Messages): { readonly url: string; readonly place: string } {
  const text = typeof flag === 'string' ? flag : env.HEXLINE_REDIS_URL
  if (!text) throw new OptionError('--redis', 'the URL of Redis, here or in HEXLINE_REDIS_URL', 'nothing')
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '')
    throw new OptionError('--redis', 'a URL such as redis://127.0.0.1:6379', 'an invalid URL')
  // ioredis takes it from either.
  const database = url.pathname.slice(1) || (url.searchParams.get('db') ?? '')
  if (!/^\d{0,9}$/.test(database))
    throw new OptionError('--redis', 'a URL whose path is the number of a database, such as redis://127.0.0.1:6379/1', 'an invalid database')
  if (typeof flag === 'string' && url.password !== '')
    messages.warn('other users of this machine can see a password given as an argument; use HEXLINE_REDIS_URL instead')
  return { url: text, place: `${url.hostname}:${url.port || 6379}${database && `/${database}`}` }
}
