import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isExternal, linksOf } from '../../docs/site/links.ts'
import { textOf } from '../support/pages.ts'

/* What README.md claims, and the table of CONTRIBUTING.md with a proof of each. */

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The rows of the table: the words of README, and their proofs. */
const rows = [...(textOf('CONTRIBUTING.md').split('## What README claims')[1] ?? '').matchAll(/^\| (.+) \| (.+) \|$/gm)]
  .map(([, claim, proof]) => [claim as string, proof as string] as const)
  .filter(([claim]) => claim !== 'README')

const readme = textOf('README.md').replaceAll(/^```[\s\S]*?^```$/gm, '')

describe.each(rows)('%s', (claim, proof) => {
  it('stands in README.md', () => {
    expect(readme).toContain(claim)
  })

  it('has a proof that exists: a test by its name, a figure, or a link', () => {
    const links = linksOf(proof)
    expect(links.length).toBeGreaterThan(0)
    for (const { target } of links) if (!isExternal(target)) expect(existsSync(root + target), target).toBe(true)
    // Names of tests stand after the link of their file.
    for (const [, file, name] of proof.matchAll(/\]\((test\/[^)]+)\): `([^`]+)`/g)) expect(readFileSync(root + file, 'utf8')).toContain(name)
  })
})

it('no bullet, paragraph or comparison of README.md before its list of documents is without a row', () => {
  const [before = ''] = readme.split('\n## Documentation')
  const lines = before.split('\n').filter((line) => /^(?:- |\| [a-z@]|[^|#<\s]).*[.|]$/.test(line) && !/^\| what goes wrong/.test(line))
  expect(lines.length).toBeGreaterThan(12)
  for (const line of lines)
    expect(
      rows.map(([claim]) => claim).filter((claim) => line.includes(claim)),
      line,
    ).not.toEqual([])
})
