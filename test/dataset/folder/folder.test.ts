import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkEmpty, checkFiles, makeFolder, makeTableFolders, removeLeftovers } from '../../../src/dataset/folder/folder.ts'
import type { RangeEntry } from '../../../src/dataset/folder/manifest.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-folder-'))
  await makeTableFolders(dir, ['blocks', 'logs'])
})
afterEach(() => rm(dir, { recursive: true }))

const NAMED = 'blocks/000000000-000000009.parquet'
const ranges = [{ files: [{ name: NAMED, rows: 1, bytes: 4, sha256: '' }] } as unknown as RangeEntry]

it.each<[string, boolean]>([
  [NAMED, true],
  ['blocks/000000010-000000019.parquet', false],
  ['blocks/1000000000-1000000009.ndjson.gz', false],
  ['logs/000000000-000000009.parquet', false],
  ['logs/000000000-000000009.ndjson.zst.12.partial', false],
  ['manifest.json.12.partial', false],
  ['.lock.0b5c', false],
  ['.lock', true],
  ['manifest.json', true],
  ['manifest.json.old', true],
  ['blocks/000000010-000000019.csv', true],
  ['blocks/1-2.parquet', true],
  ['blocks/000000010-000000019.parquet.partial', true],
  ['notes.partial', true],
])('%s stays: %s', async (name, stays) => {
  await writeFile(join(dir, name), 'text')
  await removeLeftovers(dir, { ranges })
  expect((await readdir(dir, { recursive: true })).includes(name)).toBe(stays)
})

it('files of the manifest must be there, with their sizes', async () => {
  await expect(checkFiles(dir, { ranges })).rejects.toThrow(`${join(dir, NAMED)} is missing`)
  await writeFile(join(dir, NAMED), 'longer')
  await expect(checkFiles(dir, { ranges })).rejects.toThrow('has 6 bytes, not 4')
  await writeFile(join(dir, NAMED), 'four')
  await checkFiles(dir, { ranges })
})

it('what a killed process leaves before its first manifest counts as nothing', async () => {
  const empty = join(dir, 'deep/er')
  await makeFolder(empty)
  for (const name of ['.lock', '.lock.turn', 'manifest.json.7.partial']) await writeFile(join(empty, name), '')
  await checkEmpty(empty)
  await mkdir(join(empty, 'blocks'))
  await expect(checkEmpty(empty)).rejects.toThrow('it has "blocks", but no manifest.json')
})

it.runIf(process.platform === 'linux')('a folder that the system does not let be made', async () => {
  await expect(makeFolder('/proc/hexline/data')).rejects.toThrow('dir: expected a folder that can be made, received "/proc/hexline/data" (no such folder)')
  await writeFile(join(dir, 'file'), '')
  await expect(makeFolder(join(dir, 'file', 'data'))).rejects.toThrow('data" (a part of the path is a file)')
})

it('nothing is read or removed behind a symbolic link', async () => {
  const elsewhere = join(dir, 'elsewhere')
  await mkdir(elsewhere)
  const file = '000000000-000000009.parquet'
  await writeFile(join(elsewhere, file), 'four')
  await symlink(join(elsewhere, file), join(dir, NAMED))
  await expect(checkFiles(dir, { ranges })).rejects.toThrow(`${join(dir, NAMED)} is not a file`)
  await rm(join(dir, 'logs'), { recursive: true })
  await symlink(elsewhere, join(dir, 'logs'))
  await expect(checkFiles(dir, { ranges: [] })).rejects.toThrow(`${join(dir, 'logs')} is a symbolic link, not a folder`)
  await expect(makeTableFolders(dir, ['blocks', 'logs'])).rejects.toThrow('is a symbolic link')
  await writeFile(join(dir, 'receipts'), '')
  await expect(makeTableFolders(dir, ['receipts'])).rejects.toThrow()
})
