import { describe, expect, it } from 'vitest'
import { splitAfter } from '../../src/bulk/log-split.ts'
import { HttpError, LimitError, NetworkError, RpcError, TimeoutError } from '../../src/index.ts'

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
    ['in halves where its reply was too large', new LimitError('too large', 'response-too-large', { limit: 1, size: 2 }), { part: 500, tooLarge: 'content' }],
  ])('%s', (_, error, expected) => {
    expect(splitAfter(error, 1000, 3)).toEqual({ failures: 3, ...expected })
    // That is no outage, however often it is split.
    expect(splitAfter(error, 1000, 99)).toEqual({ failures: 99, ...expected })
  })

  it.each<[string, unknown, object]>([
    ['of a timeout', late, { tooLarge: 'time' }],
    ['of an overloaded node', overloaded, { tooLarge: undefined }],
    ['a proxy called the request too large', contentTooLarge, { tooLarge: undefined }],
    ['of words that are not known', unwilling(-32000, 'execution'), { tooLarge: undefined }],
    ['of params that are called invalid', unwilling(-32602, 'invalid'), { tooLarge: undefined }],
  ])('in halves because %s, four times', (_, error, expected) => {
    for (const failures of [0, 1, 2, 3]) expect(splitAfter(error, 1000, failures)).toEqual({ part: 500, failures: failures + 1, ...expected })
    expect(splitAfter(error, 1000, 4)).toBeUndefined()
  })
})

it.each<[string, unknown, number]>([
  ['one block', refused('block range is too wide'), 1],
  ['a node that cannot be reached', after(2, new NetworkError('refused')), 1000],
  ['what was never sent', new TimeoutError('no turn'), 1000],
  ['an error of the program', new Error('its own'), 1000],
])('a smaller range does not help with %s', (_, error, blocks) => {
  expect(splitAfter(error, blocks, 0)).toBeUndefined()
})
