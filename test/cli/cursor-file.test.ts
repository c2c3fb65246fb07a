import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { holdCursorFile, openCursorFile } from '../../src/cli/cursor-file.ts'
import { OptionError } from '../../src/errors.ts'

const cursorAt = (number: number) => ({ chainId: 1, genesis: null, from: 0, number, hashes: [`0x${String(number).padStart(64, '0')}`] as [`0x${string}`] })
const lineOf = (number: number) => Buffer.from(`{"type":"block","block":${number}}\n`)

/** A cursor file and a file of lines, as a process opens them. */
function bed() {
  const folder = mkdtempSync(join(tmpdir(), 'hexline-cursor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [path, out] = [join(folder, 'cursor'), join(folder, 'out')]
  const open = () => {
    const fd = openSync(out, 'a')
    onTestFinished(() => closeSync(fd))
    return { fd, file: openCursorFile(path, fd) }
  }
  return { path, out, open, lines: () => readFileSync(out, 'utf8') }
}

/** Writes a line up to this moment, at which the process is killed. */
function write({ fd, file }: ReturnType<ReturnType<typeof bed>['open']>, number: number, until: 'prepared' | 'cut' | 'written' | 'committed'): void {
  const line = lineOf(number)
  file.prepare(cursorAt(number), line)
  if (until === 'prepared') return
  writeSync(fd, until === 'cut' ? line.subarray(0, 9) : line)
  if (until === 'committed') file.commit()
}

it.each([
  ['prepared', 1],
  ['cut', 1],
  ['written', 2],
  ['committed', 2],
] as const)('a process killed when the second line is %s: goes on after line %i, which is the last one', (moment, last) => {
  const { open, lines, path } = bed()
  const first = open()
  expect(first.file.cursor).toBeUndefined()
  write(first, 1, 'committed')
  write(first, 2, moment)
  const second = open()
  expect(second.file.cursor).toEqual(cursorAt(last))
  expect(lines()).toBe([1, 2].slice(0, last).map(lineOf).join(''))
  write(second, 3, 'committed')
  expect(open().file.cursor).toEqual(cursorAt(3))
  expect(JSON.parse(readFileSync(path, 'utf8')).lines.bytes).toBe(lines().length)
})

it('a file that cannot be there is refused before anything is written', async () => {
  const { path, out } = bed()
  await expect(holdCursorFile(`${path}-missing/`)).rejects.toThrow(OptionError)
  for (const folder of [`${path}-missing`, out]) {
    if (folder === out) writeFileSync(out, '')
    await expect(holdCursorFile(join(folder, 'cursor'))).rejects.toThrow(OptionError)
  }
  await expect(holdCursorFile(`${path}-missing/cursor`)).rejects.toThrow(
    /^--cursor: expected a file that can be written, received .*-missing\/cursor" \(no such folder\)$/,
  )
})

it('one process holds it until it has ended, or as long as it runs', async () => {
  const { path } = bed()
  const lock = await holdCursorFile(path)
  await expect(holdCursorFile(path)).rejects.toThrow(`${path} is in use by this process (${process.pid})`)
  await lock.release()
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'close')
  writeFileSync(`${path}.lock`, JSON.stringify({ pid: child.pid, host: hostname(), start: null, id: 'a' }))
  await (await holdCursorFile(path)).release()
  expect(existsSync(`${path}.lock`)).toBe(false)
})

it('names no file that may be a key', async () => {
  const key = '9f8e7d6c5b4a39281706f5e4d3c2b1a0'
  onTestFinished(() => rmSync(`${key}.lock`, { recursive: true }))
  mkdirSync(`${key}.lock`)
  await expect(holdCursorFile(key)).rejects.toThrow('a string of 32 characters cannot be locked: a string of 32 characters.lock is not a file')
})

it('a process of another container, which may have been killed with it, does not keep its successor out', async () => {
  const { path } = bed()
  writeFileSync(`${path}.lock`, JSON.stringify({ pid: process.pid, host: hostname(), namespace: 'pid:[1]', start: null, id: 'a' }))
  await (await holdCursorFile(path)).release()
})

it('leaves no file where nothing was written', () => {
  const { open, path } = bed()
  open()
  expect([path, `${path}.next`].map((file) => existsSync(file))).toEqual([false, false])
})

it.each([
  ['prepared', undefined],
  ['cut', undefined],
  ['written', cursorAt(1)],
] as const)('a process killed when the first line is %s', (moment, cursor) => {
  const { open, lines } = bed()
  write(open(), 1, moment)
  expect(open().file.cursor).toEqual(cursor)
  expect(lines()).toBe(cursor === undefined ? '' : lineOf(1).toString())
})

it('leaves alone what another program has written, removed or put in its place', () => {
  const { open, lines, out } = bed()
  const first = open()
  write(first, 1, 'committed')
  write(first, 2, 'cut')
  writeFileSync(out, `${lines()}and a note that is longer than the line\n`, { flag: 'w' })
  const before = lines()
  expect(open().file.cursor).toEqual(cursorAt(1))
  expect(lines()).toBe(before)
  writeFileSync(out, '')
  expect(open().file.cursor).toEqual(cursorAt(1))
  rmSync(out)
  writeFileSync(out, 'another file, which is longer')
  expect(open().file.cursor).toEqual(cursorAt(1))
  expect(lines()).toBe('another file, which is longer')
})

it('what was not prepared to its end does not count', () => {
  const { open, path, lines } = bed()
  const first = open()
  write(first, 1, 'committed')
  writeFileSync(`${path}.next`, '{"cursor":{"chainId":1,"gen')
  expect(open().file.cursor).toEqual(cursorAt(1))
  expect(lines()).toBe(lineOf(1).toString())
})

it('for a pipe, only lines that are certainly out count', () => {
  const { path } = bed()
  const file = openCursorFile(path, undefined)
  file.prepare(cursorAt(1), lineOf(1))
  expect(existsSync(path)).toBe(false)
  file.commit()
  file.prepare(cursorAt(2), lineOf(2))
  expect(openCursorFile(path, undefined).cursor).toEqual(cursorAt(1))
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ cursor: cursorAt(1) })
})
