import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLineWriter } from '../../../src/cli/output/line-writer.ts'
import { randomFrom } from '../../support/random.ts'

let folder: string
let path: string
let fd: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hexline-writer-'))
  path = join(folder, 'lines')
  fd = openSync(path, 'w')
})
afterEach(() => {
  closeSync(fd)
  rmSync(folder, { recursive: true })
})

it('writes lines of all lengths in order, even if their pieces are overwritten once they are added', () => {
  const random = randomFrom(7)
  const writer = createLineWriter(fd)
  let expected = ''
  for (let n = 0; n < 400; n++) {
    const length = Math.floor(random() ** 4 * 300_000)
    const pieces = [`${n} `, 'x'.repeat(length), '\n'].map((piece) => Buffer.from(piece))
    expected += Buffer.concat(pieces)
    writer.add(pieces)
    for (const piece of pieces) piece.fill('!')
  }
  expect(writer.kept.lines).toBeLessThanOrEqual(400)
  writer.flush()
  expect(writer.hasCollected).toBe(false)
  expect(writer.kept).toEqual({ lines: 400, isCut: false })
  expect(readFileSync(path, 'utf8') === expected).toBe(true)
})

it('writes a long line at once, together with the short ones before it', () => {
  const writer = createLineWriter(fd)
  writer.add([Buffer.from('short\n')])
  expect([writer.hasCollected, writer.kept.lines]).toEqual([true, 0])
  writer.add([Buffer.alloc(32 * 1024, 'x'), Buffer.from('\n')])
  expect([writer.hasCollected, writer.kept.lines]).toEqual([false, 2])
})
