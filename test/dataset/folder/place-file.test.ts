import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { placeFile } from '../../../src/dataset/folder/place-file.ts'

let folder: string
let from: string
let to: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-place-file-'))
  from = join(folder, 'from')
  to = join(folder, 'to')
  for (const each of [from, to]) await mkdir(join(each, 'blocks'), { recursive: true })
  await writeFile(join(from, name), bytes)
})
afterEach(() => rm(folder, { recursive: true }))

const name = 'blocks/000000000-000000009.ndjson'
const bytes = Buffer.alloc(1_500_000, 'a line\n')
const entry = { name, rows: 10, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }

it('gives a file a second name', async () => {
  await placeFile(from, to, entry)
  expect((await stat(join(to, name))).ino).toBe((await stat(join(from, name))).ino)
})

it('replaces what an earlier run has left, and never writes through it', async () => {
  await writeFile(join(to, name), 'half')
  await placeFile(from, to, entry)
  await placeFile(from, to, entry)
  expect(bytes.equals(await readFile(join(to, name)))).toBe(true)
  expect(bytes.equals(await readFile(join(from, name)))).toBe(true)
})

it('names a file that is missing', async () => {
  await rm(join(from, name))
  await expect(placeFile(from, to, entry)).rejects.toThrow(`${join(to, name)} cannot be written: no such folder`)
})

/** A folder on another file system than that of temporary files. */
const other = '/dev/shm'
const hasOther = await Promise.all([stat(other), stat(tmpdir())]).then(
  ([one, two]) => one.dev !== two.dev,
  () => false,
)

it.runIf(hasOther)('copies to another file system, and checks what it copies', async () => {
  const away = await mkdtemp(join(other, 'hexline-place-file-'))
  onTestFinished(() => rm(away, { recursive: true }))
  await mkdir(join(away, 'blocks'))
  await placeFile(from, away, entry)
  expect(bytes.equals(await readFile(join(away, name)))).toBe(true)
  const before = bytes.subarray(0, -1)
  await writeFile(join(from, name), Buffer.concat([before, Buffer.from('x')]))
  await expect(placeFile(from, away, entry)).rejects.toMatchObject({
    name: 'IntegrityError',
    file: join(from, name),
    field: 'sha256',
    expected: entry.sha256,
    message: expect.stringContaining('copy the file from there'),
  })
  expect(await readdir(join(away, 'blocks'))).toEqual([])
})
