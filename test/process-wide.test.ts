import { expect, it, vi } from 'vitest'
import { processWide } from '../src/process-wide.ts'

it('is the same value for each copy of the module, made once', async () => {
  const first = processWide('test of process-wide', () => ({ made: 1 }))
  vi.resetModules()
  const other = await import('../src/process-wide.ts')
  expect(other.processWide).not.toBe(processWide)
  expect(other.processWide('test of process-wide', () => ({ made: 2 }))).toBe(first)
  expect(processWide('another test of process-wide', () => ({ made: 3 }))).toEqual({ made: 3 })
})
