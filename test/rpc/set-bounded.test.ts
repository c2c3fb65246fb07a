import { expect, test } from 'vitest'
import { setBounded } from '../../src/rpc/set-bounded.ts'

test('a map keeps a thousand methods, and forgets them all when another one comes', () => {
  const map = new Map<string, number>()
  for (let i = 0; i < 1000; i++) setBounded(map, `method ${i}`, i)
  setBounded(map, 'method 0', -1)
  expect([map.size, map.get('method 0')]).toEqual([1000, -1])
  setBounded(map, 'another', 1)
  expect([...map]).toEqual([['another', 1]])
})
