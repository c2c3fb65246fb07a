import type { Redis } from 'ioredis'
import { type Client, checkClient } from '../../src/client/client.ts'
import { paceByOf } from '../../src/client/internals.ts'
import { OptionError } from '../../src/errors.ts'
import type { Clock } from '../../src/wait/clock.ts'
import { askBudget, budgetKeys, voidUntil } from './budget-script.ts'
import { checkRedis } from './connection.ts'
import { SharedPacer } from './shared-pacer.ts'

/** A client whose calls are counted together with those of other processes. */
export interface SharedBudget {
  /** Closes the connection. The client continues with its part of the last known rate. */
  close(): Promise<void>
}

/** Redis counts as lost when it takes longer than this for an answer, in ms. */
const LOST_MS = 1000

/**
 * Makes all clients that share `redis` keep one budget for each endpoint: `rate` of `createClient`
 * becomes the calls or units per second of all of them together, and a limit that one of them
 * learns by being refused holds for the others. Endpoints are told apart by host and by a short
 * digest of URL and headers; neither is stored. It uses two connections of its own, made like
 * `redis`.
 *
 * While Redis does not answer, each process continues with its part of the last known rate. Throws
 * `OptionError` for anything but a client of `createClient` and a connection of ioredis.
 */
export function shareBudget(client: Client, redis: Redis, prefix = 'hexline'): SharedBudget {
  checkClient(client)
  const paceBy = paceByOf(client)
  if (paceBy === undefined) throw new OptionError('client', 'a client, as createClient returns it', 'another object')
  // A question that waits for Redis to come back is of no use.
  const own = checkRedis(redis).duplicate({ enableOfflineQueue: false, commandTimeout: LOST_MS, maxRetriesPerRequest: 0, lazyConnect: false })
  // What is wrong shows in the answers.
  own.on('error', () => {})
  const bell = redis.duplicate({ maxRetriesPerRequest: null })
  bell.on('error', () => {})
  const pacers: { readonly channel: string; readonly pacer: SharedPacer }[] = []
  bell.on('message', (channel, message) => {
    const until = voidUntil(message)
    for (const { pacer } of pacers.filter((one) => one.channel === channel)) {
      if (until === undefined) pacer.refused()
      else pacer.void(until)
    }
  })
  paceBy((endpoint) => {
    const keys = budgetKeys(prefix, endpoint.fingerprint)
    const pacer = new SharedPacer(endpoint, async (question) => {
      if (own.status !== 'ready') await readyWithin(own, endpoint.clock)
      return askBudget(own, keys, question)
    })
    pacers.push({ channel: keys[3], pacer })
    // Without it, what was granted runs out, and the estimate is made a little later.
    bell.subscribe(keys[3]).catch(() => {})
    return pacer
  })
  return {
    async close() {
      for (const { pacer } of pacers) pacer.close()
      own.disconnect()
      bell.disconnect()
    },
  }
}

/** Waits for a connection that is being made. */
function readyWithin(redis: Redis, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clock.cancel(timer)
      redis.off('ready', done)
      resolve()
    }
    const timer = clock.wakeAt(clock.now() + LOST_MS, done)
    timer.unref()
    redis.once('ready', done)
  })
}
