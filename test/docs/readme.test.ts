import { expect, it } from 'vitest'
import { textOf } from '../support/pages.ts'

it('README.md has at most 900 words, code and tables included', () => {
  expect(textOf('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(900)
})
