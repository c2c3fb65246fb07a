import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkNoWriters, joinWriters, removeDeadWriters } from '../../../src/dataset/folder/part-writers.ts'
import type { Clock, Timer } from '../../../src/wait/clock.ts'
import { onFailingDisk } from '../../support/failing-disk.ts'

let parts: string
let fresh: string
beforeEach(async () => {
  parts = await mkdtemp(join(tmpdir(), 'hexline-part-writers-'))
  fresh = join(parts, 'fresh')
  await writeFile(fresh, '')
})
afterEach(() => rm(parts, { recursive: true }))

/** A clock whose timers a test lets go off. */
function heldClock() {
  const timers = new Map<Timer, { at: number; wake: () => void }>()
  const clock: Clock = {
    now: () => 1000,
    wakeAt(at, wake) {
      const timer = { ref() {}, unref() {} }
      timers.set(timer, { at, wake })
      return timer
    },
    cancel: (timer) => void timers.delete(timer),
  }
  return { clock, timers }
}

it('shows that it runs, every minute', async () => {
  const { clock, timers } = heldClock()
  const writer = await joinWriters(parts, clock)
  const path = join(writer.dir, 'process.json')
  for (let i = 0; i < 2; i++) {
    await utimes(path, 1, 1)
    const [[timer, { at, wake }]] = [...timers] as [[Timer, { at: number; wake: () => void }]]
    expect([timers.size, at]).toEqual([1, 61_000])
    timers.delete(timer)
    wake()
    await expect.poll(async () => (await stat(path)).mtimeMs).toBeGreaterThan(1000)
  }
  await writer.close()
  expect(timers.size).toBe(0)
  expect(await readdir(parts)).toEqual(['fresh'])
})

it('names its folder, and the reason, where the disk does not remove it', async () => {
  const writer = await joinWriters(parts)
  const { error } = await onFailingDisk(parts, 'once', 1, () => writer.close())
  expect(error).toMatchObject({ message: `${writer.dir} cannot be written: the disk reports an error` })
})

it('nobody is in the way where the folder has just been removed', async () => {
  await checkNoWriters(join(parts, 'gone'), fresh, 'any')
  await removeDeadWriters(join(parts, 'gone'), fresh)
})

it('an idle process is in the way of a single export alone, one that writes of a merge, too', async () => {
  const writer = await joinWriters(parts)
  await checkNoWriters(parts, fresh, 'busy')
  await expect(checkNoWriters(parts, fresh, 'any')).rejects.toThrow(`${parts} is in use by this process (${process.pid})`)
  await writeFile(join(writer.dir, '1'), '')
  await expect(checkNoWriters(parts, fresh, 'busy')).rejects.toThrow(`${parts} is in use by this process (${process.pid})`)
  await writer.close()
  await checkNoWriters(parts, fresh, 'any')
})

it('names the machine, and what to delete', async () => {
  const writer = await joinWriters(parts)
  await writeFile(join(writer.dir, 'process.json'), '{"pid":7,"host":"elsewhere","start":null,"id":"a"}')
  await expect(checkNoWriters(parts, fresh, 'any')).rejects.toThrow(`in use by process 7 on "elsewhere"; if it no longer runs, delete ${writer.dir}`)
  await writer.close()
})

it("the folder of one that was killed before it could say who it is stays for a while, and is in no one's way", async () => {
  const writer = await joinWriters(parts)
  await rm(join(writer.dir, 'process.json'))
  await checkNoWriters(parts, fresh, 'any')
  await removeDeadWriters(parts, fresh)
  expect(await readdir(parts)).toHaveLength(2)
  await utimes(writer.dir, 1, 1)
  await removeDeadWriters(parts, fresh)
  expect(await readdir(parts)).toEqual(['fresh'])
  await expect(writer.check()).rejects.toThrow('was removed while this process was writing')
  await writer.close()
})
