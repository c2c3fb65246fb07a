import { expect, it } from 'vitest'
import { reasonOf } from '../src/system-error.ts'

it.each([
  ['ENOSPC', 'no space left on the disk'],
  ['EACCES', 'permission denied'],
  ['EIO', 'the disk reports an error'],
  ['EBUSY', 'EBUSY: as Node.js says it'],
])('%s means: %s', (code, reason) => {
  expect(reasonOf(Object.assign(new Error(`${code}: as Node.js says it`), { code }))).toBe(reason)
})
