import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Dispatcher } from '../../src/http/undici.ts'
import { endpointAt } from '../../src/rest/endpoint.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

it('is shared by host and key, whatever object names them', () => {
  const endpoint = endpointAt('a.example', 'k')
  expect(endpointAt('a.example', 'k')).toBe(endpoint)
  expect(endpointAt('b.example', 'k')).not.toBe(endpoint)
  expect(endpointAt('a.example', 'other')).not.toBe(endpoint)
})

it('is forgotten ten minutes after its last use, when another is added', () => {
  vi.advanceTimersByTime(1_000)
  const endpoint = endpointAt('c.example', 'k')
  vi.advanceTimersByTime(500_000)
  expect(endpointAt('c.example', 'k')).toBe(endpoint)
  vi.advanceTimersByTime(600_000)
  endpointAt('d.example', 'k')
  expect(endpointAt('c.example', 'k')).toBe(endpoint)
  vi.advanceTimersByTime(600_001)
  endpointAt('e.example', 'k')
  expect(endpointAt('c.example', 'k')).not.toBe(endpoint)
})

it('has one dispatcher, of hexline’s own undici', () => {
  const { dispatcher } = endpointAt('f.example', 'k')
  expect(dispatcher).toBeInstanceOf(Dispatcher)
  expect(endpointAt('f.example', 'k').dispatcher).toBe(dispatcher)
})
