import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as errors from '../../src/errors.ts'
import { mayRepeat } from '../../src/rpc/failure-kinds.ts'
import { textOf } from '../support/pages.ts'

const page = textOf('docs/errors.md')

/** The sections of the kinds. */
const sections = (page.split('\n## Kinds\n')[1]?.split('\n## ')[0] ?? '').split('\n### ').slice(1)

const [, union = ''] = /^export type ErrorKind =\n([\s\S]*?)\n\n/m.exec(readFileSync(new URL('../../src/errors.ts', import.meta.url), 'utf8')) ?? []
const kinds = [...union.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind as errors.ErrorKind)

describe('docs/errors.md', () => {
  it('has a row for each class', () => {
    const isClass = (each: object) => 'prototype' in each && each.prototype instanceof errors.HexlineError
    const classes = Object.entries(errors).flatMap(([name, each]) => (name !== 'HexlineError' && isClass(each) ? [name] : []))
    const [, table = ''] = page.split('<!-- classes -->')
    expect(classes).toHaveLength(12)
    expect([...table.matchAll(/^\| `(\w+)` \| .{20,} \|$/gm)].map(([, name]) => name).sort()).toEqual(classes.sort())
  })

  it('has a section for each kind, in the order of the type', () => {
    expect(sections.map((section) => section.split('\n')[0])).toEqual(kinds)
  })

  it.each(kinds)('%s: says the cause, whether the call is repeated, and the cure', (kind) => {
    const section = sections.find((each) => each.startsWith(`${kind}\n`)) ?? ''
    const repeats = mayRepeat(new errors.HexlineError('', kind))
    const said = { true: 'yes', false: 'no', elsewhere: 'elsewhere' }[String(repeats)]
    expect(section).toMatch(/^- Cause: .{10,}[.?]$/m)
    expect(section).toMatch(new RegExp(`^- Repeated: ${said}[.;,]`, 'm'))
    expect(section).toMatch(/^- Cure: .{10,}[.?]$/m)
  })
})
