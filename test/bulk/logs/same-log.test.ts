import { describe, expect, it } from 'vitest'
import { isSameLog } from '../../../src/bulk/logs/same-log.ts'
import type { Log } from '../../../src/eth/objects.ts'

const word = `0x${'1'.repeat(64)}` as const
const other = `0x${'2'.repeat(64)}` as const
const log = { address: `0x${'a'.repeat(40)}`, topics: [word, word], data: '0x', blockHash: word, transactionHash: word } as unknown as Log

describe('two logs', () => {
  it('are the same, whatever the case of their hex', () => {
    const [low, up] = ['ab', 'AB'].map((pair) => {
      const hash = `0x${pair.repeat(32)}`
      return { address: `0x${pair.repeat(20)}`, topics: [hash], data: hash, blockHash: hash, transactionHash: hash } as unknown as Log
    }) as [Log, Log]
    expect(isSameLog(low, up)).toBe(true)
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
