import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataFile } from '../../../src/dataset/folder/data-file.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-file-'))
})
afterEach(() => rm(dir, { recursive: true }))

it('pieces are in the order in which they were given, however long each takes to encode', async () => {
  const open: ((bytes: Buffer) => void)[] = []
  const file = await DataFile.create(dir, 'x', () => new Promise((resolve) => open.push(resolve)))
  const first = file.write(Buffer.from('-'))
  const second = file.write(Buffer.from('-'))
  open[1]?.(Buffer.from('two'))
  await second
  open[0]?.(Buffer.from('one,'))
  await first
  const entry = await file.finish(2)
  expect(await readdir(dir)).toEqual([`x.${process.pid}.partial`])
  await file.publish()
  expect(await readdir(dir)).toEqual(['x'])
  expect(await readFile(join(dir, 'x'), 'utf8')).toBe('one,two')
  expect(entry).toEqual({ name: 'x', rows: 2, bytes: 7, sha256: createHash('sha256').update('one,two').digest('hex') })
})

it('a piece that cannot be encoded fails the file, which is then removed', async () => {
  const file = await DataFile.create(dir, 'x', (piece) => (piece.length === 1 ? Promise.reject(new Error('odd')) : piece))
  await expect(file.write(Buffer.from('1'))).rejects.toThrow('odd')
  await expect(file.finish(0)).rejects.toThrow('odd')
  await file.abandon()
  expect(await readdir(dir)).toEqual([])
})

it('a file that cannot be created says so', async () => {
  await expect(DataFile.create(join(dir, 'gone'), 'x')).rejects.toThrow(/gone\/x\.\d+\.partial cannot be written: no such folder/)
})

it('what is left under its temporary name is replaced, and not written through', async () => {
  await writeFile(join(dir, 'outside'), 'kept')
  await symlink(join(dir, 'outside'), join(dir, `x.${process.pid}.partial`))
  const file = await DataFile.create(dir, 'x')
  await file.write(Buffer.from('new'))
  await file.finish(0)
  await file.publish()
  expect(await readFile(join(dir, 'outside'), 'utf8')).toBe('kept')
  expect(await readFile(join(dir, 'x'), 'utf8')).toBe('new')
})
