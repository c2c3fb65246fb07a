import { describe, expect, it } from 'vitest'
import { logFault } from '../../../src/bulk/logs/log-fault.ts'
import type { Log } from '../../../src/eth/objects.ts'

const word = `0x${'1'.repeat(64)}` as const
const log: Log = {
  address: `0x${'a'.repeat(40)}`,
  topics: [word],
  data: '0x',
  blockHash: word,
  blockNumber: 1n,
  transactionHash: word,
  transactionIndex: 0,
  logIndex: 0,
  removed: false,
}

describe('a log of a mined block', () => {
  it('has everything', () => {
    expect(logFault(log)).toBe(undefined)
    expect(logFault({ ...log, topics: [], removed: undefined as never })).toBe(undefined)
  })

  it.each([
    [{ address: null }, 'has no address'],
    [{ address: '0x12' }, 'has no address'],
    [{ topics: null }, 'has no valid topics'],
    [{ topics: [word, null] }, 'has no valid topics'],
    [{ topics: ['0x12'] }, 'has no valid topics'],
    [{ data: null }, 'has no data'],
    [{ blockHash: null }, 'has no block hash'],
    [{ blockHash: `${word}1` }, 'has no block hash'],
    [{ transactionHash: null }, 'has no transaction'],
    [{ transactionIndex: null }, 'has no transaction'],
    [{ logIndex: null }, 'has no index'],
    [{ removed: true }, 'is of a block that is no longer part of the chain'],
  ])('is not one with %j', (change, fault) => {
    expect(logFault({ ...log, ...change } as Log)).toBe(fault)
  })
})
