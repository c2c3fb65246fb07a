import { describe, expect, it } from 'vitest'
import { mayBeTooMuch, splitAfter } from '../../../src/bulk/logs/log-split.ts'
import { HttpError, LimitError, NetworkError, RpcError, TimeoutError } from '../../../src/index.ts'

const after = <E extends Error>(attempts: number, error: E) => Object.assign(error, { attempts })
const refused = (message: string) => after(1, new RpcError({ code: -32000, message }, { kind: 'range-too-large' }))
/** The node's error in words that are not known. */
const unwilling = (code: number, kind: 'execution' | 'invalid') => after(1, new RpcError({ code, message: 'no' }, { kind }))
const contentTooLarge = after(1, new HttpError({ status: 413, headers: {}, body: '' }, { kind: 'request-too-large' }))
const late = after(2, new TimeoutError('no reply'))
const overloaded = after(2, new RpcError({ code: -32000, message: 'busy' }, { kind: 'overloaded' }))

describe('a range of 1,000 blocks is split', () => {
  it.each<[string, unknown, object]>([
    ['at the limit that its refusal names', refused('query exceeds max block range 100'), { part: 100, tooLarge: 'blocks' }],
    ['by one block where the limit is its own size', refused('query exceeds max block range 1000'), { part: 999, tooLarge: 'blocks' }],
    ['in halves where no limit is named', refused('block range is too wide'), { part: 500, tooLarge: 'content' }],
    ['in quarters where it had too many results', refused('query returned more than 10000 results'), { part: 250, tooLarge: 'content' }],
    [
      'in quarters where the node suggests the very range that it refuses',
      refused('query exceeds max results 20000, retry with the range 25766988-25767987'),
      { part: 250, tooLarge: 'content' },
    ],
    [
      'in quarters where the node suggests a range that is hardly shorter',
      refused('query exceeds max results 20000, retry with the range 25766988-25767986'),
      { part: 250, tooLarge: 'content' },
    ],
    ['as the node suggests', refused('query exceeds max results 20000, retry with the range 25766988-25767862'), { part: 875, tooLarge: 'content' }],
    ['in halves where its reply was too large', new LimitError('too large', 'response-too-large', { limit: 1, size: 2 }), { part: 500, tooLarge: 'content' }],
  ])('%s', (_, error, expected) => {
    expect(splitAfter(error, 1000)).toEqual(expected)
  })
})

it.each<[string, unknown]>([
  ['a timeout', late],
  ['an overloaded node', overloaded],
  ['a request that a proxy calls too large', contentTooLarge],
  ['words that are not known', unwilling(-32000, 'execution')],
  ['params that are called invalid', unwilling(-32602, 'invalid')],
  ['a connection that broke', after(2, new NetworkError('reset'))],
])('the size of a range may be the reason for %s', (_, error) => {
  expect(splitAfter(error, 1000)).toBeUndefined()
  expect(mayBeTooMuch(error)).toBe(true)
})

it.each<[string, unknown, number]>([
  ['one block', refused('block range is too wide'), 1],
  ['what was never sent', new TimeoutError('no turn'), 1000],
  ['an error of the program', new Error('its own'), 1000],
])('a smaller range does not help with %s', (_, error, blocks) => {
  expect(splitAfter(error, blocks)).toBeUndefined()
  expect(mayBeTooMuch(error)).toBe(false)
})
