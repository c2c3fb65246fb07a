import { expect, it } from 'vitest'
import { textOf } from '../support/pages.ts'

it('README.md has at most 900 words, code and tables included', () => {
  expect(textOf('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(900)
})

it('its pictures and examples are in the package', () => {
  const { files } = JSON.parse(textOf('package.json')) as { readonly files: readonly string[] }
  const shown = [...textOf('README.md').matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => path)
  expect(shown.length).toBeGreaterThan(1)
  expect(files).toEqual(expect.arrayContaining([...shown, 'examples']))
})
