import { beforeEach, describe, expect, it, test } from 'vitest'
import { OptionError } from '../../src/errors.ts'
import { ADDRESS, names, operations } from '../support/rest-operations.ts'
import { emptyPage, type RestServer, serveRest } from '../support/rest-server.ts'

const KEY = 'q7zSECRETq7z'
let server: RestServer
beforeEach(async () => {
  server = await serveRest(emptyPage)
})

/** The error thrown synchronously, with nothing sent and no key shown. */
function refused(service: unknown, options?: unknown, name: (typeof names)[number] = 'getWalletTokens'): string {
  try {
    operations[name].call(service as never, operations[name].params, options as never)
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ kind: 'invalid', attempts: 0 })
    expect(server.requests).toEqual([])
    expect(`${(error as Error).stack}${JSON.stringify(error)}`).not.toContain(KEY)
    return (error as Error).message
  }
  throw new Error('it was expected to throw at once')
}

describe('an invalid service is refused at once', () => {
  const dataUrl = 'http://127.0.0.1:1'
  const scheme = 'service.dataUrl: expected an http or https URL, such as https://data.example.com, received a URL without http:// or https://'
  const webSocket = 'service.dataUrl: expected an http or https URL, such as https://data.example.com, received a WebSocket URL'
  const none = 'service.dataUrl: expected an http or https URL, such as https://data.example.com, received an invalid URL'
  const more = 'service.dataUrl: expected an address and path only (keys go as apiKey or headers), received a URL with'
  const unprintable = 'service.apiKey: expected printable characters, received a control character such as a line break, or one beyond Latin-1'

  test.each<[string, unknown, string]>([
    ['no key', { dataUrl }, 'service.apiKey: expected a key, received undefined'],
    ['an empty key', { dataUrl, apiKey: '' }, 'service.apiKey: expected a key, received an empty string'],
    ['a key of spaces', { dataUrl, apiKey: '  ' }, 'service.apiKey: expected a key, received an empty string'],
    ['a key that is not a string', { dataUrl, apiKey: { KEY } }, 'service.apiKey: expected a key, received an object'],
    ['a key with a line break, as read from a file', { dataUrl, apiKey: `${KEY}\n` }, unprintable],
    ['a key that no header can have', { dataUrl, apiKey: `${KEY}я` }, unprintable],
    [
      'no address of the group',
      { nftUrl: dataUrl, apiKey: KEY },
      'service.dataUrl: expected an http or https URL, such as https://data.example.com, received undefined',
    ],
    [
      'an empty address',
      { dataUrl: '', apiKey: KEY },
      'service.dataUrl: expected an http or https URL, such as https://data.example.com, received an empty string',
    ],
    [
      'an address that is not a string',
      { dataUrl: new URL(dataUrl), apiKey: KEY },
      'service.dataUrl: expected an http or https URL, such as https://data.example.com, received a URL',
    ],
    ['an address without scheme', { dataUrl: `data.example.com/${KEY}`, apiKey: KEY }, none],
    ['an address without host', { dataUrl: 'http://', apiKey: KEY }, none],
    ['a WebSocket address', { dataUrl: `ws://a/${KEY}`, apiKey: KEY }, webSocket],
    ['a file', { dataUrl: `file:///${KEY}`, apiKey: KEY }, scheme],
    ['an address with a query, which would be lost', { dataUrl: `${dataUrl}/?key=${KEY}`, apiKey: KEY }, `${more} a query`],
    ['an address with a fragment', { dataUrl: `${dataUrl}/#${KEY}`, apiKey: KEY }, `${more} a fragment`],
    ['an address with a password', { dataUrl: `http://me:${KEY}@127.0.0.1`, apiKey: KEY }, `${more} a user or password`],
    [
      'an address with the version',
      { dataUrl: `${dataUrl}/api/v2.2/`, apiKey: KEY },
      'service.dataUrl: expected the address without /api/v2.2, which hexline adds, received an address with it',
    ],
    [
      'a misspelt group',
      { dataURL: dataUrl, apiKey: KEY },
      'service: expected only dataUrl, nftUrl, streamsUrl, apiKey, received "dataURL" (did you mean `dataUrl`?)',
    ],
    ['an address in its place', `${dataUrl}/${KEY}`, 'service: expected an object, received a string'],
    ['nothing', undefined, 'service: expected an object, received undefined'],
  ])('%s', (_, service, message) => {
    expect(refused(service)).toBe(message)
  })

  test.each(names)('%s only needs the address of its group', async (name) => {
    const { group } = operations[name]
    const groups = ['dataUrl', 'nftUrl', 'streamsUrl'] as const
    const others = Object.fromEntries(groups.filter((each) => each !== group).map((each) => [each, server.url]))
    expect(refused({ ...others, apiKey: KEY }, undefined, name)).toBe(
      `service.${group}: expected an http or https URL, such as https://data.example.com, received undefined`,
    )
    // Another group's address is not checked.
    const broken = Object.fromEntries(groups.map((each) => [each, each === group ? server.url : 'nonsense']))
    await Promise.resolve(operations[name].call({ ...broken, apiKey: KEY }, operations[name].params, { lenient: true })).catch(() => {})
    expect(server.requests).toHaveLength(1)
  })
})

describe('invalid options are refused at once', () => {
  const ms = 'a number of ms above 0, at most 2147483647'
  const whole = 'a whole number of at least 1'
  const attempts = 'a whole number of at least 1 (the first attempt counts), or Infinity'
  test.each<[unknown, string]>([
    [{ headers: { 'x-api-Key': 'k' } }, 'headers: expected headers other than X-API-Key, which holds service.apiKey, received X-API-Key'],
    [{ timeoutMs: 0 }, `timeoutMs: expected ${ms}, received 0`],
    [{ timeoutMs: '5' }, `timeoutMs: expected ${ms}, received "5"`],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, `timeoutMs: expected ${ms}, received Infinity`],
    [{ timeoutMs: Number.NaN }, `timeoutMs: expected ${ms}, received NaN`],
    [{ deadlineMs: -1 }, 'deadlineMs: expected a number of ms above 0, or Infinity, received -1'],
    [{ deadlineMs: 5n }, 'deadlineMs: expected a number of ms above 0, or Infinity, received 5n'],
    [{ retry: true }, 'retry: expected an object or false, received true'],
    [{ retry: { attempt: 3 } }, 'retry: expected only attempts, baseDelayMs, maxDelayMs, received "attempt" (did you mean `attempts`?)'],
    [{ retry: { attempts: 0 } }, `retry.attempts: expected ${attempts}, received 0`],
    [{ retry: { attempts: 1.5 } }, `retry.attempts: expected ${attempts}, received 1.5`],
    [{ retry: { baseDelayMs: 0 } }, 'retry.baseDelayMs: expected a number above 0, received 0'],
    [{ retry: { maxDelayMs: -5 } }, 'retry.maxDelayMs: expected a number above 0, received -5'],
    [{ arrays: 'comma' }, `arrays: expected 'indices', 'brackets' or 'repeat', received "comma"`],
    [{ maxArrayLength: 0 }, `maxArrayLength: expected ${whole}, received 0`],
    [{ lenient: 'yes' }, 'lenient: expected true or false, received "yes"'],
    [{ lenient: 1 }, 'lenient: expected true or false, received 1'],
    [{ maxResponseBytes: 0.5 }, `maxResponseBytes: expected ${whole}, received 0.5`],
    [{ headers: [] }, 'headers: expected a plain object of strings, received an array of 0'],
    [{ headers: { a: 1 } }, 'headers["a"]: expected a string, received a value of type number'],
    [{ headers: { a: `${KEY}\r\nb: c` } }, 'headers["a"]: expected printable Latin-1 characters, received a control character, or one beyond Latin-1'],
    [{ dispatcher: `http://me:${KEY}@proxy` }, 'dispatcher: expected an undici dispatcher, received a string'],
    [{ signal: new AbortController() }, 'signal: expected an AbortSignal, received a AbortController'],
    [
      { timeout: 5 },
      'options: expected only signal, timeoutMs, deadlineMs, retry, arrays, maxArrayLength, lenient, maxResponseBytes, headers, dispatcher, received "timeout" (did you mean `timeoutMs`?)',
    ],
    [null, 'options: expected an object, received null'],
    [5, 'options: expected an object, received 5'],
  ])('%o', (options, message) => {
    expect(refused(server.service, options)).toBe(message)
  })

  it('undefined is the same as absent', async () => {
    const options = {
      arrays: undefined,
      lenient: undefined,
      timeoutMs: undefined,
      retry: undefined,
      headers: undefined,
      signal: undefined,
      dispatcher: undefined,
    }
    expect(await operations.getWalletTokens.call(server.service, { address: ADDRESS }, options as never)).toMatchObject({ result: [] })
  })
})
