import { describe, expect, it } from 'vitest'
import { fewerFrames, framesOf } from '../../demo/recorded-screen.ts'

const linesAfter = (...texts: readonly string[]) =>
  framesOf(
    texts.map((text, ms) => ({ ms, text })),
    40,
  ).at(-1)?.lines

describe('a recorded terminal', () => {
  it.each([
    ['text and new lines', ['a\r\nb', 'c\r\n'], ['a', 'bc', '']],
    ['a line that is replaced', ['50 %', '\r\x1b[K', '60 % | x', '\x1b[1G70 %\x1b[0K'], ['70 %']],
    ['a bar that is removed', ['\x1b[?25l\x1b[?7lbar\x1b[1G\x1b[0J\x1b[?7h\x1b[?25h', 'done'], ['done']],
    ['a line above', ['a\r\nb', '\x1b[1A\x1b[2K\rc'], ['c', 'b']],
    ['a column that has no text yet', ['\x1b[4Gx'], ['   x']],
  ])('shows %s', (_what, texts, lines) => {
    expect(linesAfter(...texts)).toEqual(lines)
  })

  it('refuses what it would not show as a terminal does', () => {
    expect(() => linesAfter('\x1b[31mred')).toThrow('an unknown control sequence: "\\u001b[31m"')
    expect(() => linesAfter('x'.repeat(41))).toThrow('wider than 40 columns')
  })

  it('keeps frames that last, differ from the one before, or are the last', () => {
    const frames = [
      { ms: 0, lines: ['a'] },
      { ms: 100, lines: ['b'] },
      { ms: 110, lines: ['c'] },
      { ms: 200, lines: ['c', ''] },
      { ms: 300, lines: ['d'] },
    ]
    expect(fewerFrames(frames, 90).map(({ ms }) => ms)).toEqual([0, 110, 300])
  })
})
