import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { spawnHexline, startHexline } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { digestsOf } from '../support/dataset-kills.ts'
import { randomFrom } from '../support/random.ts'

/*
 * Shards as people run them: processes of the built command that share a folder, or have one each,
 * and are killed.
 */

const BLOCKS = 400
let onPost = () => {}
let server: DatasetChain
let folder: string
let dir: string
let plain: Record<string, string>
beforeAll(async () => {
  server = await startDatasetChain({ head: BLOCKS, gate: () => onPost() })
  const alone = await mkdtemp(join(tmpdir(), 'hexline-shards-alone-'))
  expect(await spawnHexline(argsFor(alone))).toMatchObject({ code: 0, stderr: '' })
  plain = await digestsOf(alone)
  await rm(alone, { recursive: true })
})
afterAll(() => server.close())
beforeEach(async () => {
  onPost = () => {}
  folder = await mkdtemp(join(tmpdir(), 'hexline-shards-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const argsFor = (out: string, ...more: string[]) => [
  ...['export', '--rpc', server.url, '--from', '1', '--to', String(BLOCKS), '--out', out, '--blocks-per-file', '20', '--batch', '10', '--quiet'],
  ...['--tables', 'blocks,transactions,receipts,logs,withdrawals', ...more],
]
const shard = (out: string, index: number, of: number) => startHexline(argsFor(out, '--shard', `${index}/${of}`))
const merge = (...args: string[]) => spawnHexline(['merge', '--quiet', ...args])
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
const done = { code: 0, stdout: '', stderr: '' }

it.each([1, 2, 4, 8])('%d processes fill one folder with what one export writes', async (of) => {
  const all = await Promise.all(numbers(of).map((index) => shard(dir, index, of).ended))
  expect(all).toEqual(all.map(() => done))
  expect(await merge(dir)).toEqual(done)
  expect(await digestsOf(dir)).toEqual(plain)
})

it('8 processes with a folder each', async () => {
  const dirs = numbers(8).map((index) => join(folder, `shard-${index}`))
  await Promise.all(dirs.map((each, i) => shard(each, i + 1, 8).ended))
  expect(await merge(...dirs, '--into', dir)).toEqual(done)
  expect(await digestsOf(dir)).toEqual(plain)
})

it('the same shard in several processes at once', async () => {
  const all = await Promise.all([1, 1, 1, 2, 2].map((index) => shard(dir, index, 2).ended))
  expect(all).toEqual(all.map(() => done))
  expect(await merge(dir)).toEqual(done)
  expect(await digestsOf(dir)).toEqual(plain)
})

it('SIGKILL at 30 random moments, beside neighbours that go on, and a merge that is killed, too', async () => {
  const random = randomFrom(1)
  let kills = 0
  for (let round = 0; kills < 30; round++) {
    let posts = 0
    const children = [1, 2, 3].map((index) => shard(dir, index, 3))
    const victims = children.slice(0, 2).map((child) => ({ child, after: 1 + Math.floor(random() * 25), ms: Math.floor(random() * 40) }))
    onPost = () => {
      posts++
      for (const { child, after, ms } of victims) if (posts === after) setTimeout(() => child.kill('SIGKILL'), ms)
    }
    const ended = await Promise.all(children.map((child) => child.ended))
    kills += ended.filter(({ code }) => code === null).length
    expect(ended.filter(({ code }) => code !== null)).toEqual(ended.filter(({ code }) => code !== null).map(() => done))
    onPost = () => {}
    // When nothing is left to kill, another folder is begun.
    if (ended.every(({ code }) => code === 0) || round % 6 === 5) {
      for (const index of [1, 2, 3]) expect(await shard(dir, index, 3).ended).toEqual(done)
      for (let i = 0; i < 4; i++) {
        const merging = startHexline(['merge', dir, '--quiet'])
        setTimeout(() => merging.kill('SIGKILL'), 150 + 100 * random())
        await merging.ended
      }
      expect(await merge(dir)).toEqual(done)
      expect(await digestsOf(dir)).toEqual(plain)
      expect((await readdir(dir)).includes('parts')).toBe(false)
      await rm(dir, { recursive: true })
    }
  }
  for (const index of [1, 2, 3]) expect(await shard(dir, index, 3).ended).toEqual(done)
  expect(await merge(dir)).toEqual(done)
  expect(await digestsOf(dir)).toEqual(plain)
})

/** Whether this process may mount a file system. */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

it.runIf(canMount)('a disk that runs full leaves whole parts; a merge into it leaves them, too', async () => {
  await mkdir(dir)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=700k', 'none', dir])
  try {
    const failed = await shard(dir, 1, 2).ended
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('no space left on the disk') })
    expect((await readdir(join(dir, 'parts'))).filter((name) => name.startsWith('writer'))).toEqual([])
    // Another file system: files are copied.
    const elsewhere = join(folder, 'elsewhere')
    for (const index of [1, 2]) expect(await shard(elsewhere, index, 2).ended).toEqual(done)
    expect(await merge(elsewhere, '--into', dir)).toMatchObject({ code: 1, stderr: expect.stringContaining('no space left on the disk') })
    execFileSync('mount', ['-o', 'remount,size=40m', dir])
    expect(await merge(elsewhere, '--into', dir)).toEqual(done)
    expect(await digestsOf(dir)).toEqual(plain)
  } finally {
    execFileSync('umount', [dir])
  }
})
