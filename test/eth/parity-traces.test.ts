import { describe, expect, it } from 'vitest'
import { decodeTraceResults, decodeTraces } from '../../src/eth/parity-traces.ts'

const address = `0x${'ab'.repeat(20)}` as const
const hash = `0x${'cd'.repeat(32)}` as const

/** A copy, in which nothing stands twice: decoding is in place. */
const fresh = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('traces in the form of Parity', () => {
  const action = { callType: 'call', from: address, to: address, gas: '0x10', value: '0x0', input: '0x' }
  const trace = { type: 'call', action, result: { gasUsed: '0x5', output: '0x' }, subtraces: 0, traceAddress: [], blockNumber: 7, transactionPosition: 0 }

  it('are calls, creations, self-destructions and rewards, with errors and null results', () => {
    const wire = [
      trace,
      { ...trace, error: 'Reverted', result: null, subtraces: '0x2', transactionPosition: '0x3' },
      { type: 'create', action: { from: address, gas: '0x1', value: '0x2', init: '0x60' }, error: 'out of gas', subtraces: 1, traceAddress: [0] },
      { type: 'suicide', action: { address, refundAddress: address, balance: '0x9' }, result: null, subtraces: 0, traceAddress: [0, 1] },
      {
        type: 'reward',
        action: { author: address, rewardType: 'block', value: '0x4563918244f40000' },
        result: null,
        subtraces: 0,
        traceAddress: [],
        transactionHash: null,
      },
    ]
    const [call, failed, create, suicide, reward] = decodeTraces(fresh(wire))
    expect(call).toEqual({ ...trace, action: { ...action, gas: 16n, value: 0n }, result: { gasUsed: 5n, output: '0x' }, blockNumber: 7n })
    expect(failed).toMatchObject({ error: 'Reverted', result: null, subtraces: 2, transactionPosition: 3 })
    expect(create).toMatchObject({ action: { gas: 1n, value: 2n }, error: 'out of gas' })
    expect(suicide).toMatchObject({ action: { balance: 9n } })
    expect(reward).toMatchObject({ action: { value: 5_000_000_000_000_000_000n }, transactionHash: null })
  })

  it('are refused with the path of what is wrong', () => {
    expect(() => decodeTraces(fresh([trace, { ...trace, action: undefined }]))).toThrow('[1].action: expected the action of a trace')
    expect(() => decodeTraces(fresh([{ ...trace, result: { gasUsed: 'all' } }]))).toThrow('[0].result.gasUsed: expected a hex quantity, received "all"')
  })

  it('of a replay have changes of accounts', () => {
    const change = { balance: { '*': { from: '0x1', to: '0x2' } }, nonce: { '+': '0x0' }, code: '=', storage: { [hash]: { '*': { from: hash, to: hash } } } }
    const decoded = decodeTraceResults({
      output: '0x',
      stateDiff: { [address]: change, [hash]: { ...change, balance: '=', nonce: { '-': '0x7' } } },
      trace: null,
      vmTrace: null,
    })
    expect(decoded.stateDiff).toEqual({
      [address]: { ...change, balance: { '*': { from: 1n, to: 2n } }, nonce: { '+': 0 } },
      [hash]: { ...change, balance: '=', nonce: { '-': 7 } },
    })
    expect(() => decodeTraceResults({ output: '0x', stateDiff: { [address]: { balance: 'same' } } })).toThrow(
      `stateDiff.${address}.balance: expected a change: "=", or an object with +, - or *, received "same"`,
    )
  })
})

describe('what tells one result from another', () => {
  const trace = { type: 'call', action: {}, traceAddress: [] }
  const change = (value: object) => decodeTraceResults({ output: '0x', stateDiff: { [address]: { nonce: { '*': value } } } })

  it.each<[missing: string, decode: () => unknown]>([
    ...Object.keys(trace).map((key): [string, () => unknown] => [`[0].${key}`, () => decodeTraces([{ ...trace, [key]: undefined }])]),
    ['output', () => decodeTraceResults({ trace: [] })],
    [`stateDiff.${address}.nonce.*.from`, () => change({ to: '0x1' })],
    [`stateDiff.${address}.nonce.*.to`, () => change({ from: '0x1' })],
  ])('is not absent: %s', (missing, decode) => expect(decode).toThrow(`${missing}: expected the ${missing.replace(/^.*\./, '')} of a`))
})
