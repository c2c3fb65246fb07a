import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { lockFolder } from '../../../src/dataset/folder/lock.ts'
import { onFailingDisk } from '../../support/failing-disk.ts'

let dir: string
let path: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-lock-'))
  path = join(dir, '.lock')
})
afterEach(() => rm(dir, { recursive: true }))

/** A process that has ended. */
async function ended(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'close')
  return child.pid as number
}

it('one process holds a folder until it releases it', async () => {
  const lock = await lockFolder(dir)
  await lock.check()
  await expect(lockFolder(dir)).rejects.toThrow(`${dir} is in use by this process (${process.pid})`)
  await lock.release()
  expect(await readdir(dir)).toEqual([])
  await (await lockFolder(dir)).release()
})

it('the lock of a process that has ended is replaced', async () => {
  await writeFile(path, JSON.stringify({ pid: await ended(), host: hostname(), start: null, id: 'a' }))
  const lock = await lockFolder(dir)
  await lock.check()
  expect(await readdir(dir)).toEqual(['.lock'])
  await lock.release()
})

it('and a disk that fails meanwhile is named, or has done no harm', async () => {
  const dead = JSON.stringify({ pid: await ended(), host: hostname(), start: null, id: 'a' })
  for (const hasTurn of [false, true]) {
    for (let change = 1; ; change++) {
      await writeFile(path, dead)
      if (hasTurn) await writeFile(`${path}.turn`, dead)
      const { changes, error } = await onFailingDisk(dir, 'once', change, async () => (await lockFolder(dir)).check())
      if (error !== undefined) expect((error as Error).message).toMatch(/cannot be written: the disk reports an error$/)
      for (const name of await readdir(dir)) await rm(join(dir, name))
      if (changes < change) break
    }
  }
})

it.runIf(process.platform === 'linux')('and so is that of an earlier process with the number of one that runs', async () => {
  const lock = await lockFolder(dir)
  const mine = JSON.parse(await readFile(path, 'utf8'))
  await lock.release()
  await writeFile(path, JSON.stringify({ ...mine, start: 'another boot 1' }))
  await (await lockFolder(dir)).release()
  await writeFile(path, JSON.stringify(mine))
  await expect(lockFolder(dir)).rejects.toThrow('is in use by this process')
})

it.runIf(process.platform === 'linux')('even if it is a process of another user', async () => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
  })
  onTestFinished(() => kill.mockRestore())
  await writeFile(path, JSON.stringify({ pid: process.ppid, host: hostname(), start: 'another boot 1', id: 'a' }))
  await (await lockFolder(dir)).release()
})

it('where the system does not say when a process started, the error says what to do', async () => {
  await writeFile(path, JSON.stringify({ pid: process.ppid, host: hostname(), start: null, id: 'a' }))
  await expect(lockFolder(dir)).rejects.toThrow(`${dir} is in use by process ${process.ppid}; if that is another program, delete ${path}`)
})

it.runIf(process.platform === 'linux')('a lock that cannot be written leaves nothing', async () => {
  const lock = `import { lockFolder } from ${JSON.stringify(new URL('../../../dist/src/dataset/folder/lock.js', import.meta.url))}
    process.on('SIGXFSZ', () => {})
    lockFolder(process.argv[1]).catch(() => process.exit(3))`
  const child = spawn('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', lock, dir], { stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([3, null])
  expect(await readdir(dir)).toEqual([])
})

it('a folder that is not there is reported', async () => {
  await expect(lockFolder(join(dir, 'missing'))).rejects.toThrow('cannot be written: no such folder')
})

it('the lock of another machine stays, and the error says what to do', async () => {
  await writeFile(path, JSON.stringify({ pid: 1, host: 'elsewhere', start: null, id: 'a' }))
  await expect(lockFolder(dir)).rejects.toThrow(`${dir} is in use by process 1 on "elsewhere"; if it no longer runs, delete ${path}`)
  expect(await readdir(dir)).toEqual(['.lock'])
})

it.each(['', '{', '{"pid":"x"}', 'null'])('a lock that holds %j stays, and the error says what to do', async (text) => {
  await writeFile(path, text)
  await expect(lockFolder(dir)).rejects.toThrow(`delete that file if no process writes there`)
})

it('of many that find a lock without an owner, one gets the folder', async () => {
  const pid = await ended()
  for (let round = 0; round < 3; round++) {
    await writeFile(path, JSON.stringify({ pid, host: hostname(), start: null, id: 'a' }))
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(dir)))
    const locks = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(locks).toHaveLength(1)
    await locks[0]?.check()
    await locks[0]?.release()
    expect(await readdir(dir)).toEqual([])
  }
})

it('a lock that was taken by another is noticed, and not released', async () => {
  const lock = await lockFolder(dir)
  await writeFile(path, JSON.stringify({ pid: 1, host: 'elsewhere', start: null, id: 'b' }))
  await expect(lock.check()).rejects.toThrow(`${path} was removed or replaced while this process was writing`)
  await lock.release()
  expect(await readdir(dir)).toEqual(['.lock'])
})

it.each([
  ['a folder', (lock: string) => mkdir(lock), 'is not a file; delete it if no process writes there'],
  ['a link to nothing', (lock: string) => symlink(join(dir, 'nothing'), lock), 'is not a file; delete it if no process writes there'],
])('%s in the place of a lock is reported, and left there', async (_, make, message) => {
  await make(path)
  await expect(lockFolder(dir)).rejects.toThrow(`${path} ${message}`)
  await rm(path, { recursive: true })
  await writeFile(path, JSON.stringify({ pid: await ended(), host: hostname(), start: null, id: 'a' }))
  await make(`${path}.turn`)
  await expect(lockFolder(dir)).rejects.toThrow(`${path}.turn ${message}`)
})
