import { describe, expect, it } from 'vitest'
import { encodeArguments } from '../../src/eth/methods.ts'

const address = `0x${'ab'.repeat(20)}` as const
const hash = `0x${'cd'.repeat(32)}` as const
const transfer = { from: address, to: address, value: 1n }
const sentTransfer = { from: address, to: address, value: '0x1' }

describe('are sent', () => {
  it.each<[method: string, given: unknown[], sent: unknown[]]>([
    ['debug_traceTransaction', [hash], [hash]],
    ['debug_traceTransaction', [hash, null], [hash]],
    [
      'debug_traceTransaction',
      [hash, { tracer: 'callTracer', tracerConfig: { withLog: true }, timeout: '10s' }],
      [hash, { tracer: 'callTracer', tracerConfig: { withLog: true }, timeout: '10s' }],
    ],
    ['debug_traceTransaction', [hash, { reexec: 128n, limit: 5, tracer: undefined }], [hash, { reexec: 128, limit: 5 }]],
    ['debug_traceBlockByNumber', [16n, { disableStack: true }], ['0x10', { disableStack: true }]],
    ['debug_traceCall', [transfer], [sentTransfer, 'latest']],
    [
      'debug_traceCall',
      [transfer, 'safe', { txIndex: 3, stateOverrides: { [address]: { balance: 5n } }, blockOverrides: { number: 7n } }],
      [sentTransfer, 'safe', { txIndex: '0x3', stateOverrides: { [address]: { balance: '0x5' } }, blockOverrides: { number: '0x7' } }],
    ],
    ['debug_getRawBlock', [7], ['0x7']],
    ['debug_getRawReceipts', [hash], [hash]],
    ['trace_block', ['latest'], ['latest']],
    ['debug_traceCallMany', [[{ transactions: [{ value: 1n }] }], { blockNumber: 7n }], [[{ transactions: [{ value: '0x1' }] }], { blockNumber: '0x7' }]],
    ['trace_filter', [{ mode: 'union' }], [{ mode: 'union' }]],
    ['trace_filter', [{ fromBlock: 1n, toAddress: [address], after: 2n, count: 10 }], [{ fromBlock: '0x1', toAddress: [address], after: 2, count: 10 }]],
    ['trace_get', [hash, [0, 10n]], [hash, ['0x0', '0xa']]],
    ['trace_call', [transfer, ['trace', 'stateDiff']], [sentTransfer, ['trace', 'stateDiff'], 'latest']],
    ['trace_callMany', [[[transfer, ['trace']]], 5], [[[sentTransfer, ['trace']]], '0x5']],
    ['trace_replayBlockTransactions', [5, ['vmTrace']], ['0x5', ['vmTrace']]],
    [
      'eth_simulateV1',
      [{ blockStateCalls: [{ blockOverrides: { time: 5n }, calls: [transfer] }, {}], validation: true }],
      [{ blockStateCalls: [{ blockOverrides: { time: '0x5' }, calls: [sentTransfer] }, {}], validation: true }, 'latest'],
    ],
    ['eth_getStorageValues', [{ [address]: [0, '0x1'] }], [{ [address]: [`0x${'0'.repeat(64)}`, `0x${'0'.repeat(63)}1`] }, 'latest']],
    ['eth_sendRawTransactionSync', ['0x02'], ['0x02']],
    ['eth_sendRawTransactionSync', ['0x02', 5000], ['0x02', 5000]],
    ['eth_sendRawTransactionSync', ['0x02', '0x1388'], ['0x02', '0x1388']],
    ['eth_getFilterChanges', ['0x0a'], ['0x0a']],
    ['eth_getFilterChanges', ['0x36424b5a316c53515050666e54434756'], ['0x36424b5a316c53515050666e54434756']],
  ])('%s %o', (method, given, sent) => expect(encodeArguments(method, given)).toEqual(sent))
})

describe('are refused with their path', () => {
  it.each<[method: string, given: unknown[], message: string]>([
    ['debug_traceTransaction', ['0x1'], 'params[0]: expected a hash (32 bytes in hex)'],
    ['debug_traceTransaction', [hash, 'callTracer'], 'params[1]: expected an object with options of the trace, received "callTracer"'],
    ['debug_traceTransaction', [hash, { tracer: 1 }], 'params[1].tracer: expected a string, received 1'],
    ['debug_traceTransaction', [hash, { disableStack: 'yes' }], 'params[1].disableStack: expected true or false'],
    ['debug_traceTransaction', [hash, { limit: 1.5 }], 'params[1].limit: expected a whole number from 0 to 2^53 - 1, received 1.5'],
    ['debug_traceBlockByNumber', [hash], 'params[0]: expected a block number'],
    ['debug_traceTransaction', [hash, { tracerConfig: 'diff' }], 'params[1].tracerConfig: expected an object with options of the tracer, received "diff"'],
    ['debug_traceCall', [{}, 'latest', { blockOverrides: 7 }], 'params[2].blockOverrides: expected an object with fields of the block, received 7'],
    ['debug_traceCall', [{}, 'latest', { stateOverrides: [] }], 'params[2].stateOverrides: expected an object with accounts by address, received an array'],
    ['debug_traceCallMany', [{}, {}], 'params[0]: expected an array, received an object'],
    ['debug_traceCallMany', [[[]], {}], 'params[0][0]: expected a bundle: an object with transactions, received an array'],
    ['debug_traceCallMany', [[], 'latest'], 'params[1]: expected an object with blockNumber and transactionIndex, received "latest"'],
    ['trace_filter', [{ mode: 'any' }], `params[0].mode: expected 'intersection' or 'union', received "any"`],
    ['trace_filter', [{ fromAdress: [address] }], 'params[0]: expected a filter with only fromBlock, toBlock, fromAddress, toAddress, mode, after, count'],
    ['trace_filter', [{ fromAddress: address }], 'params[0].fromAddress: expected an array'],
    ['trace_filter', [[]], 'params[0]: expected a filter object'],
    ['trace_replayTransaction', [hash, ['traces']], `params[1][0]: expected 'trace', 'vmTrace' or 'stateDiff', received "traces"`],
    ['trace_callMany', [[[transfer]]], 'params[0][0]: expected a call object and an array of kinds'],
    ['trace_callMany', [[[{ to: '0x1' }, ['trace']]]], 'params[0][0].to: expected an address'],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [{ to: '0x1' }] }] }], 'params[0].blockStateCalls[0].calls[0].to: expected an address'],
    ['eth_simulateV1', [{}], 'params[0]: expected an object with blockStateCalls, received an object'],
    ['eth_simulateV1', [{ blockStateCalls: [{ blockOverrides: 7 }] }], 'params[0].blockStateCalls[0].blockOverrides: expected an object with fields'],
    ['eth_simulateV1', [[]], 'params[0]: expected an object with blockStateCalls'],
    ['eth_simulateV1', [{ blockStateCalls: [7] }], 'params[0].blockStateCalls[0]: expected an object with calls'],
    ['eth_getStorageValues', [{ '0x1': [0] }], 'params[0]: expected an address (20 bytes in hex), received "0x1"'],
    ['eth_getStorageValues', [{ [address]: 0 }], `params[0].${address}: expected an array`],
    ['eth_getStorageValues', [[]], 'params[0]: expected an object with storage keys by address'],
    ['eth_getFilterLogs', [7], 'params[0]: expected the id of a filter, in hex, received 7'],
    ['eth_sendRawTransactionSync', ['0x02', -5], 'params[1]: expected a whole number from 0 to 2^53 - 1, received -5'],
    ['eth_sendRawTransactionSync', ['0x02', '5s'], 'params[1]: expected a quantity'],
  ])('%s %o', (method, given, message) => expect(() => encodeArguments(method, given)).toThrow(message))
})
