import { expect, it } from 'vitest'
import { absentValues } from '../../src/sandbox/absent.ts'

it('missing values have the documented types, or are null as on real services', () => {
  const { text, number, image } = absentValues(false)
  expect([text, number, new URL(image as string).protocol]).toEqual(['', 0, 'data:'])
  expect(absentValues(true)).toEqual({ text: null, number: null, image: null })
})
