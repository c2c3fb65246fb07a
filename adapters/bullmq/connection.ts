import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { OptionError } from '../../src/errors.ts'

/** Throws `OptionError`, which shows nothing of it, for anything but a connection of ioredis. */
export function checkRedis(redis: unknown): Redis {
  const { defineCommand, duplicate } = (redis ?? {}) as Partial<Redis>
  if (typeof defineCommand === 'function' && typeof duplicate === 'function') return redis as Redis
  throw new OptionError('redis', 'a connection of ioredis', typeof redis)
}

/** Throws `OptionError`, which shows nothing of it, for anything but a queue of BullMQ. */
export function checkQueue(queue: unknown): void {
  const { addBulk, getJobs, getBackend } = (queue ?? {}) as Partial<Queue>
  if ([addBulk, getJobs, getBackend].every((method) => typeof method === 'function')) return
  throw new OptionError('queue', 'a queue of BullMQ', queue === null ? 'null' : typeof queue)
}

/** An error of ioredis that has a command with it. */
type CommandError = Error & { readonly command?: { readonly name: string; args?: unknown } }

/** The same error, without the password: ioredis shows the command that failed. */
export function withoutPassword(error: Error): Error {
  const { command } = error as CommandError
  if (command?.name === 'hello' || command?.name === 'auth') delete command.args
  return error
}

/**
 * Whether Redis has refused the database of a connection. ioredis tells that only by its event
 * `error`, and would continue in database 0.
 */
export function isWrongDatabase(error: Error): boolean {
  return (error as CommandError).command?.name === 'select'
}
