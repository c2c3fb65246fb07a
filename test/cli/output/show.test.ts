import { describe, expect, it } from 'vitest'
import { forPerson } from '../../../src/cli/output/show.ts'

const HASH = `0x${'ab'.repeat(32)}`
const BYTES = `0x${'ab'.repeat(100)}`

describe('a value', () => {
  it.each<[unknown, string, boolean, string]>([
    [10n ** 18n + 5n * 10n ** 17n, 'eth_getBalance', true, '1500000000000000000 wei (1.5 ether)'],
    [1n, 'value', true, '1 wei (0.000000000000000001 ether)'],
    [0n, 'value', true, '0'],
    [10n ** 18n, 'value', true, '1000000000000000000 wei (1 ether)'],
    [20_000_000_001n, 'eth_gasPrice', true, '20000000001 wei (20.000000001 gwei)'],
    [1_700_000_000n, 'timestamp', true, '1700000000 (2023-11-14T22:13:20Z)'],
    [253_402_300_800n, 'timestamp', true, '253402300800'],
    [5n, 'eth_blockNumber', true, '5'],
    [HASH, 'hash', true, HASH],
    [BYTES, 'input', true, '0xabababababababab…abababab (100 bytes)'],
    [BYTES, 'input', false, BYTES],
    [[], 'logs', true, 'none'],
    [{}, 'x', true, '{}'],
    [null, 'x', true, 'null'],
    ['a\u001b[2Jb\nc', 'x', true, 'a [2Jb c'],
  ])('%s of %s, on a terminal: %s', (value, name, isTerminal, shown) => {
    expect(forPerson(value, name, isTerminal)).toBe(shown)
  })
})

describe('an object', () => {
  it('has a line for each field, aligned, and its parts indented below', () => {
    const block = { number: 5n, gasUsed: 21000n, withdrawals: [], transactions: [{ hash: '0x1', value: 0n }, '0x2'] }
    expect(forPerson(block, 'eth_getBlockByNumber', true).split('\n')).toEqual([
      'number        5',
      'gasUsed       21000',
      'withdrawals   none',
      'transactions',
      '  0',
      '    hash   0x1',
      '    value  0',
      '  1  0x2',
    ])
  })

  it('is not aligned after a name of more than 40 characters', () => {
    expect(forPerson({ ['x'.repeat(100)]: 1, a: 2 }, 'x', true).split('\n')[1]).toBe(`a${' '.repeat(39)}  2`)
  })

  it('is refused if nested more than 100 levels', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
    expect(forPerson(nested(101), 'x', true).split('\n')).toHaveLength(101)
    expect(() => forPerson(nested(102), 'x', true)).toThrow(RangeError)
  })
})
