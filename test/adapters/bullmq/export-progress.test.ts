import { Queue } from 'bullmq'
import { enqueueExport, exportProgress, retryFailed } from 'hexline/bullmq'
import { expect, it } from 'vitest'
import { foreignFailures, ProgressReader, recheckDone } from '../../../adapters/bullmq/export-progress.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'

it.runIf(hasRedis)('sums up what is done, each time only what has come since, and knows no rate before that', async () => {
  const server = await startRedis()
  const queue = new Queue('hexline', { connection: server.redis, prefix: 'hexline' })
  try {
    await enqueueExport(queue, { dir: '/data', from: 0, to: 3999, chainId: 1 })
    const none = await exportProgress(queue)
    expect(none).toMatchObject({
      ranges: { total: 4, done: 0, waiting: 4 },
      blocks: { total: 4000, done: 0 },
      blocksPerSecond: 0,
      msLeft: undefined,
      failures: [],
    })
    const reader = new ProgressReader(queue)
    await reader.read()
    const entry = {
      files: [
        { rows: 5, bytes: 100 },
        { rows: 7, bytes: 200 },
      ],
    }
    for (const [i, job] of (await queue.getJobs(['waiting'])).slice(0, 2).entries()) {
      await queue.remove(job.id as string)
      // What a worker leaves of a range, without a worker.
      await server.redis.zadd(queue.toKey('completed'), i + 1, job.id as string)
      await server.redis.hset(queue.toKey(job.id as string), {
        ...{ name: 'range', data: JSON.stringify(job.data), opts: '{}', returnvalue: JSON.stringify(entry) },
        ...{ timestamp: '1', processedOn: String(1000 + 1000 * i), finishedOn: String(2000 + 1000 * i) },
      })
      const { blocks, rows, bytes, blocksPerSecond, msLeft } = await reader.read()
      expect({ blocks: blocks.done, rows, bytes, blocksPerSecond }).toEqual({
        blocks: 1000 * (i + 1),
        rows: 12 * (i + 1),
        bytes: 300 * (i + 1),
        blocksPerSecond: 1000,
      })
      expect(msLeft).toBe(3000 - 1000 * i)
    }
    expect(await exportProgress(queue)).toMatchObject({ blocks: { done: 2000 }, rows: 24 })
    // Extended, the export has its last range twice: in part, and as a whole.
    await queue.obliterate({ force: true })
    for (const to of [1499, 1999]) await enqueueExport(queue, { dir: '/data', from: 1000, to, chainId: 1 })
    for (const job of await queue.getJobs(['waiting'])) {
      await queue.remove(job.id as string)
      await server.redis.zadd(queue.toKey('completed'), 1, job.id as string)
      await server.redis.hset(queue.toKey(job.id as string), { name: 'range', data: JSON.stringify(job.data), opts: '{}', returnvalue: 'null', timestamp: '1' })
    }
    expect(await exportProgress(queue)).toMatchObject({ ranges: { done: 2 }, blocks: { done: 1000 } })
  } finally {
    await queue.close()
    await server.stop()
  }
})

it.runIf(hasRedis)('counts each range once, also where the clock of a worker is behind those of others, or ranges were put back', async () => {
  const server = await startRedis()
  const queue = new Queue('hexline', { connection: server.redis, prefix: 'hexline' })
  try {
    const { id } = await enqueueExport(queue, { dir: '/data', from: 0, to: 3999, chainId: 1 })
    const finish = async (from: number, at: number) => {
      await server.redis.lrem(queue.toKey('wait'), 1, `${id}-${from}-${from + 999}`)
      await server.redis.zadd(queue.toKey('completed'), at, `${id}-${from}-${from + 999}`)
      const returnvalue = JSON.stringify({ files: [{ rows: 5, bytes: 100 }] })
      await server.redis.hset(queue.toKey(`${id}-${from}-${from + 999}`), { processedOn: at - 1, finishedOn: at, returnvalue })
    }
    const reader = new ProgressReader(queue)
    const read = async () => {
      const { blocks, rows } = await reader.read()
      return [blocks.done, rows]
    }
    await finish(0, 5000)
    expect(await read()).toEqual([1000, 5])
    // By the clock of its worker, it was done before the first one.
    await finish(1000, 3000)
    expect(await read()).toEqual([2000, 10])
    expect(await recheckDone(queue)).toBe(2)
    expect(await read()).toEqual([2000, 10])
    await finish(2000, 8000)
    expect(await read()).toEqual([3000, 15])
    for (const from of [3000, 0, 1000]) await finish(from, 6000 + from)
    expect(await read()).toEqual([4000, 20])
  } finally {
    await queue.close()
    await server.stop()
  }
})

it.runIf(hasRedis)('puts each failed range back once, also where two do it at the same time, or one is removed meanwhile', async () => {
  const server = await startRedis()
  const queue = new Queue('hexline', { connection: server.redis, prefix: 'hexline' })
  try {
    const { id } = await enqueueExport(queue, { dir: '/data', from: 0, to: 9999, chainId: 1 })
    for (let from = 0; from < 10_000; from += 1000) {
      await server.redis.lrem(queue.toKey('wait'), 1, `${id}-${from}-${from + 999}`)
      await server.redis.zadd(queue.toKey('failed'), 1, `${id}-${from}-${from + 999}`)
    }
    const getJobs = queue.getJobs.bind(queue)
    queue.getJobs = async (...args) => {
      const jobs = await getJobs(...args)
      await server.redis.zrem(queue.toKey('failed'), `${id}-0-999`)
      await server.redis.del(queue.toKey(`${id}-0-999`))
      return jobs
    }
    const retried = await Promise.all([retryFailed(queue), retryFailed(queue)])
    expect(retried.reduce((sum, count) => sum + count)).toBe(9)
    expect((await exportProgress(queue)).ranges).toMatchObject({ total: 9, waiting: 9 })
  } finally {
    await queue.close()
    await server.stop()
  }
})

it.runIf(hasRedis)("leaves out what is not hexline's, and knows no time left where only failed ranges are left", async () => {
  const server = await startRedis()
  const queue = new Queue('hexline', { connection: server.redis, prefix: 'hexline' })
  try {
    const { id } = await enqueueExport(queue, { dir: '/data', from: 0, to: 1999, chainId: 1 })
    const foreign = (await queue.add('mail', { to: 'somebody' })).id as string
    const malformed = (await queue.add('range', {}, { jobId: `${id}-2000-2999` })).id as string
    for (const [state, ids] of Object.entries({ completed: [`${id}-0-999`, foreign], failed: [`${id}-1000-1999`, malformed] }))
      for (const each of ids) {
        await server.redis.lrem(queue.toKey('wait'), 1, each)
        await server.redis.zadd(queue.toKey(state), 1, each)
        await server.redis.hset(queue.toKey(each), { processedOn: '1000', finishedOn: '2000', returnvalue: 'null', failedReason: `it is ${state}` })
      }
    for (const one of [undefined, id])
      expect(await exportProgress(queue, one)).toMatchObject({
        ranges: { total: 3, done: 1, failed: 2 },
        blocks: { total: 2000, done: 1000 },
        blocksPerSecond: 1000,
        msLeft: undefined,
        failures: [{ from: 1000, to: 1999 }],
      })
    expect(await foreignFailures(queue)).toEqual([{ id: malformed, cause: 'it is failed' }])
    await server.redis.hset(queue.toKey(`${id}-1000-1999`), { atm: '5', stc: '20' })
    expect(await retryFailed(queue)).toBe(1)
    expect(await queue.getJob(`${id}-1000-1999`)).toMatchObject({ attemptsMade: 0, stalledCounter: 0 })
    expect(await exportProgress(queue)).toMatchObject({ ranges: { waiting: 1, failed: 1 }, msLeft: 1000 })
  } finally {
    await queue.close()
    await server.stop()
  }
})

it.runIf(hasRedis)('sums up one export of several, in whatever state their ranges are', async () => {
  const server = await startRedis()
  const queue = new Queue('hexline', { connection: server.redis, prefix: 'hexline' })
  try {
    const one = await enqueueExport(queue, { dir: '/one', from: 0, to: 2999, chainId: 1 })
    const other = await enqueueExport(queue, { dir: '/other', from: 0, to: 4999, chainId: 1 })
    expect([one.id, other.id]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), expect.not.stringMatching(one.id)])
    const move = async (id: string, state: string) => {
      await server.redis.lrem(queue.toKey('wait'), 1, id)
      if (state === 'active') await server.redis.lpush(queue.toKey(state), id)
      else await server.redis.zadd(queue.toKey(state), 1, id)
    }
    await move(`${one.id}-0-999`, 'completed')
    await move(`${one.id}-1000-1999`, 'failed')
    for (const [from, state] of [...['completed', 'active', 'delayed', 'failed'].entries()].map(([i, state]) => [1000 * i, state] as const))
      await move(`${other.id}-${from}-${from + 999}`, state)
    expect(await exportProgress(queue, one.id)).toMatchObject({
      ranges: { total: 3, done: 1, active: 0, waiting: 1, delayed: 0, failed: 1 },
      blocks: { total: 3000, done: 1000 },
      failures: [{ dir: '/one', from: 1000, to: 1999 }],
    })
    expect(await exportProgress(queue, other.id)).toMatchObject({
      ranges: { total: 5, done: 1, active: 1, waiting: 1, delayed: 1, failed: 1 },
      blocks: { total: 5000, done: 1000 },
      failures: [{ dir: '/other', from: 3000, to: 3999 }],
    })
    const both = await exportProgress(queue)
    expect(both).toMatchObject({ ranges: { total: 8, done: 2, failed: 2 }, blocks: { total: 8000, done: 2000 } })
    expect(both.failures.map(({ dir }) => dir).sort()).toEqual(['/one', '/other'])
  } finally {
    await queue.close()
    await server.stop()
  }
})
