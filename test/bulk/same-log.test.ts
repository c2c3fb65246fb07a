import { describe, expect, it } from 'vitest'
import { isSameLog } from '../../src/bulk/same-log.ts'
import type { Log } from '../../src/eth/objects.ts'

const word = `0x${'1'.repeat(64)}` as const
const other = `0x${'2'.repeat(64)}` as const
const log = { address: `0x${'a'.repeat(40)}`, topics: [word, word], data: '0x', blockHash: word, transactionHash: word } as unknown as Log

describe('two logs', () => {
  it('are the same, whatever the case of their address', () => {
    expect(isSameLog(log, { ...log, address: log.address.toUpperCase() as never, topics: [word, word] })).toBe(true)
  })

  it.each([
    { address: `0x${'b'.repeat(40)}` },
    { topics: [word] },
    { topics: [word, other] },
    { data: '0x00' },
    { blockHash: other },
    { transactionHash: other },
  ])('differ by %j', (change) => {
    expect(isSameLog(log, { ...log, ...change } as Log)).toBe(false)
  })
})
