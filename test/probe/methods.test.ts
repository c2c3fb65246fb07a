import { describe, expect, it } from 'vitest'
import { HttpError, RpcError } from '../../src/errors.ts'
import { encodeArguments } from '../../src/eth/methods.ts'
import { Asker } from '../../src/probe/asker.ts'
import { METHODS, methodsOf, nothingOf, quantity, TAGS, tagsOf } from '../../src/probe/methods.ts'
import type { Call, Outcome } from '../../src/rpc/call.ts'
import { replyOf } from '../../src/rpc/reply.ts'

const facts = { head: 100, blockHash: `0x${'11'.repeat(32)}`, transactionHash: `0x${'22'.repeat(32)}` }

function start(outcome: (call: Call) => Outcome) {
  const calls: Call[] = []
  const asker = new Asker({
    post: async (batch) => {
      calls.push(...batch)
      return batch.map(outcome)
    },
    ...{ maxCalls: 1000, reserved: 0, timeoutMs: 10_000, signal: undefined, onPost: () => {} },
  })
  return { asker, calls }
}

const refusal = (kind: 'unsupported' | 'invalid' | 'execution' | 'server' | 'auth' | 'lagging') => new RpcError({ code: -32000, message: kind }, { kind })

describe('a method', () => {
  it.each<[string, Outcome, object]>([
    ['that returns a result is supported', replyOf('0x1'), { supported: true, how: '' }],
    ['that refuses its parameters is supported', refusal('invalid'), { supported: true, how: 'invalid' }],
    ['that reverts is supported', refusal('execution'), { supported: true, how: 'execution' }],
    ['that the node lacks is not', refusal('unsupported'), { supported: false, how: 'unsupported' }],
    ['that fails for another reason is unknown', refusal('server'), { supported: null, how: 'server' }],
    [
      'that a gateway refuses is unknown',
      new HttpError({ status: 404, headers: {}, body: '' }, { kind: 'not-found' }),
      { supported: null, how: expect.stringContaining('404') },
    ],
  ])('%s', async (_, outcome, support) => {
    const { asker } = start(() => outcome)
    expect((await methodsOf(asker, facts)).eth_call).toEqual(support)
  })

  it('that answers null is unknown, unless null is what it says of something that is not there', async () => {
    const found = await methodsOf(start(() => replyOf(null)).asker, facts)
    expect([found.eth_call, found.eth_getTransactionCount]).toEqual(Array(2).fill({ supported: null, how: 'it answers null' }))
    expect([found.eth_getBlockByHash, found.eth_getTransactionReceipt, found.eth_getUncleCountByBlockHash]).toEqual(Array(3).fill({ supported: true, how: '' }))
  })

  it('is called once, with valid parameters, and none that changes anything', async () => {
    const { asker, calls } = start(() => replyOf(null))
    await methodsOf(asker, facts)
    expect(calls.map(({ method }) => method)).toEqual(METHODS)
    for (const { method, params } of calls) {
      if (method === 'eth_sendRawTransaction') expect(params).toEqual(['0x'])
      else expect(() => encodeArguments(method as 'eth_call', params as never), method).not.toThrow()
    }
  })
})

describe('a tag', () => {
  it.each<[string, () => Outcome, object]>([
    ['that returns a block is supported', () => replyOf({ hash: '0x1' }), { supported: true, how: '' }],
    ['that returns null is not', () => replyOf(null), { supported: false, how: 'it answers null' }],
    ['that is refused is not', () => refusal('invalid'), { supported: false, how: 'invalid' }],
    ['that is unknown to a lagging node is not', () => refusal('lagging'), { supported: false, how: 'lagging' }],
    ['is unknown if the node fails', () => refusal('server'), { supported: null, how: 'server' }],
  ])('%s', async (_, outcome, support) => {
    const { asker } = start(outcome)
    expect((await tagsOf(asker)).tags.safe).toEqual(support)
  })

  it('latest returns the block, as sent', async () => {
    const { asker, calls } = start(({ params }) => (params[0] === 'latest' ? replyOf({ hash: '0x1' }) : replyOf(null)))
    expect((await tagsOf(asker)).latest).toEqual({ hash: '0x1' })
    expect(calls.map(({ params }) => params)).toEqual(TAGS.map((tag) => [tag, false]))
  })
})

it('nothing is known of an endpoint that does not answer', () => {
  expect(nothingOf(['a', 'b'])).toEqual({
    a: { supported: null, how: 'the endpoint does not answer' },
    b: { supported: null, how: 'the endpoint does not answer' },
  })
  expect([quantity(0), quantity(255)]).toEqual(['0x0', '0xff'])
})
