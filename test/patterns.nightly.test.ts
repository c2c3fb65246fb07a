import { describe, expect, test } from 'vitest'
import { rangeLimit, suggestedRange } from '../src/eth/errors/log-range.ts'
import { scrubber } from '../src/http/secrets.ts'
import { classify, encodeArguments, type Failure } from '../src/index.ts'
import { limitResetMs, retryAfterMs, waitSaid } from '../src/rpc/retry-delay.ts'
import { CLASSES, patternsOf, wordsOf } from './support/patterns.ts'

const SMALL = 4_096
const TIMES = 8
/**
 * Shorter CPU times, in ms, are not compared, since garbage collection may take as long: a
 * quadratic pattern takes hundreds.
 */
const FLOOR = 25

/**
 * How many times as long `read` takes for a text that is eight times as long. Near 8 where time
 * grows with length, near 64 where it grows with its square.
 */
function growth(read: (text: string) => unknown, unit: string, start = ''): number {
  const textOf = (length: number) => `${start}${unit.repeat(Math.ceil(length / unit.length))}\u0001!`
  const [small, large] = [textOf(SMALL), textOf(SMALL * TIMES)]
  const least = (text: string, runs: number) => {
    let best = Number.POSITIVE_INFINITY
    for (let i = 0; i < runs && best > FLOOR / 64; i++) {
      const begun = process.cpuUsage()
      read(text)
      const { user, system } = process.cpuUsage(begun)
      best = Math.min(best, (user + system) / 1000)
    }
    return best
  }
  if (least(large, 1) < FLOOR || least(large, 4) < FLOOR) return 1
  return least(large, 2) / Math.max(least(small, 10), FLOOR / 64)
}

/** The patterns that take much more than eight times as long. */
function slow(name: string, read: (text: string) => unknown, units: readonly string[], starts: readonly string[] = ['']): string[] {
  const found: string[] = []
  for (const start of starts) {
    for (const unit of units) {
      const ratio = growth(read, unit, start)
      if (ratio > 3 * TIMES) found.push(`${name}: ${JSON.stringify(start)} and ${JSON.stringify(unit)} again and again: ${Math.round(ratio)} times as long`)
    }
  }
  return found
}

describe('matching is linear in the length of a hostile text', () => {
  const { literals, built } = patternsOf('src', 'adapters')

  test('in every regular expression of the sources', () => {
    expect(literals.length).toBeGreaterThan(100)
    const found: string[] = []
    for (const { file, pattern } of literals) {
      const words = wordsOf(pattern)
      // A global pattern is matched repeatedly, as by `replaceAll` and `matchAll`.
      const read = (text: string) => text.replace(pattern, '')
      found.push(...slow(`${file} ${pattern}`, read, [...CLASSES, ...words]), ...slow(`${file} ${pattern}`, read, CLASSES, words.slice(0, 4)))
    }
    expect(found).toEqual([])
  })

  const keys = [
    '0123456789abcdef0123456789abcdef',
    'q7z',
    'a b/c+d%',
    '\\\\\\\\\\\\\\\\\\\\x',
    '\\"\\"\\"\\"\\"\\"\\"\\"x',
    '&amp;&amp;&amp;&x',
    '%25%25%25%25%x',
    '//////////////x',
    'aaaaaaaaaaaaaaab',
  ]

  test('in the hiding of secrets, whatever their characters', () => {
    // Generated ones: from the widths of hex words, and from secrets.
    expect(built).toEqual(['src/eth/params.ts', 'src/http/secrets.ts'])
    const found: string[] = []
    for (const key of keys) {
      const scrub = scrubber(new URL('http://127.0.0.1/rpc/'), { 'x-api-key': key }, [key])
      const near = key.slice(0, -1)
      const spelt = [near, encodeURIComponent(near), JSON.stringify(near).slice(1, -1), JSON.stringify(JSON.stringify(near)), near.replaceAll('/', '\\/')]
      found.push(...slow(key, scrub, [...CLASSES, ...spelt, '\\u005c', '\\\\\\\\u0022', '&#0000']))
    }
    expect(found).toEqual([])
    expect(slow('an address', (text) => attempt(() => encodeArguments('eth_getBalance', [text])), CLASSES, ['', '0x'])).toEqual([])
  })

  test('in the tables', () => {
    const failure: Failure = { method: 'eth_getLogs', status: 200, code: -32000, message: '', retryAfterMs: undefined }
    const words = [...new Set(literals.filter(({ file }) => /eth\/errors\/|retry-delay/.test(file)).flatMap(({ pattern }) => wordsOf(pattern).slice(0, 3)))]
    const units = [...CLASSES, 'range ', 'range range ', 'retry in 1', ...words]
    expect(slow('classify', (message) => classify({ ...failure, message }), units)).toEqual([])
    expect(slow('classify, data', (data) => classify({ ...failure, message: 'invalid params', data }), units)).toEqual([])
    expect(slow('rangeLimit', rangeLimit, units)).toEqual([])
    expect(slow('suggestedRange', suggestedRange, units)).toEqual([])
    expect(slow('waitSaid', waitSaid, units, ['', 'retry in '])).toEqual([])
    expect(slow('waitSaid, data', (text) => waitSaid('', { try_again_in: text }), units)).toEqual([])
    expect(slow('retryAfterMs', (text) => retryAfterMs({ 'retry-after': text, date: text }), units, ['', 'Sun, '])).toEqual([])
    expect(slow('limitResetMs', (text) => limitResetMs({ 'ratelimit-reset': text, 'ratelimit-remaining': text }), units)).toEqual([])
  })
})

function attempt(read: () => unknown): void {
  try {
    read()
  } catch {
    // It is refused, as it should be.
  }
}
