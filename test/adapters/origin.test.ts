import { expect, it } from 'vitest'
import { originOf } from '../../adapters/origin.ts'

const endpoints = ['https://a.example', 'https://notb.example:8545', 'https://b.example:8545']

it.each<[string | undefined, string]>([
  ['https://a.example', 'https://a.example'],
  ['a.example', 'https://a.example'],
  ['b.example:8545', 'https://b.example:8545'],
  ['a.example#2', 'https://a.example'],
  [undefined, 'https://a.example'],
  ['elsewhere.example', 'elsewhere.example'],
])('%s is at %s', (name, origin) => {
  expect(originOf(name, endpoints)).toBe(origin)
})

it('is empty without a name and without endpoints', () => {
  expect(originOf(undefined, [])).toBe('')
})
