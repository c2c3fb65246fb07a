import { describe, expect, it } from 'vitest'
import { type FailureRow, matches } from '../../../src/eth/errors/rule.ts'
import type { Failure } from '../../../src/rpc/post/reply-errors.ts'

const failure: Failure = { method: 'eth_getLogs', status: 503, code: -32005, message: 'limit exceeded', retryAfterMs: undefined }
const row = (conditions: Partial<FailureRow>): FailureRow => ({ kind: 'server', source: 'a test', ...conditions })

describe('a row matches when each of its conditions holds', () => {
  it.each<[Partial<FailureRow>, Partial<Failure>, boolean]>([
    [{}, {}, true],
    [{ code: -32005 }, {}, true],
    [{ code: -32006 }, {}, false],
    [{ status: 503 }, {}, true],
    [{ status: 500 }, {}, false],
    [{ status: [500, 599] }, { status: 500 }, true],
    [{ status: [500, 599] }, { status: 599 }, true],
    [{ status: [500, 599] }, { status: 600 }, false],
    [{ method: /^eth_getLogs$/ }, {}, true],
    [{ method: /^eth_call$/ }, {}, false],
    [{ message: /limit/ }, {}, true],
    [{ message: /quota/ }, {}, false],
    [{ asksToWait: true }, {}, false],
    [{ asksToWait: true }, { retryAfterMs: 0 }, true],
    [{ code: -32005, message: /quota/ }, {}, false],
    [{ message: /limit/, data: /range/ }, { data: 'range too large' }, true],
    [{ message: /limit/, data: /range/ }, {}, false],
  ])('%o, with %o: %s', (conditions, more, isMatch) => {
    expect(matches(row(conditions), { ...failure, ...more })).toBe(isMatch)
  })
})

describe('data', () => {
  it('is searched as JSON if it is not text', () => {
    expect(matches(row({ data: /"max":10/ }), { ...failure, data: { max: 10 } })).toBe(true)
  })

  it('is searched in its first 4,096 characters only', () => {
    expect(matches(row({ data: /end/ }), { ...failure, data: `${'x'.repeat(4093)}end` })).toBe(true)
    expect(matches(row({ data: /end/ }), { ...failure, data: `${'x'.repeat(4094)}end` })).toBe(false)
  })
})
