import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { BadNode } from '../../demo/bad-node.ts'
import { newRunner } from '../../demo/race.ts'
import { count, showMaking, showRace } from '../../demo/screen.ts'

/** Collects what is written; a terminal of these columns if `columns` is given. */
function stream(columns?: number) {
  let text = ''
  const made = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    },
  })
  Object.assign(made, columns !== undefined && { isTTY: true, columns, cursorTo() {}, clearLine() {}, moveCursor() {} })
  return { stream: made as NodeJS.WriteStream, text: () => text }
}

describe('the making of the chain', () => {
  it('is shown on a terminal until the last block, and then removed', () => {
    const { stream: terminal, text } = stream(80)
    showMaking(terminal, 1500, 2000)
    expect(text()).toBe('\r  1,500 of 2,000 blocks\x1b[K')
    showMaking(terminal, 2000, 2000)
    expect(text().endsWith('\r\x1b[K')).toBe(true)
  })

  it('is not shown elsewhere', () => {
    const { stream: file, text } = stream()
    showMaking(file, 1, 2)
    expect(text()).toBe('')
  })
})

describe('the race', () => {
  const nodes = [{ isDead: true }, { isDead: false }] as [BadNode, BadNode]

  it.each([80, 120])('has a bar for each lane and the state of the nodes, within %i columns', (columns) => {
    const { stream: terminal, text } = stream(columns)
    const runner = { ...newRunner(), done: 1000, failed: 12, waiting: new Set(Array.from({ length: 8 }, (_, i) => -3001 - i)) }
    const { stop } = showRace(
      terminal,
      [
        { name: 'hexline', runner: { ...newRunner(), done: 2000 } },
        { name: 'viem   ', runner },
      ],
      nodes,
      2000,
    )
    stop()
    const lines = text()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those of the terminal
      .replaceAll(/\x1b\[\??[\d;]*[a-zA-Z]/g, '')
      .split(/[\r\n]+/)
    expect(lines.filter((line) => line.length > columns)).toEqual([])
    expect(lines).toContainEqual(expect.stringMatching(/^hexline █+ 100 % 2,000 blocks$/))
    expect(lines).toContainEqual(expect.stringMatching(/^viem +█+░+ +50 % 1,000 blocks, 12 failed, 8 of 8 callers stuck$/))
    expect(lines).toContain('A is DEAD, B is up')
    const shown = text()
    stop()
    expect(text()).toBe(shown)
  })
})

it('numbers have commas', () => {
  expect(count(1234567)).toBe('1,234,567')
})
