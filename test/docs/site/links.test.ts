import { describe, expect, it } from 'vitest'
import { headingsOf, isExternal, linksOf } from '../../../docs/site/links.ts'

describe('linksOf', () => {
  const targets = (markdown: string) => linksOf(markdown).map(({ target }) => target)

  it('finds links, and images, also where their texts have code or brackets', () => {
    expect(linksOf('See [logs](logs.md#viem), [`a[0]`](b.md) and ![a chart](c.svg).')).toEqual([
      { target: 'logs.md#viem', isImage: false },
      { target: 'b.md', isImage: false },
      { target: 'c.svg', isImage: true },
    ])
  })

  it('passes over code', () => {
    expect(targets('`[a](b)` [c](d)\n\n```ts\nf[0](x)\n```\n\n[e](f)')).toEqual(['d', 'f'])
    expect(targets('- item\n\n  ```ts\n  [a](b)\n  ```\n\n[c](d)')).toEqual(['d'])
    expect(targets('````md\n```ts\n[a](b)\n```\n````\n[c](d)')).toEqual(['d'])
  })
})

it('headingsOf passes over the comments of a shell', () => {
  expect(headingsOf('# A\n\n```sh\n# not one\n```\n\n### `b` c\n')).toEqual(['A', '`b` c'])
})

it.each([
  ['https://example.com', true],
  ['mailto:a@example.com', true],
  ['logs.md', false],
  ['../src/a.ts', false],
  ['#here', false],
])('isExternal(%s) is %s', (target, is) => {
  expect(isExternal(target)).toBe(is)
})
