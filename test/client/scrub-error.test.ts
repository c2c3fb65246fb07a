import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { scrubError } from '../../src/client/scrub-error.ts'
import { CodecError, IntegrityError, NetworkError } from '../../src/errors.ts'
import { fault, under } from '../../src/eth/codec/codec-path.ts'
import { scrubber } from '../../src/http/secrets.ts'
import { shownBy } from '../support/shown.ts'

const KEY = 'Zk3yQ0123456789abcdefXYZ'
const endpoints = [{ scrub: scrubber(new URL(`https://a.example/${KEY}`), {}) }, {}, { scrub: scrubber(new URL('https://b.example/oTHERkeyoTHERkey'), {}) }]
const origin = { endpoint: 'a.example', attempts: 3 }

describe('an error of a result', () => {
  it.each<[string, Error]>([
    ['what cannot be decoded', under(fault('a hex quantity', `0x${KEY}`), 'gas') as Error],
    ['a long string with the key where it is cut', under(fault('a hex quantity', `${'x'.repeat(70)}${KEY}`), 'gas') as Error],
    ['a path', new CodecError(`logs.${KEY}`, 'an array', '5')],
    ['blocks that do not fit together', new IntegrityError(`block 1 names ${KEY} as its parent`)],
    ['an error of a formatter', new TypeError(`cannot read ${KEY}`)],
    ['fields and causes', Object.assign(new Error('no', { cause: new Error(KEY) }), { value: { list: [`x ${KEY}`] }, text: `oTHERkeyoTHERkey ${KEY}` })],
  ])('has no secrets of the endpoints: %s', (_, error) => {
    const scrubbed = scrubError(error, endpoints, origin) as Error
    expect(shownBy(scrubbed)).not.toMatch(/Zk3yQ01|oTHERkey/)
    expect(scrubbed).toBeInstanceOf(error.constructor as typeof Error)
    expect(inspect(scrubbed)).toContain('scrub-error.test.ts')
  })

  it('names the source of the result, if the error is one of hexline', () => {
    expect(scrubError(fault('an array', 5), endpoints, origin)).toMatchObject(origin)
    expect(scrubError(new IntegrityError('no'), endpoints, origin)).toMatchObject(origin)
    expect(scrubError(new IntegrityError('no', { endpoint: 'b.example' }), endpoints, origin)).toMatchObject({ endpoint: 'b.example', attempts: 0 })
    expect(scrubError(new Error('no'), endpoints, origin)).not.toHaveProperty('endpoint')
  })

  it('keeps method, kind and path', () => {
    const error = new CodecError('logs[0]', 'an array', '5', { method: 'eth_getLogs', kind: 'malformed' })
    expect(scrubError(error, endpoints)).toMatchObject({ message: error.message, path: 'logs[0]', method: 'eth_getLogs', kind: 'malformed' })
  })

  it('is bounded, since formatters put whole blocks into their messages', () => {
    expect((scrubError(new Error('x'.repeat(100_000)), endpoints) as Error).message.length).toBeLessThanOrEqual(1000)
  })

  it('may be its own cause', () => {
    const error = new Error(KEY)
    error.cause = error
    const scrubbed = scrubError(error, endpoints) as Error
    expect(scrubbed.cause).toBe(scrubbed)
  })
})

it.each<[string, unknown]>([
  ['an error of a call, scrubbed where it was made', new NetworkError('no')],
  ['a value that is not an error', 'no'],
])('%s stays as it is', (_, error) => {
  expect(scrubError(error, endpoints, origin)).toBe(error)
})
