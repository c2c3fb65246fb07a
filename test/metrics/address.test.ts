import { expect, test } from 'vitest'
import { OptionError } from '../../src/errors.ts'
import { metricsAddress } from '../../src/metrics/address.ts'

test.each([
  [':9464', '127.0.0.1', 9464],
  ['9464', '127.0.0.1', 9464],
  [':0', '127.0.0.1', 0],
  ['0.0.0.0:9464', '0.0.0.0', 9464],
  ['localhost:65535', 'localhost', 65_535],
  ['[::1]:9464', '::1', 9464],
])('%s', (text, host, port) => {
  expect(metricsAddress('--metrics', text)).toEqual({ host, port })
})

test.each(['', ':', 'localhost', ':65536', ':-1', ':9464/metrics', 'http://127.0.0.1:9464', '::1:9464', 'a b:1'])('not %s', (text) => {
  expect(() => metricsAddress('--metrics', text)).toThrow(OptionError)
  expect(() => metricsAddress('--metrics', text)).toThrow(/^--metrics: expected a port, such as :9464, or HOST:PORT, received /)
})
