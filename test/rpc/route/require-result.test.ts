import { describe, expect, test } from 'vitest'
import { ownRead } from '../../../src/rpc/call.ts'
import { CallFailure } from '../../../src/rpc/call-failure.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { isNull, takeResult } from '../../../src/rpc/route/require-result.ts'
import { errorOf } from '../../support/server.ts'

const callOf = (param: unknown, required = true) => ownRead({ method: 'eth_getBlockByNumber', params: [param], deadline: 1000, required })
const failureOf = async (value: unknown, param: unknown) => errorOf<CallFailure>((async () => takeResult(replyOf(value), callOf(param), 'node'))())

test.each<[string, unknown, boolean]>([
  ['null', null, true],
  ['null as bytes', Buffer.from('null'), true],
  ['true as bytes', Buffer.from('true'), false],
  ['an array as bytes', Buffer.from('[]'), false],
  ['nothing', undefined, false],
  ['zero', 0, false],
  ['an empty string', '', false],
])('%s is null, or is not', (_, value, expected) => {
  expect(isNull(value)).toBe(expected)
})

describe('a null result', () => {
  test('of a call that requires one means that the node lags', async () => {
    for (const value of [null, Buffer.from('null')]) {
      const failure = await failureOf(value, 'latest')
      expect(failure).toBeInstanceOf(CallFailure)
      expect(failure).toMatchObject({ posts: 1, endpoint: 'node', error: { name: 'IntegrityError', kind: 'lagging', method: 'eth_getBlockByNumber' } })
    }
  })

  test.each([
    ['latest', true],
    ['0x1f', true],
    [`0x${'ab'.repeat(32)}`, true],
    [`0x${'ab'.repeat(33)}`, false],
    ['<script>', false],
    [7, false],
  ])('names the requested object if it is short and plain: %s', async (param, isNamed) => {
    const { error } = await failureOf(null, param)
    expect(error.message).toContain(
      isNamed ? `node: eth_getBlockByNumber ${param}: the node answers null` : 'node: eth_getBlockByNumber: the node answers null',
    )
  })

  test('of any other call is its result', () => {
    expect(takeResult(replyOf(null), callOf('latest', false), 'node')).toBe(null)
  })
})

test('any other result is unchanged', () => {
  expect(takeResult(replyOf({ number: '0x1' }), callOf('latest'), 'node')).toEqual({ number: '0x1' })
})
