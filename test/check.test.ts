import { describe, expect, test } from 'vitest'
import { checkBlockOptions } from '../src/bulk/get-blocks.ts'
import { checkLogOptions } from '../src/bulk/get-logs.ts'
import * as check from '../src/check.ts'
import { checkExportOptions } from '../src/dataset/export/export-options.ts'
import { OptionError } from '../src/errors.ts'

/** The message of the `OptionError` that `run` throws. */
function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError)
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

describe('onlyKnown', () => {
  const known = (options: unknown, more?: check.KnownNames) => check.onlyKnown('options', options, ['batch', 'timeoutMs', 'to'], more)

  test('takes known names, with any value', () => {
    expect(() => known({ batch: undefined, to: 5 })).not.toThrow()
    expect(() => known({})).not.toThrow()
  })

  test.each([
    ['bacth', ' (did you mean `batch`?)'],
    ['timeout', ' (did you mean `timeoutMs`?)'],
    ['TIMEOUTMS', ' (did you mean `timeoutMs`?)'],
    ['retry', ''],
    ['at', ''],
  ])('lists the names for %s, and suggests a similar one', (name, hint) => {
    expect(refusal(() => known({ [name]: 1 }))).toBe(`options: expected only batch, timeoutMs, to, received "${name}"${hint}`)
  })

  test('neither lists nor suggests a refused name, and gives the reason', () => {
    const refused = { fetchFn: 'hexline does not use fetch' }
    expect(refusal(() => known({ fetchFn: () => {} }, { refused }))).toBe('fetchFn: expected undefined (hexline does not use fetch), received a function')
    expect(refusal(() => known({ fetchFm: 1 }, { refused }))).toBe('options: expected only batch, timeoutMs, to, received "fetchFm"')
    expect(() => known({ fetchFn: undefined }, { refused })).not.toThrow()
  })

  test.each([
    [null, 'null'],
    [[1], 'an array of 1'],
    ['https://rpc.example.com/KEY', 'a string'],
  ])('refuses %o, without showing a string', (options, received) => {
    expect(refusal(() => known(options, { orElse: ' or false' }))).toBe(`options: expected an object or false, received ${received}`)
  })
})

test('each checker returns a valid value', () => {
  expect(check.whole('a', 3, 3, 3)).toBe(3)
  expect(check.wholeOrInfinity('a', Number.POSITIVE_INFINITY, 0)).toBe(Number.POSITIVE_INFINITY)
  expect(check.positive('a', 0.5)).toBe(0.5)
  expect(check.notNegative('a', 0)).toBe(0)
  expect(check.share('a', 0.5)).toBe(0.5)
  expect(check.ms('a', 2 ** 31 - 1)).toBe(2 ** 31 - 1)
  expect(check.msOrZero('a', 0)).toBe(0)
  expect(check.msOrInfinity('a', Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
  expect(check.flag('a', false)).toBe(false)
  expect(check.oneOf('a', 'x', ['x', 'y'])).toBe('x')
  expect(check.headers('a', { 'X-Key': 'k' })).toEqual({ 'x-key': 'k' })
  expect(check.httpUrl('a', 'HTTPS://rpc.example.com/KEY').href).toBe('https://rpc.example.com/KEY')
  expect(check.nodeUrl('a', 'WSS://rpc.example.com/KEY').href).toBe('wss://rpc.example.com/KEY')
})

test.each<[() => unknown, string]>([
  [() => check.whole('a', 1.5), 'a: expected a whole number of at least 1, received 1.5'],
  [() => check.whole('a', 1e23), 'a: expected a whole number from 1 to 2^53 - 1, received 1e+23'],
  [() => check.whole('a', 9, 2, 8), 'a: expected a whole number from 2 to 8, received 9'],
  [() => check.attempts('a', 0), 'a: expected a whole number of at least 1 (the first attempt counts), or Infinity, received 0'],
  [() => check.positive('a', Number.POSITIVE_INFINITY), 'a: expected a number above 0, received Infinity'],
  [() => check.notNegative('a', -1), 'a: expected a number of at least 0, received -1'],
  [() => check.share('a', 1), 'a: expected a number between 0 and 1, received 1'],
  [() => check.ms('a', 2 ** 31), 'a: expected a number of ms above 0, at most 2147483647, received 2147483648'],
  [() => check.msOrZero('a', -1), 'a: expected a number of ms from 0 to 2147483647, received -1'],
  [() => check.msOrInfinity('a', Number.NaN), 'a: expected a number of ms above 0, or Infinity, received NaN'],
  [() => check.flag('a', undefined), 'a: expected true or false, received undefined'],
  [() => check.oneOf('a', 'z', ['x', 'y', 'w']), "a: expected 'x', 'y' or 'w', received \"z\""],
  [() => check.callback('a', 1), 'a: expected a function, received 1'],
  [() => check.signal({}), 'signal: expected an AbortSignal, received an object'],
  [() => check.dispatcher('http://KEY@proxy'), 'dispatcher: expected an undici dispatcher, received a string'],
  [() => check.apiKey('a', ' '), 'a: expected a key, received an empty string'],
  [() => check.headers('a', new Map()), 'a: expected a plain object of strings, received a Map'],
  [() => check.headers('a', { 'x y': 'KEY' }), 'a: expected valid header names, received a name with invalid characters'],
  [() => check.headers('a', { x: 'KEY\n' }), 'a["x"]: expected printable Latin-1 characters, received a control character, or one beyond Latin-1'],
  [() => check.httpUrl('a', 'rpc.example.com/KEY'), 'a: expected an http or https URL, received an invalid URL'],
  [() => check.httpUrl('a', 'localhost:8545/KEY'), 'a: expected an http or https URL, received a URL without http:// or https://'],
  [() => check.httpUrl('a', 'wss://rpc.example.com/KEY'), 'a: expected an http or https URL, received a WebSocket URL'],
  [
    () => check.nodeUrl('a', 'ftp://rpc.example.com/KEY'),
    'a: expected an http, https, ws or wss URL, received a URL without http://, https://, ws:// or wss://',
  ],
  [() => check.nodeUrl('a', 'http://a/KEY http://b/KEY'), 'a: expected an http, https, ws or wss URL, received text with white space in it'],
  [() => check.nodeUrl('a', '127.0.0.1:8545'), 'a: expected an http, https, ws or wss URL, received a URL without http://, https://, ws:// or wss://'],
  [() => check.nodeUrl('a', 'rpc.example.com/KEY'), 'a: expected an http, https, ws or wss URL, received an invalid URL'],
  [() => check.nodeUrl('a', '/home/me/.ethereum/geth.ipc'), 'a: expected an http, https, ws or wss URL, received the path of an IPC socket'],
])('%s is refused', (run, message) => {
  expect(refusal(run)).toBe(message)
})

test('maxBytes is checked alike for blocks, logs and exports, and may be infinite', () => {
  const range = { from: 0, to: 1 }
  const takers = [
    (maxBytes: unknown) => checkBlockOptions({ ...range, maxBytes } as never),
    (maxBytes: unknown) => checkLogOptions({ ...range, maxBytes } as never),
    (maxBytes: unknown) => checkExportOptions({ ...range, dir: 'x', maxBytes } as never),
  ]
  for (const take of takers) {
    for (const right of [0.5, 1e9, Number.POSITIVE_INFINITY]) expect(() => take(right)).not.toThrow()
    for (const wrong of [0, -1, Number.NaN, '1']) expect(refusal(() => take(wrong))).toMatch(/^maxBytes: expected a number of bytes above 0, received /)
  }
})
