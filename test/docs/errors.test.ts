import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as errors from '../../src/errors.ts'
import { mayRepeat } from '../../src/rpc/failure-kinds.ts'
import { textOf } from '../support/pages.ts'

/** The rows of a table of docs/errors.md, between its two marks. */
function rows(mark: string): string[][] {
  const [, table = ''] = textOf('docs/errors.md').split(`<!-- ${mark} -->`)
  const lines = table.trim().split('\n').slice(2)
  return lines.map((line) => line.slice(2, -2).split(' | '))
}

const [, union = ''] = /^export type ErrorKind =\n([\s\S]*?)\n\n/m.exec(readFileSync(new URL('../../src/errors.ts', import.meta.url), 'utf8')) ?? []
const kinds = [...union.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind as errors.ErrorKind)

describe('docs/errors.md', () => {
  it('has a row for each class', () => {
    const classes = Object.entries(errors).filter(
      ([name, each]) => name !== 'HexlineError' && 'prototype' in each && each.prototype instanceof errors.HexlineError,
    )
    expect(classes).toHaveLength(12)
    expect(
      rows('classes')
        .map(([name]) => name)
        .sort(),
    ).toEqual(classes.map(([name]) => `\`${name}\``).sort())
  })

  it('has a row for each kind, in the order of the type', () => {
    expect(rows('kinds').map(([kind]) => kind)).toEqual(kinds.map((kind) => `\`${kind}\``))
  })

  it.each(rows('kinds'))('%s: says whether the call is repeated, and what to do', (kind, cause, repeated, cure) => {
    const repeats = mayRepeat(new errors.HexlineError('', kind?.slice(1, -1) as errors.ErrorKind))
    expect(repeated?.split(';')[0]).toBe({ true: 'yes', false: 'no', elsewhere: 'elsewhere' }[String(repeats)])
    for (const words of [cause, cure]) expect(words?.length).toBeGreaterThan(10)
  })
})
