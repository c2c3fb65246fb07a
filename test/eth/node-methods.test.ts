import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodeMethods } from '../../src/eth/node-methods.ts'
import { type Client, CodecError, createClient, decodeResult, encodeArguments, type Hash, type Hex, type Receipt, type RpcError } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { hasCorpus, noCorpus, readNodePairs } from '../support/corpus.ts'
import { eventually } from '../support/eventually.ts'

/*
 * What is decoded, by method or tracer: stated here on its own, so that a field which the code
 * forgets, or decodes as something else, is seen. `*` is a key that is data. Whatever is not listed
 * stays as sent.
 */
const DECODED: Record<string, { readonly bigint?: string; readonly number?: string }> = {
  callTracer: { bigint: 'gas gasUsed value', number: 'logs.index logs.position' },
  prestateTracer: { bigint: '*.balance' },
  prestateDiff: { bigint: 'post.*.balance pre.*.balance' },
  flatCallTracer: { bigint: 'action.balance action.gas action.value blockNumber result.gasUsed' },
  trace: { bigint: 'action.gas action.value blockNumber result.gasUsed' },
  traceResults: {
    bigint:
      'stateDiff.*.balance.*.from stateDiff.*.balance.*.to stateDiff.*.balance.+ stateDiff.*.balance.- trace.action.gas trace.action.value trace.result.gasUsed',
    number: 'stateDiff.*.nonce.*.from stateDiff.*.nonce.*.to stateDiff.*.nonce.+ stateDiff.*.nonce.-',
  },
  eth_baseFee: { bigint: '.' },
  eth_blobBaseFee: { bigint: '.' },
  eth_simulateV1: {
    bigint:
      'baseFeePerGas blobGasUsed calls.gasUsed calls.logs.blockNumber calls.logs.blockTimestamp calls.maxUsedGas difficulty excessBlobGas gasLimit gasUsed number size timestamp ' +
      'transactions.blockNumber transactions.blockTimestamp transactions.gas transactions.gasPrice transactions.maxFeePerGas transactions.maxPriorityFeePerGas transactions.v transactions.value',
    number:
      'calls.logs.logIndex calls.logs.transactionIndex calls.status transactions.chainId transactions.nonce transactions.transactionIndex transactions.type transactions.yParity',
  },
  txpool_content: {
    bigint: 'pending.*.*.gas pending.*.*.gasPrice pending.*.*.maxFeePerGas pending.*.*.maxPriorityFeePerGas pending.*.*.v pending.*.*.value',
    number: 'pending.*.*.chainId pending.*.*.nonce pending.*.*.type pending.*.*.yParity',
  },
  txpool_status: { number: 'pending queued' },
}

/** Whose results are described by the row of another name in `DECODED`. */
function shapeOf(method: string, params: readonly unknown[]): string {
  if (/^trace_(?:block|filter|get|transaction)$/.test(method)) return 'trace'
  if (/^trace_/.test(method)) return 'traceResults'
  if (!method.startsWith('debug_trace')) return method
  const { tracer = 'structLogs', tracerConfig } = (params.find((each) => typeof each === 'object' && each !== null && 'tracer' in each) ?? {}) as {
    tracer?: string
    tracerConfig?: { diffMode?: boolean }
  }
  return tracer === 'prestateTracer' && tracerConfig?.diffMode ? 'prestateDiff' : tracer
}

/** Pairs that are not what their names say, or that `call` refuses before it sends them. */
const ODD: Record<string, string> = {
  'gnosis/trace_transaction/test_01': 'a pair of trace_replayTransaction under another name',
  'mainnet/trace_call/test_22': 'an address in mixed case with a wrong checksum',
}

const pairs = readNodePairs().filter(({ name }) => !(name in ODD))
const good = pairs.filter(({ response }) => 'result' in response)

interface Change {
  readonly path: readonly string[]
  readonly wire: unknown
  readonly decoded: unknown
}

/** The values that were decoded to something else than was sent, with their paths. */
function changesOf(wire: unknown, decoded: unknown): Change[] {
  const changes: Change[] = []
  const path: string[] = []
  const look = (wire: unknown, decoded: unknown) => {
    if (typeof wire !== 'object' || wire === null) {
      if (decoded !== wire) changes.push({ path: [...path], wire, decoded })
      return
    }
    for (const key in wire) {
      path.push(key)
      look((wire as Record<string, unknown>)[key], (decoded as Record<string, unknown>)[key])
      path.pop()
    }
  }
  look(wire, decoded)
  return changes
}

/** The path without what is data, and without what says how deep a frame lies. */
function kindOf(path: readonly string[], method: string): string {
  const isPool = method.startsWith('txpool')
  const keys = path.filter((key) => isPool || !/^\d+$/.test(key)).map((key) => (/^0x|^\d+$/.test(key) ? '*' : key))
  const inTrace = method.startsWith('debug_traceBlock') ? keys.slice(1) : keys
  return inTrace.filter((key) => key !== 'calls' || !method.startsWith('debug_trace')).join('.') || '.'
}

/** The decoded value as JSON once more, with numbers spelt as those that were sent. */
function encoded(decoded: unknown, wire: unknown): unknown {
  if (typeof decoded === 'bigint' || typeof decoded === 'number') {
    if (typeof wire !== 'string') return Number(decoded)
    return `0x${decoded.toString(16).padStart(wire.length - 2, '0')}`
  }
  if (typeof decoded !== 'object' || decoded === null) return decoded
  const sent = wire as Record<string, unknown>
  if (Array.isArray(decoded)) return decoded.map((item, i) => encoded(item, sent[i]))
  return Object.fromEntries(Object.entries(decoded).map(([key, value]) => [key, encoded(value, sent[key])]))
}

if (!hasCorpus) {
  test.skip(noCorpus)
  console.warn(noCorpus)
}

describe.skipIf(!hasCorpus)('replies of real nodes', () => {
  /** Each reply with what it was decoded to; short ones first. */
  const replies = good
    .map(({ name, method, request, response: { result } }) => {
      const params = encodeArguments(method, request.params ?? [])
      const wire = JSON.stringify(result)
      const decoded = decodeResult(method, JSON.parse(wire), params)
      return { name, method, params, wire, result, decoded, changes: changesOf(result, decoded) }
    })
    .sort((a, b) => a.wire.length - b.wire.length)
  const rows = [...new Set(replies.map(({ method }) => method))].sort()

  test('are of 25 methods, all with a row', () => {
    expect(rows.length).toBeGreaterThanOrEqual(25)
    expect(rows.filter((method) => !(method in nodeMethods))).toEqual([])
  })

  test.each(rows)('%s: each is the JSON that was sent when it is encoded again', (method) => {
    for (const { name, wire, result, decoded } of replies.filter((reply) => reply.method === method))
      expect(JSON.stringify(encoded(decoded, result)) === wire, name).toBe(true)
  })

  test('have amounts and counts where the table says so, and nothing else is changed', () => {
    const found: Record<string, Record<string, Set<string>>> = {}
    for (const { name, method, params, changes } of replies) {
      const shape = shapeOf(method, params)
      for (const { path, wire, decoded: value } of changes) {
        if (typeof value === typeof wire) throw new Error(`${name}: ${path.join('.')} is ${value}, not ${wire}`)
        found[shape] ??= {}
        const kinds = found[shape] as Record<string, Set<string>>
        kinds[typeof value] ??= new Set()
        kinds[typeof value]?.add(kindOf(path, method))
      }
    }
    const paths = (kinds: Record<string, Set<string>>) => Object.fromEntries(Object.entries(kinds).map(([kind, each]) => [kind, [...each].sort().join(' ')]))
    expect(Object.fromEntries(Object.entries(found).map(([shape, kinds]) => [shape, paths(kinds)]))).toEqual(DECODED)
  })

  test.each(rows)('%s: one with a wrong value is refused with its path', (method) => {
    const tried = new Set<string>()
    for (const { params, wire: json, changes } of replies.filter((reply) => reply.method === method)) {
      for (const { path } of changes) {
        if (tried.has(kindOf(path, method))) continue
        tried.add(kindOf(path, method))
        const wrong = { result: JSON.parse(json) }
        const last = path.at(-1) ?? 'result'
        const holder = path.slice(0, -1).reduce((at, key) => at[key], path.length === 0 ? wrong : wrong.result)
        holder[last] = '0xnot a number'
        const steps = path.map((key) => (/^\d+$/.test(key) && !method.startsWith('txpool') ? `[${key}]` : `.${key}`))
        const written = steps.join('').replace(/^\./, '') || 'result'
        expect(() => decodeResult(method, wrong.result, params)).toThrow(`${written}: expected `)
      }
    }
    // Results that stay as sent are refused only where they are of another kind altogether.
    if (tried.size === 0) expect(() => decodeResult(method, 1.5, [])).toThrow(CodecError)
  })

  test('to calls that the nodes refused: their arguments are sent as they are, or refused before', () => {
    const refused = pairs.filter(({ response }) => 'error' in response)
    expect(refused.length).toBeGreaterThan(20)
    const early = refused.filter(({ method, request }) => {
      try {
        encodeArguments(method, request.params ?? [])
        return false
      } catch (error) {
        expect(error).toBeInstanceOf(CodecError)
        return true
      }
    })
    expect(early.map(({ name }) => name)).toEqual([
      'execution-apis/debug_getRawBlock/get-invalid-number',
      'execution-apis/debug_getRawReceipts/get-invalid-number',
      'execution-apis/debug_getRawTransaction/get-invalid-hash',
      'execution-apis/debug_traceBlockByNumber/trace-block-invalid-number',
      'mainnet/eth_fillTransaction/test_13',
    ])
  })
})

/** What anvil does not answer. */
const ANVIL_LACKS =
  'debug_getRawBlock debug_getRawHeader debug_getRawReceipts debug_traceCallMany eth_baseFee eth_capabilities eth_getBlockAccessList rpc_modules ' +
  'trace_call trace_callMany trace_get trace_replayTransaction txpool_contentFrom'

describe('anvil', () => {
  let anvil: Anvil
  let client: Client
  let account: Hex
  let created: Receipt
  beforeAll(async () => {
    anvil = await startAnvil()
    client = createClient(anvil.url)
    ;[account] = (await client.call('eth_accounts')) as [Hex]
    // A contract whose code is one byte.
    const transactionHash = (await client.request({ method: 'eth_sendTransaction', params: [{ from: account, data: '0x600160005360016000f3' }] })) as Hash
    created = await eventually(async () => {
      const receipt = await client.call('eth_getTransactionReceipt', transactionHash)
      if (receipt === null) throw new Error('not mined yet')
      return receipt
    })
  })
  afterAll(async () => {
    await client?.close()
    await anvil?.stop()
  })

  test('answers each method that it has with what is decoded, and is the same JSON when it is encoded again', async () => {
    const { transactionHash, blockHash, blockNumber } = created
    const [filter, logFilter] = await Promise.all([client.call('eth_newBlockFilter'), client.call('eth_newFilter', { fromBlock: 0n })])
    const callFrames = { tracer: 'callTracer' }
    const transfer = { from: account, to: account, value: 1n }
    const calls: readonly (readonly [method: string, ...args: unknown[]])[] = [
      ['eth_fillTransaction', transfer],
      ['eth_getBlockAccessList', 'latest'],
      ['eth_getFilterChanges', filter],
      ['eth_getFilterLogs', logFilter],
      ['eth_getStorageValues', { [account]: [0, '0x1'] }],
      ['eth_newFilter', {}],
      ['eth_sendRawTransactionSync', '0x'],
      ['eth_simulateV1', { blockStateCalls: [{ calls: [transfer] }], traceTransfers: true, returnFullTransactions: true }],
      ['eth_uninstallFilter', filter],
      ['txpool_contentFrom', account],
      ['debug_getRawBlock', blockNumber],
      ['debug_getRawHeader', blockNumber],
      ['debug_getRawReceipts', blockHash],
      ['debug_getRawTransaction', transactionHash],
      ['debug_traceBlockByHash', blockHash, callFrames],
      ['debug_traceBlockByNumber', blockNumber],
      ['debug_traceCall', transfer, 'latest', { ...callFrames, tracerConfig: { withLog: true } }],
      ['debug_traceCallMany', [], {}],
      ['debug_traceTransaction', transactionHash],
      ['debug_traceTransaction', transactionHash, callFrames],
      ['debug_traceTransaction', transactionHash, { tracer: 'prestateTracer' }],
      ['debug_traceTransaction', transactionHash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }],
      ['debug_traceTransaction', transactionHash, { tracer: '4byteTracer' }],
      ['trace_block', blockNumber],
      ['trace_call', transfer, ['trace']],
      ['trace_callMany', [[transfer, ['trace']]]],
      ['trace_filter', { fromBlock: 0, toBlock: blockNumber, fromAddress: [account] }],
      ['trace_get', transactionHash, [0]],
      ['trace_replayBlockTransactions', blockNumber, ['trace', 'stateDiff', 'vmTrace']],
      ['trace_replayTransaction', transactionHash, ['trace']],
      ['trace_transaction', transactionHash],
    ]
    const withoutArguments = Object.keys(nodeMethods).filter((name) => !calls.some(([method]) => method === name))
    expect(withoutArguments).toHaveLength(15)
    const lacking = new Set<string>()
    for (const [method, ...args] of [...withoutArguments.map((name) => [name] as const), ...calls]) {
      const params = encodeArguments(method, args)
      const sent = await client.request({ method, params }).catch((error: RpcError) => error)
      if (method === 'eth_sendRawTransactionSync') expect(sent).toMatchObject({ kind: 'invalid' })
      else if (sent instanceof Error) {
        expect(sent).toMatchObject({ kind: 'unsupported', method })
        lacking.add(method)
      } else expect(encoded(decodeResult(method, structuredClone(sent), params), sent), method).toEqual(sent)
    }
    expect([...lacking].sort().join(' ')).toBe(ANVIL_LACKS)
  })

  test('traces a transaction: its call frame, its steps, the accounts before and after it, its traces', async () => {
    const { transactionHash, from, contractAddress, gasUsed } = created
    const frame = await client.call('debug_traceTransaction', transactionHash, { tracer: 'callTracer' })
    expect(frame).toMatchObject({ type: 'CREATE', from, to: contractAddress, gasUsed, value: 0n, output: '0x01' })
    const steps = await client.call('debug_traceTransaction', transactionHash)
    expect(steps).toMatchObject({ failed: false, gas: Number(gasUsed), returnValue: '0x01' })
    const { pre, post } = await client.call('debug_traceTransaction', transactionHash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } })
    expect(post[contractAddress as Hex]).toMatchObject({ code: '0x01', nonce: 1 })
    expect((pre[from]?.balance as bigint) - (post[from]?.balance as bigint)).toBe(gasUsed * (created.effectiveGasPrice as bigint))
    const [trace] = (await client.call('trace_transaction', transactionHash)) ?? []
    expect(trace).toMatchObject({ type: 'create', blockNumber: created.blockNumber, transactionPosition: 0, result: { address: contractAddress } })
  })
})
