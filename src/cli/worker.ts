import { Command } from 'commander'
import * as check from '../check.ts'
import { createClient } from '../client/create-client.ts'
import { MOST_RANGES } from '../dataset/export/open-parts.ts'
import { OptionError } from '../errors.ts'
import { type LimitFlags, limitFlags, limitsFrom } from './blocks.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { addNodeFlags, endpointFrom, LONGEST_SECONDS, millisecondsFrom, numberFrom } from './node.ts'
import type { Io } from './output/io.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { countOf, sizeOf } from './output/units.ts'
import { openRedis, type RedisFlags, redisFlags } from './redis.ts'
import { onSignals } from './signals.ts'

interface Flags extends LimitFlags, RedisFlags, MessageFlags, MetricsFlags {
  readonly out?: string
  readonly ranges: string
  readonly lock: string
  readonly grace: string
  readonly budget: boolean
}

/** `hexline worker`: exports ranges that `hexline export --redis` has added to a queue. */
export function workerCommand(io: Io): Command {
  const command = new Command('worker')
    .summary('export ranges from a queue on Redis')
    .description(
      'Exports ranges that `hexline export --redis` has added to a queue, until it is told to stop. Any number of workers may run, on any number of machines. ' +
        'After SIGTERM or Ctrl-C, it finishes what it can within --grace, and gives its other ranges back.',
    )
  return redisFlags(limitFlags(addNodeFlags(command)), 'where the queue is')
    .option('--out <folder>', 'where to write, if this machine has the folder of the export elsewhere')
    .option('--ranges <number>', 'ranges to export at a time', '2')
    .option('--lock <seconds>', 'how long its ranges stay reserved without a sign of life', '30')
    .option('--grace <seconds>', 'time to finish ranges after it is told to stop; those that are left go back', '5')
    .option('--no-budget', 'count calls for this worker alone, not for all workers of an endpoint')
    .option(...METRICS_FLAG)
    .option('--quiet', 'print errors only')
    .option('--json', 'print messages as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline worker --redis redis://10.0.0.5:6379 --rpc http://127.0.0.1:8545
  HEXLINE_REDIS_URL=rediss://:…@queue.example.com HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline worker --rate 300

--rate is the limit of all workers of one endpoint together. The node's URL stays with the worker: it is not in Redis.`,
    )
    .action((flags: Flags) => withMetrics(flags, io, () => work(flags, io)))
}

async function work(flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const options = {
    queue: flags.queue,
    concurrency: check.whole('--ranges', numberFrom('--ranges', flags.ranges), 1, MOST_RANGES),
    lockMs: millisecondsFrom('--lock', flags.lock, LONGEST_SECONDS),
    closeMs: millisecondsFrom('--grace', flags.grace, LONGEST_SECONDS),
    budget: flags.budget,
    ...(flags.out !== undefined && { dir: flags.out }),
  }
  const client = createClient(endpointFrom(flags, io.env, messages), limitsFrom(flags))
  try {
    const queueing = await openRedis(flags, io, messages)
    try {
      let said: string | undefined
      const worker = queueing.exportWorker(client, {
        ...options,
        redis: queueing.redis,
        onRange({ from, to, files }) {
          said = undefined
          const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
          messages.tell(`blocks ${from} to ${to}: ${countOf(files.length, 'file')}, ${sizeOf(bytes)}`, { type: 'range', from, to, files: files.length, bytes })
        },
        onFailure(error, range) {
          if (range !== undefined) return messages.warn(`blocks ${range.from} to ${range.to}: ${error.message}`)
          // What ends the worker is the error of the command.
          if (error instanceof OptionError || error.name === 'WorkerEndedError') return
          // A job that is not hexline's.
          if (error.name === 'UnrecoverableError') return messages.warn(error.message)
          // Redis is tried again and again.
          if (error.message !== said) messages.warn(`Redis cannot be used, trying again: ${error.message}`)
          said = error.message
        },
      })
      const release = onSignals((name) => {
        messages.tell(`${name}: finishing, or giving back, its ranges`, { type: 'closing' })
        void worker.close()
      })
      messages.tell('waiting for ranges', { type: 'ready' })
      await worker.ended.finally(release)
    } catch (error) {
      throw inCommand(error)
    } finally {
      queueing.close()
    }
  } finally {
    await client.close()
  }
}

/** An option that has another name in the command. */
function inCommand(error: unknown): unknown {
  return error instanceof OptionError && error.option === 'client' ? new OptionError('--rpc', error.expected, error.received) : error
}
