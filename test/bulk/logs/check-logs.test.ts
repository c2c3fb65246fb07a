import { describe, expect, test } from 'vitest'
import { checkLogs, sortLogs } from '../../../src/bulk/logs/check-logs.ts'
import type { CheckedFilter } from '../../../src/bulk/logs/log-filter.ts'
import type { Log } from '../../../src/eth/objects.ts'

const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const
const log = (block: number, logIndex: number, changes: Partial<Log> = {}) =>
  ({
    address: `0x${'11'.repeat(20)}`,
    topics: [],
    data: '0x',
    blockNumber: BigInt(block),
    blockHash: word(block),
    transactionHash: word(1),
    transactionIndex: 0,
    logIndex,
    removed: false,
    ...changes,
  }) as Log
const itself = (each: Log) => each
const filterOf = (matches: (log: Log) => boolean) => ({ matches }) as unknown as CheckedFilter
const check = (logs: Log[], matches = (_: Log) => true) => checkLogs(logs, { from: 5, to: 9 }, filterOf(matches), itself)

describe('logs that a node gave', () => {
  test('are the same array where they are in order', () => {
    const logs = [log(5, 0), log(5, 1), log(9, 0)]
    expect(check(logs)).toBe(logs)
  })

  test('are put in order, each once', () => {
    expect(check([log(6, 1), log(5, 0), log(6, 0), log(5, 0)])).toEqual([log(5, 0), log(6, 0), log(6, 1)])
  })

  test.each([
    ['of a block before', [log(4, 0)], 'requested logs of blocks 5 to 9, but received one of block 4'],
    ['of a block after', [log(10, 0)], 'requested logs of blocks 5 to 9, but received one of block 10'],
    ['of no block yet', [log(5, 0, { blockNumber: null })], 'requested logs of blocks 5 to 9, but received one of a pending block'],
    ['without an address', [log(5, 0, { address: null as never })], 'block 5: log 0 has no address'],
    ['of two blocks with one number', [log(5, 0), log(5, 1, { blockHash: word(99) })], `block 5: its logs are those of two blocks, ${word(5)} and ${word(99)}`],
    ['that differ in one place', [log(5, 0), log(5, 0, { data: '0x01' })], 'block 5: log 0 came twice, and differs'],
  ])('are refused %s', (_, logs, message) => {
    expect(() => check(logs)).toThrow(message)
  })

  test('are refused where the filter does not select them', () => {
    expect(() => check([log(5, 0)], () => false)).toThrow('block 5: log 0 does not match the filter')
  })
})

test('sortLogs leaves what it is given as it is', () => {
  const logs = [log(6, 0), log(5, 0)]
  expect(sortLogs(logs, itself)).toEqual([log(5, 0), log(6, 0)])
  expect(logs).toEqual([log(6, 0), log(5, 0)])
})
