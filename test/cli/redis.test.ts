import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Queue } from 'bullmq'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hexline, hexlineOnTerminal, inShell, spawnHexline, startHexline } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { eventually } from '../support/eventually.ts'
import { hasRedis, type RedisServer, startRedis } from '../support/redis.ts'

describe.runIf(hasRedis)('a queue on Redis', () => {
  let server: DatasetChain
  let redis: RedisServer
  let folder: string
  let isBroken: boolean
  beforeAll(async () => {
    server = await startDatasetChain({
      head: 60,
      answer: ({ method, params }) =>
        isBroken && method === 'eth_getBlockByNumber' && Number(params[0]) === 25 ? { error: { code: -32602, message: 'no such block' } } : undefined,
    })
    redis = await startRedis({ password: 'SECRET-PASSWORD' })
    folder = await mkdtemp(join(tmpdir(), 'hexline-queue-'))
  })
  afterAll(async () => {
    await redis.stop()
    await server.close()
    await rm(folder, { recursive: true })
  })
  beforeEach(() => {
    isBroken = false
  })

  const env = () => ({ HEXLINE_REDIS_URL: redis.url, HEXLINE_RPC_URL: `${server.url}/SECRET-KEY` })
  const json = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const exportArgs = (dir: string) => ['export', '--redis', '--from', '3', '--to', '42', '--out', dir, '--blocks-per-file', '10', '--json']

  it('jobs whose output has no room, or no reader, ends with one line, or with none', async () => {
    const stderr = 'hexline: standard output cannot be written: no space left on the disk; nothing was written\n'
    const jobs = `HEXLINE_REDIS_URL=${redis.url} $hexline jobs`
    expect(await inShell(`${jobs} > /dev/full`)).toEqual({ code: 1, stdout: '', stderr })
    expect(await inShell(`${jobs} --json 1> >(exec true)`)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('export adds ranges and waits, worker does them and ends at SIGTERM, jobs shows what there is', async () => {
    const dir = join(folder, 'all')
    const [exported, worked] = await withWorker(() => hexline(exportArgs(dir), { env: env() }))
    expect(exported.code).toBe(0)
    const facts = json(exported.stderr)
    expect(facts[0]).toEqual({ type: 'enqueued', ranges: 5, added: 5 })
    expect(facts.at(-1)).toMatchObject({ type: 'exported', ranges: 5 })
    expect(worked.code).toBe(0)
    expect(json(worked.stderr).filter(({ type }) => type === 'range')).toHaveLength(5)
    const jobs = await hexline(['jobs'], { env: env() })
    expect(jobs.stdout).toMatch(/^ranges {2}5 of 5 done, 0 active, 0 waiting, 0 to be retried, 0 failed\nblocks {2}40 of 40, /)
    const narrow = await hexlineOnTerminal(['jobs'], { env: env(), columns: 40 })
    for (const line of narrow.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(40)
    expect(narrow.stdout.replaceAll(/\s+/g, ' ')).toBe(jobs.stdout.replaceAll(/\s+/g, ' '))
    const again = await hexline(
      exportArgs(dir).filter((arg) => arg !== '--json'),
      { env: env() },
    )
    expect(again.stderr).toMatch(
      /^5 ranges in the queue, 0 of them new; hexline worker exports them\nall ranges were done before: hexline merge .* makes a dataset of them; hexline jobs --recheck has workers export what the folder lacks\n$/,
    )
    for (const { stdout, stderr } of [exported, worked, jobs]) expect(stdout + stderr).not.toContain('SECRET')
  })

  it('a range that is done and whose files are deleted is exported again once it is put back', async () => {
    const dir = join(folder, 'deleted')
    await withWorker(async () => {
      const exported = () => hexline(exportArgs(dir), { env: env() })
      await exported()
      await rm(join(dir, 'parts/000000020'), { recursive: true })
      await exported()
      expect(await hexline(['merge', dir])).toMatchObject({ code: 1, stderr: expect.stringContaining('lacks blocks 20 to 29') })
      expect(await hexline(['jobs', '--recheck'], { env: env() })).toMatchObject({ code: 0, stderr: '5 ranges put back, to be checked\n' })
      expect(json((await exported()).stderr).at(-1)).toMatchObject({ type: 'exported', ranges: 5 })
    })
    expect(await hexline(['merge', dir, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('an export with other options than its folder was started with is refused before anything is queued', async () => {
    const dir = join(folder, 'other options')
    await withWorker(() => hexline(exportArgs(dir), { env: env() }))
    const others = exportArgs(dir).map((arg) => (arg === '10' ? '20' : arg))
    const refusal = `hexline: --blocks-per-file: expected 10, which ${dir} was started with, received 20; nothing was changed`
    for (const merged of [false, true]) {
      if (merged) expect(await hexline(['merge', dir, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' })
      const { code, stderr } = await hexline(
        others.filter((arg) => arg !== '--json'),
        { env: env() },
      )
      expect([code, stderr]).toEqual([2, `${refusal}\n`])
    }
    expect((await hexline(['jobs'], { env: env() })).stdout).toMatch(/^ranges {2}5 of 5 done, /)
  })

  it('an export ends with its own ranges, whatever another one in the queue does', async () => {
    isBroken = true
    const broken = exportArgs(join(folder, 'other'))
    const [exported] = await withWorker(async () => {
      const failed = await hexline([...broken, '--attempts', '1'], { env: env() })
      expect(failed.code).toBe(1)
      const whole = exportArgs(join(folder, 'whole')).map((arg) => (arg === '42' ? '19' : arg))
      return await hexline(whole, { env: env() })
    })
    expect(exported.code).toBe(0)
    expect(json(exported.stderr).at(-1)).toMatchObject({ type: 'exported', ranges: 2 })
    expect((await hexline(['jobs'], { env: env() })).stdout).toMatch(/^ranges {2}6 of 7 done, 0 active, 0 waiting, 0 to be retried, 1 failed\n/)
    await hexline(['jobs', '--retry'], { env: env() })
    // No worker is there: nobody can say how long it will take.
    expect((await hexline(['jobs'], { env: env() })).stdout).toMatch(/6 of 7 done, 0 active, 1 waiting, .*\nblocks {2}\d+ of \d+, [1-9][\d,]* blocks\/s\n/)
  })

  it('a range that keeps failing is shown with its cause, and done when it is put back', async () => {
    isBroken = true
    const dir = join(folder, 'broken')
    const [exported] = await withWorker(async () => {
      const first = await hexline([...exportArgs(dir), '--attempts', '1'], { env: env() })
      const jobs = await hexline(['jobs'], { env: env() })
      expect(jobs.stdout).toMatch(/1 failed\n/)
      expect(jobs.stdout).toMatch(/from {2}to {2}attempts {2}cause\n +20 {2}29 +1 {2}.*no such block/)
      isBroken = false
      const put = await hexline(['jobs', '--retry', '--json'], { env: env() })
      expect(JSON.parse(put.stdout)).toMatchObject({ retried: 1, ranges: { failed: 1 }, failures: [{ from: 20, to: 29, attempts: 1 }] })
      expect((await hexline(exportArgs(dir), { env: env() })).code).toBe(0)
      return first
    })
    expect(exported.code).toBe(1)
    expect(json(exported.stderr).at(-1)).toMatchObject({
      type: 'error',
      message: '1 range failed and was set aside: hexline jobs shows why, and puts them back with --retry',
    })
  })

  it('a worker tells each failure of a range, also a second time, and jobs lists what others have added', async () => {
    isBroken = true
    const dir = join(folder, 'again')
    const foreign = new Queue('hexline', { connection: redis.redis, prefix: 'hexline' })
    let id: string | undefined
    const [, worked] = await withWorker(async () => {
      id = (await foreign.add('mail', { to: 'somebody' })).id
      expect((await hexline([...exportArgs(dir), '--attempts', '1'], { env: env() })).code).toBe(1)
      const jobs = await hexline(['jobs', '--retry'], { env: env() })
      expect(jobs).toMatchObject({ code: 0, stderr: '1 range put back\n' })
      expect(jobs.stdout).toMatch(/^ranges {2}4 of 5 done, .* 1 failed\nblocks {2}30 of 40, \d+ blocks\/s\n/)
      expect(jobs.stdout).toMatch(
        new RegExp(`\n\nfailed jobs that are not hexline's\njob +cause\n${id} +job ${id} is not one of hexline's: it is set aside\n$`),
      )
      expect((await hexline(exportArgs(dir), { env: env() })).code).toBe(1)
    })
    await foreign.close()
    expect(worked.stderr.match(/blocks 20 to 29: [^\n]*no such block/g)).toHaveLength(2)
    expect(worked.stderr).toContain(`"message":"job ${id} is not one of hexline's: it is set aside"`)
  })

  it.each([
    [['jobs'], {}, 'hexline: --redis: expected the URL of Redis, here or in HEXLINE_REDIS_URL, received nothing\n'],
    [['jobs', '--redis', 'http://SECRET@x'], {}, 'hexline: --redis: expected a URL such as redis://127.0.0.1:6379, received an invalid URL\n'],
    ...['/foo', '/-1', '/1.5', '/1/2', '/SECRET@x', '?db=foo'].map((rest): [string[], Record<string, string>, string] => [
      ['jobs'],
      { HEXLINE_REDIS_URL: `redis://:SECRET@127.0.0.1:1${rest}` },
      'hexline: --redis: expected a URL whose path is the number of a database, such as redis://127.0.0.1:6379/1, received an invalid database\n',
    ]),
    [
      // Nothing listens there: the node is not asked before.
      ['export', '--redis', 'redis://x/foo', '--rpc', 'http://127.0.0.1:1', '--from', '0', '--to', '1', '--out', 'x'],
      {},
      'hexline: --redis: expected a URL whose path is the number of a database, such as redis://127.0.0.1:6379/1, received an invalid database\n',
    ],
    [
      ['jobs', '--redis', 'redis://x', '--queue', 'a:b'],
      {},
      'hexline: --queue: expected a name of letters, digits, dots, hyphens and underscores, received "a:b"\n',
    ],
    [
      ['export', '--redis', 'redis://x', '--rpc', 'http://x', '--from', '0', '--to', 'follow', '--out', 'x'],
      {},
      'hexline: --to: expected a block number, latest, safe or finalized with --redis, received follow\n',
    ],
    [['worker', '--redis', 'redis://x', '--rpc', 'http://x', '--ranges', '0'], {}, 'hexline: --ranges: expected a whole number from 1 to 100, received 0\n'],
    [
      ['worker', '--redis', 'redis://x', '--rpc', 'http://x', '--lock', '9999999'],
      {},
      'hexline: --lock: expected a number of seconds above 0, such as 30, at most 2147483, received "9999999"\n',
    ],
    [
      ['export', '--rpc', 'http://x', '--from', '0', '--to', '1', '--out', 'x', '--attempts', '2'],
      {},
      'hexline: --attempts: expected no --attempts without --redis, received 2\n',
    ],
    [
      ['export', '--rpc', 'http://x', '--from', '0', '--to', '1', '--out', 'x', '--queue', 'nightly'],
      { HEXLINE_REDIS_URL: 'redis://127.0.0.1:1' },
      'hexline: --queue: expected no --queue without --redis, received "nightly"\n',
    ],
  ])('%j is refused', async (args, environment, stderr) => {
    expect(await hexline(args, { env: environment })).toEqual({ code: 2, stdout: '', stderr })
  })

  it('a worker whose node is on another chain ends with one error, in the words of the command', async () => {
    const other = await startDatasetChain({ head: 60, answer: ({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined) })
    const queue = ['--queue', 'other-chain']
    const exporting = startHexline([...exportArgs(join(folder, 'other-chain')), ...queue], { env: env() })
    try {
      const worked = await spawnHexline(['worker', ...queue], { env: { ...env(), HEXLINE_RPC_URL: other.url } })
      expect(worked).toEqual({
        code: 2,
        stdout: '',
        stderr: 'waiting for ranges\nhexline: --rpc: expected a node of chain id 1, which is that of the export, received one of chain id 5\n',
      })
    } finally {
      exporting.kill('SIGKILL')
      await exporting.ended
      await other.close()
    }
  })

  it.each([
    ['--out', 'the path of a folder'],
    ['--queue', 'a name of letters, digits, dots, hyphens and underscores'],
  ])('a worker refuses an empty %s', async (flag, expected) => {
    const { code, stderr } = await hexline(['worker', flag, ''], { env: env() })
    expect({ code, stderr }).toEqual({ code: 2, stderr: `hexline: ${flag}: expected ${expected}, received ""\n` })
  })

  it('a Redis that does not answer, or refuses the password, is named without it', async () => {
    const wrong = redis.url.replace('SECRET-PASSWORD', 'SECRET-WRONG')
    const refused = await hexline(['jobs'], { env: { HEXLINE_REDIS_URL: wrong } })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(new RegExp(`^hexline: Redis at 127.0.0.1:${redis.port} cannot be used: .*WRONGPASS`))
    const absent = await hexline(['jobs', '--redis', 'redis://:SECRET@127.0.0.1:1'])
    expect(absent.stderr).toBe(
      'hexline: warning: other users of this machine can see a password given as an argument; use HEXLINE_REDIS_URL instead\n' +
        'hexline: Redis at 127.0.0.1:1 cannot be used: connect ECONNREFUSED 127.0.0.1:1; is Redis running there?\n',
    )
    expect(refused.stderr).not.toContain('SECRET')
  })

  it.each([['jobs'], ['worker'], exportArgs('nowhere')])(
    'a database that Redis refuses is an error, and nothing happens in database 0 (%s)',
    async (...args) => {
      await redis.redis.flushall()
      expect(await hexline(args, { env: { ...env(), HEXLINE_REDIS_URL: `${redis.url}/7` } })).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`Redis at 127.0.0.1:${redis.port}/7 cannot be used: ERR DB index is out of range`),
      })
      expect(await redis.redis.dbsize()).toBe(0)
    },
  )

  it('an export whose Redis has gone says so once, and ends at Ctrl-C', async () => {
    const own = await startRedis()
    const running = startHexline(exportArgs(join(folder, 'gone')), { env: { HEXLINE_REDIS_URL: own.url, HEXLINE_RPC_URL: server.url } })
    const said = createInterface({ input: running.stderr as Readable })[Symbol.asyncIterator]()
    expect((await said.next()).value).toContain('"enqueued"')
    await own.stop()
    for (;;) {
      const line: string = (await said.next()).value
      if (line.includes('"progress"')) continue
      expect(JSON.parse(line)).toMatchObject({ type: 'warning', message: expect.stringMatching(/^Redis does not answer, trying again: /) })
      break
    }
    running.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr.match(/Redis does not answer/g)).toHaveLength(1)
  })

  it('a Redis that takes connections and does not answer is an error, and later a warning', async () => {
    const own = await startRedis()
    const environment = { HEXLINE_REDIS_URL: own.url, HEXLINE_RPC_URL: server.url }
    const running = startHexline(exportArgs(join(folder, 'silent')), { env: environment })
    const said = createInterface({ input: running.stderr as Readable })[Symbol.asyncIterator]()
    expect((await said.next()).value).toContain('"enqueued"')
    process.kill(own.pid, 'SIGSTOP')
    // This one answers when a command connects, and not later.
    const later = await startRedis()
    await later.redis.client('PAUSE', 600_000, 'WRITE')
    const silence = "Socket timeout. Expecting data, but didn't receive any in 10000ms."
    const atStart = [['jobs'], ['worker'], exportArgs(join(folder, 'silent'))].map((args) => hexline(args, { env: environment }))
    const jobs = await hexline(['jobs'], { env: { HEXLINE_REDIS_URL: later.url } })
    expect(jobs).toEqual({ code: 1, stdout: '', stderr: `hexline: Redis does not answer: ${silence}\n` })
    await later.stop()
    const all = await Promise.all(atStart)
    for (const { code, stderr } of all) {
      expect(code).toBe(1)
      expect(stderr).toContain(`Redis at 127.0.0.1:${own.port} cannot be used: ${silence}`)
    }
    let line = ''
    while (!line.includes('"warning"')) line = (await said.next()).value
    expect(JSON.parse(line)).toMatchObject({ message: `Redis does not answer, trying again: ${silence}` })
    running.kill('SIGINT')
    expect((await running.ended).code).toBe(130)
    await own.stop()
  })

  it('an export whose ranges Redis has lost adds them again, and ends when all are done', async () => {
    isBroken = true
    const queue = new Queue('hexline', { connection: redis.redis, prefix: 'hexline' })
    const [{ code, stderr }] = await withWorker(async () => {
      const running = startHexline(exportArgs(join(folder, 'lost')), { env: env() })
      const said = createInterface({ input: running.stderr as Readable })[Symbol.asyncIterator]()
      const warned = async () => {
        for (;;) {
          const line: string = (await said.next()).value
          if (line.includes('"warning"')) return line
        }
      }
      const fourDone = () => eventually(async () => expect(await queue.getCompletedCount()).toBe(4))
      await fourDone()
      await redis.redis.flushall()
      expect(await warned()).toContain('Redis has lost 5 ranges of this export: they have been queued again')
      await fourDone()
      await (await queue.getCompleted())[0]?.remove()
      expect(await warned()).toContain('Redis has lost 1 range of this export')
      isBroken = false
      return await running.ended
    })
    await queue.close()
    expect(code).toBe(0)
    const facts = json(stderr)
    expect(facts.filter(({ type }) => type === 'warning')).toHaveLength(2)
    expect(facts.at(-1)).toMatchObject({ type: 'exported', ranges: 5 })
  })

  /** Runs a worker until `use` has ended, and then ends it as a process is ended. */
  async function withWorker<T>(use: () => Promise<T>): Promise<[T, Awaited<ReturnType<typeof hexline>>]> {
    await redis.redis.flushall()
    const ended = hexline(['worker', '--no-budget', '--json'], { env: env() })
    const used = await use()
    process.emit('SIGTERM')
    return [used, await ended]
  }
})
