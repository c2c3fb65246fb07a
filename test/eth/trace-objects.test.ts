import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockTracesDecoder, decodeCallFrame, decodeStructTrace, traceDecoder } from '../../src/eth/trace-objects.ts'
import { runs } from '../support/runs.ts'

const address = `0x${'ab'.repeat(20)}` as const
const hash = `0x${'cd'.repeat(32)}` as const
const frame = (more: object = {}) => ({ type: 'CALL', from: address, to: address, gas: '0x5208', gasUsed: '0x10', input: '0x', ...more })

/** A frame with one call in it, which has one call in it, and so on. */
function nested(depth: number, innermost: object): object {
  let frameAt = innermost
  for (let i = 1; i < depth; i++) frameAt = frame({ calls: [frameAt] })
  return frameAt
}

describe('a call frame', () => {
  it('has its amounts as bigints, and those of its calls', () => {
    const log = { address, topics: [hash], data: '0x', index: '0x2', position: '0x0' }
    const wire = frame({
      value: '0x1',
      calls: [frame(), frame({ type: 'STATICCALL', calls: [frame({ error: 'out of gas', logs: [log] })] })],
      ...{ regularGasUsed: '0x6', stateGasUsed: '0x7', gasRefund: '0x8', stateGasRefund: '0x9' },
      other: 1,
    })
    expect(decodeCallFrame(wire)).toEqual({
      ...{ type: 'CALL', from: address, to: address, gas: 21_000n, gasUsed: 16n, input: '0x', value: 1n, other: 1 },
      ...{ regularGasUsed: 6n, stateGasUsed: 7n, gasRefund: 8n, stateGasRefund: 9n },
      calls: [
        { type: 'CALL', from: address, to: address, gas: 21_000n, gasUsed: 16n, input: '0x' },
        {
          ...{ type: 'STATICCALL', from: address, to: address, gas: 21_000n, gasUsed: 16n, input: '0x' },
          calls: [
            {
              ...{ type: 'CALL', from: address, to: address, gas: 21_000n, gasUsed: 16n, input: '0x', error: 'out of gas' },
              logs: [{ address, topics: [hash], data: '0x', index: 2, position: 0 }],
            },
          ],
        },
      ],
    })
  })

  it('may lack what clients leave out, or have null in its place', () => {
    expect(decodeCallFrame({ type: 'CREATE', from: address })).toEqual({ type: 'CREATE', from: address })
    expect(decodeCallFrame(frame({ to: null, value: null, calls: null, logs: null }))).toMatchObject({ to: null, value: null, calls: null })
  })

  it('is decoded at a depth of 10,000', () => {
    let inner = decodeCallFrame(nested(10_000, frame({ gas: '0xff' })))
    let depth = 1
    while (inner.calls !== undefined) {
      inner = inner.calls[0] as typeof inner
      depth++
    }
    expect([depth, inner.gas]).toEqual([10_000, 255n])
  })

  it('is refused with the path of what is wrong, shortened in the middle', () => {
    expect(() => decodeCallFrame(frame({ gas: '255' }))).toThrow('gas: expected a hex quantity, received "255"')
    expect(() => decodeCallFrame(frame({ calls: [frame(), frame({ calls: [frame({ gas: '0x' })] })] }))).toThrow(
      'calls[1].calls[0].gas: expected a hex quantity',
    )
    expect(() => decodeCallFrame(frame({ calls: [frame({ calls: {} })] }))).toThrow('calls[0].calls: expected an array, received an object')
    expect(() => decodeCallFrame(frame({ calls: [7] }))).toThrow('calls[0]: expected a call frame, received 7')
    expect(() => decodeCallFrame(frame({ logs: [{ address }] }))).toThrow('logs[0].topics: expected the topics of a log of a call frame')
    expect(() => decodeCallFrame({ from: address })).toThrow('type: expected the type of a call frame')
    const steps = (count: number) => Array(count).fill('calls[0]').join('.')
    expect(() => decodeCallFrame(nested(11, frame({ gas: 1.5 })))).toThrow(`${steps(10)}.gas: expected`)
    expect(() => decodeCallFrame(nested(10_000, frame({ gas: 1.5 })))).toThrow(`${steps(5)}.(9989 more).${steps(5)}.gas: expected a hex quantity, received 1.5`)
  })

  it('of any shape is decoded as by recursion', () => {
    const tree = fc.letrec<{ frame: { gas: number; calls?: unknown[] } }>((tie) => ({
      frame: fc.record({ gas: fc.nat(), calls: fc.array(tie('frame'), { maxLength: 4 }) }, { requiredKeys: ['gas'] }),
    })).frame
    type Tree = { gas: number; calls?: Tree[] }
    const wireOf = ({ gas, calls }: Tree): object => frame({ gas: `0x${gas.toString(16)}`, ...(calls && { calls: calls.map(wireOf) }) })
    const expectedOf = ({ gas, calls }: Tree): object => ({ ...frame(), gas: BigInt(gas), gasUsed: 16n, ...(calls && { calls: calls.map(expectedOf) }) })
    fc.assert(
      fc.property(tree, (each) => {
        expect(decodeCallFrame(wireOf(each as Tree))).toEqual(expectedOf(each as Tree))
      }),
      runs(30),
    )
  })
})

describe('struct logs', () => {
  const step = { pc: 0, op: 'GAS', gas: 100, gasCost: 2, depth: 1 }

  it('keep JSON numbers, and have hex as numbers', () => {
    const trace = {
      gas: '0x5208',
      failed: false,
      returnValue: '0x',
      structLogs: [step, { ...step, pc: '0x0', gas: '0x64', gasCost: '0x2', depth: '0x1', stack: null, storage: { [hash]: hash } }],
    }
    expect(decodeStructTrace(structuredClone(trace))).toEqual({
      ...trace,
      gas: 21_000,
      structLogs: [step, { ...step, stack: null, storage: { [hash]: hash } }],
    })
  })

  it('may have gas without a limit, which JSON numbers round', () => {
    const text = `{"gas":1,"failed":false,"returnValue":"0x","structLogs":[{"pc":0,"op":"GAS","gas":18446744073709551615,"gasCost":2,"depth":1}]}`
    expect(decodeStructTrace(JSON.parse(text)).structLogs[0]?.gas).toBe(2 ** 64)
  })

  it('are refused without the name of an opcode', () => {
    expect(() => decodeStructTrace({ structLogs: [step, { ...step, op: undefined }] })).toThrow('structLogs[1].op: expected the op of a struct log')
  })

  it.each([-1, 1.5, '0x', 'ten', true, {}])('are refused with %j for a count', (wrong) => {
    expect(() => decodeStructTrace({ structLogs: [step, { ...step, gasCost: wrong }] })).toThrow('structLogs[1].gasCost: expected a hex quantity')
  })
})

describe('the decoder of a tracer', () => {
  it.each([
    [undefined, 'a trace with struct logs'],
    [{}, 'a trace with struct logs'],
    [{ tracer: '' }, 'a trace with struct logs'],
    [{ tracer: 'callTracer' }, 'a call frame'],
    [{ tracer: 'prestateTracer' }, 'accounts by address'],
    [{ tracer: 'prestateTracer', tracerConfig: { diffMode: false } }, 'accounts by address'],
    [{ tracer: 'prestateTracer', tracerConfig: { diffMode: true } }, 'a pre and post state'],
    [{ tracer: '4byteTracer' }, 'counts by selector'],
    [{ tracer: 'flatCallTracer' }, 'an array'],
  ])('for %j refuses what is not its result', (options, expected) => {
    expect(() => traceDecoder(options)(7)).toThrow(`expected ${expected}, received 7`)
  })

  it('leaves the result of any other as sent', () => {
    const result = { callTracer: frame() }
    expect(traceDecoder({ tracer: 'muxTracer' })(result)).toEqual({ callTracer: frame() })
  })

  it('has the accounts of a prestate with balances and nonces', () => {
    const decode = traceDecoder({ tracer: 'prestateTracer' })
    expect(decode({ [address]: { balance: '0x10', nonce: 3, code: '0x60' }, [hash]: { nonce: '0x5' } })).toEqual({
      [address]: { balance: 16n, nonce: 3, code: '0x60' },
      [hash]: { nonce: 5 },
    })
    expect(() => decode({ [address]: { balance: 'much' } })).toThrow(`${address}.balance: expected a hex quantity`)
  })

  it('takes 4-byte counts', () => {
    expect(traceDecoder({ tracer: '4byteTracer' })({ '0xa9059cbb-64': 2, '0x70a08231-32': '0x1' })).toEqual({ '0xa9059cbb-64': 2, '0x70a08231-32': 1 })
  })
})

describe('the traces of a block', () => {
  const decode = blockTracesDecoder({ tracer: 'callTracer' })

  it('have results, null results and errors, each with its hash or without', () => {
    const traces = decode([
      { txHash: hash, result: frame() },
      { result: frame() },
      { txHash: hash, result: null },
      { txHash: hash, error: 'execution timeout' },
    ])
    expect(traces).toMatchObject([{ txHash: hash, result: { gas: 21_000n } }, { result: { gas: 21_000n } }, { result: null }, { error: 'execution timeout' }])
  })

  it('are refused with the path of what is wrong', () => {
    expect(() => decode([{ result: frame() }, { txHash: hash }])).toThrow('[1]: expected a result or an error')
    expect(() => decode([{ result: frame({ calls: [frame({ value: 1.5 })] }) }])).toThrow('[0].result.calls[0].value: expected a hex quantity, received 1.5')
    expect(() => decode(null)).toThrow('expected an array, received null')
  })
})

describe('what tells one result from another', () => {
  const diff = traceDecoder({ tracer: 'prestateTracer', tracerConfig: { diffMode: true } })

  it.each<[missing: string, decode: () => unknown]>([
    ['type', () => decodeCallFrame({ from: address })],
    ['from', () => decodeCallFrame({ type: 'CALL' })],
    ['structLogs', () => decodeStructTrace({ gas: 1 })],
    ['pre', () => diff({ post: {} })],
    ['post', () => diff({ pre: {} })],
  ])('is not absent: %s', (missing, decode) => expect(decode).toThrow(`${missing}: expected the ${missing.replace(/^.*\./, '')} of a`))
})
