import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { Queue } from 'bullmq'
import { type Client, createClient, OptionError } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { enqueueExport, exportProgress, exportWorker, type QueuedExport, retryFailed } from 'hexline/bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { foreignFailures } from '../../../adapters/bullmq/export-progress.ts'
import type { ExportWorker, ExportWorkerOptions } from '../../../adapters/bullmq/export-worker.ts'
import type { ChainOptions } from '../../support/chain-server.ts'
import { type DatasetChain, startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'
import { eventually } from '../../support/eventually.ts'
import { hasRedis, type RedisServer, startRedis } from '../../support/redis.ts'
import { dumpOf } from '../../support/redis-dump.ts'

describe.runIf(hasRedis)('a worker', () => {
  let onCall: ChainOptions['answer'] & object
  let gate: ChainOptions['gate'] & object
  let server: DatasetChain
  let redis: RedisServer
  let client: Client
  let queue: Queue
  let folder: string
  let plan: QueuedExport
  const workers: ExportWorker[] = []
  beforeAll(async () => {
    server = await startDatasetChain({ head: 60, answer: (...args) => onCall(...args), gate: (calls) => gate(calls) })
    client = createClient(`${server.url}/SECRET-KEY`, { retry: false })
    redis = await startRedis({ password: 'SECRET-PASSWORD' })
  })
  afterAll(async () => {
    await client.close()
    await redis.stop()
    await server.close()
  })
  beforeEach(async () => {
    onCall = () => undefined
    gate = () => {}
    folder = await mkdtemp(join(tmpdir(), 'hexline-bullmq-'))
    plan = { dir: join(folder, 'data'), from: 3, to: 42, chainId: 1, format: 'ndjson', tables: ['blocks', 'logs'], blocksPerFile: 10 }
    await redis.redis.flushall()
    queue = new Queue('hexline', { connection: redis.redis, prefix: 'hexline' })
    await queue.waitUntilReady()
  })
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.close()
    await queue.close()
    await rm(folder, { recursive: true })
  })

  const start = (options: Partial<ExportWorkerOptions> = {}): ExportWorker => {
    const worker = exportWorker(client, { redis: redis.redis, budget: false, ...options })
    workers.push(worker)
    return worker
  }
  /** Resolves when this many ranges are done. */
  const done = (worker: ExportWorker, ranges: number) =>
    new Promise<void>((resolve) => {
      let count = 0
      worker.worker.on('completed', () => ++count === ranges && resolve())
    })
  const partNames = async () => (await readdir(join(folder, 'data/parts'))).filter((name) => !name.startsWith('to-')).sort()

  it('exports each range of a queue, with the files of one run, and its result is what the manifest says of it', async () => {
    expect(await enqueueExport(queue, plan)).toMatchObject({ ranges: 5, added: 5 })
    const worker = start()
    await done(worker, 5)
    await worker.close()
    expect(await partNames()).toEqual(['000000003', '000000010', '000000020', '000000030', '000000040', 'dataset'])
    const { chainId: _, ...options } = plan
    await exportDataset(client, { ...options, dir: join(folder, 'plain') })
    const plain = await digestsOf(join(folder, 'plain'))
    const made = await digestsOf(join(folder, 'data/parts'))
    for (const [name, digest] of Object.entries(plain))
      if (name !== 'manifest.json') expect(Object.entries(made)).toContainEqual([expect.stringMatching(`/${name}$`), digest])
    const jobs = await queue.getJobs(['completed'], 0, 100, true)
    expect(jobs.map(({ returnvalue }) => [returnvalue.from, returnvalue.to]).sort(([a], [b]) => a - b)).toEqual([
      [3, 9],
      [10, 19],
      [20, 29],
      [30, 39],
      [40, 42],
    ])
    const progress = await exportProgress(queue)
    expect(progress).toMatchObject({ ranges: { total: 5, done: 5, active: 0, waiting: 0, failed: 0 }, blocks: { total: 40, done: 40 }, failures: [] })
    expect(progress.bytes).toBe(jobs.flatMap(({ returnvalue }) => returnvalue.files).reduce((sum, { bytes }) => sum + bytes, 0))
  })

  it('enqueued again, an export adds nothing, and with a larger end only what is missing', async () => {
    await enqueueExport(queue, plan)
    const worker = start()
    await done(worker, 5)
    expect(await enqueueExport(queue, plan)).toMatchObject({ ranges: 5, added: 0 })
    // The last range was cut short by the end.
    expect(await enqueueExport(queue, { ...plan, to: 60 })).toMatchObject({ ranges: 7, added: 3 })
    expect((await exportProgress(queue)).blocks.total).toBe(58)
  })

  it('with its columns in another order, or one of them twice, an export is the same one', async () => {
    const columns = ['blocks.number', 'blocks.hash', 'logs.data']
    const first = await enqueueExport(queue, { ...plan, format: 'parquet', columns })
    const again = await enqueueExport(queue, { ...plan, format: 'parquet', columns: [...columns.toReversed(), 'logs.data'] })
    expect(again).toEqual({ ...first, added: 0 })
  })

  it("an attempt that finds its range done has the part with the range's end as its result", async () => {
    await enqueueExport(queue, plan)
    const worker = start()
    await done(worker, 5)
    await enqueueExport(queue, { ...plan, to: 49 })
    await done(worker, 1)
    const [job] = (await queue.getJobs(['completed'])).filter(({ data }) => data.range.to === 49)
    expect(job?.returnvalue).toMatchObject({ from: 43, to: 49 })
    await job?.remove()
    await enqueueExport(queue, { ...plan, to: 49 })
    await done(worker, 1)
    const [again] = (await queue.getJobs(['completed'])).filter(({ data }) => data.range.to === 49)
    expect(again?.returnvalue).toEqual(job?.returnvalue)
  })

  it('whose node does not have the last block of the export yet exports the ranges that it has', async () => {
    await enqueueExport(queue, { ...plan, to: 5000 })
    const worker = start({ concurrency: 1 })
    await done(worker, 2)
    expect((await exportProgress(queue)).ranges).toMatchObject({ failed: 0, delayed: 0 })
  })

  it('that was taken for dead by another process goes on', async () => {
    await enqueueExport(queue, { ...plan, to: 22 })
    const worker = start({ concurrency: 2 })
    await done(worker, 3)
    const parts = join(folder, 'data/parts')
    const [before] = (await readdir(parts)).filter((name) => name.startsWith('writer-'))
    await rm(join(parts, before as string), { recursive: true })
    await rm(join(parts, '000000010'), { recursive: true })
    for (const job of await queue.getJobs(['completed'])) await job.remove()
    const attempts: number[] = []
    worker.worker.on('completed', ({ attemptsMade }) => attempts.push(attemptsMade))
    await enqueueExport(queue, { ...plan, to: 22 })
    await eventually(() => expect(attempts).toEqual([1, 1, 1]))
    expect(await partNames()).toEqual(['000000003', '000000010', '000000020', 'dataset', expect.stringMatching(/^writer-/)])
  })

  it('a range that keeps failing is set aside with its error, and done when it is put back', async () => {
    onCall = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) === 25 ? { error: { code: -32602, message: 'no such block' } } : undefined
    await enqueueExport(queue, plan, { attempts: 2, backoffMs: 1 })
    const failures: unknown[] = []
    const worker = start({ onFailure: (error, range) => failures.push([error.message, range]) })
    await new Promise<void>((resolve) => worker.worker.on('failed', (job) => job?.attemptsMade === 2 && resolve()))
    const { failures: aside } = await exportProgress(queue)
    expect(aside).toEqual([{ from: 20, to: 29, dir: plan.dir, attempts: 2, cause: expect.stringContaining('no such block') }])
    expect(failures).toHaveLength(2)
    // Put back, it has all its attempts again.
    expect(await retryFailed(queue)).toBe(1)
    await eventually(() => expect(failures).toHaveLength(4))
    await eventually(async () => expect((await exportProgress(queue)).failures).toMatchObject([{ from: 20, attempts: 2 }]))
    onCall = () => undefined
    expect(await retryFailed(queue)).toBe(1)
    await new Promise<void>((resolve) => worker.worker.on('completed', (job) => job.data.range.from === 20 && resolve()))
    expect((await exportProgress(queue)).ranges).toMatchObject({ failed: 0 })
  })

  it("jobs that are not hexline's are set aside by their ids, and count in nothing", async () => {
    await enqueueExport(queue, plan)
    const datas = [{ to: 'somebody@example.com' }, null, { range: { from: 1, to: 2 } }, { range: { from: 'x', to: 2 }, export: { dir: '/', chainId: 1 } }]
    const ids: (string | undefined)[] = []
    for (const data of datas) ids.push((await queue.add('mail', data, { attempts: 3 })).id)
    const failures: unknown[] = []
    const worker = start({ onFailure: (error, range) => failures.push([error.message, range]) })
    await done(worker, 5)
    await eventually(() => expect(failures).toHaveLength(4))
    expect(failures).toEqual(ids.map((id) => [`job ${id} is not one of hexline's: it is set aside`, undefined]))
    expect(await exportProgress(queue)).toMatchObject({ ranges: { total: 5, done: 5, failed: 0 }, failures: [] })
    expect(await retryFailed(queue)).toBe(0)
    expect((await foreignFailures(queue)).map(({ id }) => id).sort()).toEqual(ids)
  })

  it('that is closed gives back the ranges that it cannot finish, and leaves nothing of them', async () => {
    let onBlocked = () => {}
    const blocked = new Promise<void>((resolve) => {
      onBlocked = resolve
    })
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    gate = (calls) => {
      if (!calls.some(({ method }) => method === 'eth_getBlockByNumber')) return
      onBlocked()
      return released
    }
    await enqueueExport(queue, plan)
    const worker = start({ closeMs: 1 })
    await blocked
    await worker.close()
    expect(await queue.getJobCounts('waiting', 'active', 'failed')).toEqual({ waiting: 5, active: 0, failed: 0 })
    expect(await partNames()).toEqual(['dataset'])
    release()
    gate = () => {}
    const next = start()
    await done(next, 5)
    expect((await queue.getJobs(['completed'])).map(({ attemptsMade }) => attemptsMade)).toEqual([1, 1, 1, 1, 1])
  })

  it('whose locks are lost tells it once for each range, in its own words, and the ranges are exported all the same', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    gate = (calls) => (calls.some(({ method }) => method === 'eth_getBlockByNumber') ? released : undefined)
    const { id } = await enqueueExport(queue, plan)
    const failures: string[] = []
    const worker = start({ lockMs: 400, onFailure: (error, range) => failures.push(`${range?.from} to ${range?.to}: ${error.message}`) })
    await eventually(async () => expect(await queue.getJobCounts('active')).toEqual({ active: 2 }))
    for (const range of ['3-9', '10-19']) expect(await redis.redis.del(`hexline:hexline:${id}-${range}:lock`)).toBe(1)
    const lost = 'its lock has expired, or Redis has lost it: another worker takes the range, or finds it done'
    const told = [`10 to 19: ${lost}`, `3 to 9: ${lost}`]
    await eventually(() => expect(failures.toSorted()).toEqual(told))
    const all = done(worker, 5)
    gate = () => {}
    release()
    await all
    await worker.close()
    expect(failures.toSorted()).toEqual(told)
    expect(await partNames()).toEqual(['000000003', '000000010', '000000020', '000000030', '000000040', 'dataset'])
  })

  it('whose node is of another chain ends, and gives back its range', async () => {
    await enqueueExport(queue, { ...plan, chainId: 5 })
    const worker = start()
    await expect(worker.ended).rejects.toThrow(OptionError)
    await expect(worker.ended).rejects.toThrow('a node of chain id 5, which is that of the export')
    expect(await queue.getJobCounts('waiting', 'active', 'failed')).toEqual({ waiting: 5, active: 0, failed: 0 })
  })

  it('whose connection has a database that Redis refuses ends, instead of working in database 0', async () => {
    await enqueueExport(queue, plan)
    const other = redis.redis.duplicate({ db: 7 })
    other.on('error', () => {})
    const worker = start({ redis: other })
    await expect(worker.ended).rejects.toThrow('Redis refuses the database of the connection: ERR DB index is out of range')
    other.disconnect()
  })

  it('tells that its password is refused, and shows the password in no part of the error', async () => {
    const other = redis.redis.duplicate({ password: 'OTHER-SECRET' })
    other.on('error', () => {})
    const failures: Error[] = []
    const worker = start({ redis: other, closeMs: 1, onFailure: (error) => failures.push(error) })
    await eventually(() => expect(failures).toContainEqual(expect.objectContaining({ message: expect.stringContaining('WRONGPASS') })))
    await worker.close()
    await worker.ended.catch((error: Error) => failures.push(error))
    expect(inspect(failures, { depth: 9, showHidden: true })).not.toContain('SECRET')
    other.disconnect()
  })

  it('whose connection breaks while the worker starts ends with an error, instead of waiting for ever', async () => {
    await enqueueExport(queue, plan)
    // Redis is lost as soon as BullMQ asks for its version, after ioredis has.
    let isBroken = false
    const broken = createServer((socket) => {
      const real = connect(redis.port, '127.0.0.1')
      let infos = 0
      socket.on('data', (data) => {
        infos += data.toString().toLowerCase().split('info').length - 1
        isBroken ||= infos > 1
        if (isBroken) socket.destroy()
        else real.write(data)
      })
      real.pipe(socket)
      for (const side of [socket, real])
        side
          .on('error', () => {})
          .on('close', () => {
            real.destroy()
            socket.destroy()
          })
    })
    await once(broken.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void broken.close())
    const other = redis.redis.duplicate({ port: (broken.address() as AddressInfo).port, lazyConnect: true, retryStrategy: () => 50 })
    other.on('error', () => {})
    const worker = start({ redis: other })
    await expect(worker.ended).rejects.toThrow('the worker cannot start: its connection to Redis broke')
    other.disconnect()
  })

  it.each([undefined, null, {}, 'hexline'])('refuses %o as a queue', async (value) => {
    for (const ask of [() => enqueueExport(value as never, plan), () => exportProgress(value as never), () => retryFailed(value as never)])
      await expect(ask()).rejects.toThrow(/^queue: expected a queue of BullMQ, received /)
  })

  it('leaves no secret in Redis', async () => {
    onCall = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) === 25 ? { error: { code: -32602, message: 'no block at /SECRET-KEY' } } : undefined
    await enqueueExport(queue, plan, { attempts: 1 })
    const worker = start({ budget: true })
    await Promise.all([done(worker, 4), once(worker.worker, 'failed')])
    const all = await dumpOf(redis.redis)
    expect(all).toContain('no block at ')
    expect(all).toContain('budget')
    expect(all).not.toMatch(/SECRET/)
  })

  it.each([
    [{ redis: 'redis://:SECRET@127.0.0.1' }, 'redis: expected a connection of ioredis, received string'],
    [{ queue: 'a:b' }, 'queue: expected a name of letters'],
    [{ concurrency: 0 }, 'concurrency: expected '],
    [{ lockMs: -1 }, 'lockMs: expected '],
    [{ other: 1 }, 'other'],
  ])('is refused with %j', (options, message) => {
    expect(() => exportWorker(client, { redis: redis.redis, ...options } as never)).toThrow(message)
  })
})
