import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkCursor, checkSameChain, cursorAt, isCursor } from '../../src/follow/cursor.ts'
import { HELD } from '../../src/follow/held-chain.ts'
import { OptionError } from '../../src/index.ts'
import { runs } from '../support/runs.ts'

const hash = (digit: string): `0x${string}` => `0x${digit.repeat(64)}`
const cursor = { chainId: 1, genesis: hash('0'), from: 5, number: 7, hashes: [hash('7'), hash('6'), hash('5')] }

it('is plain JSON that is taken again as it is', () => {
  expect(checkCursor(JSON.parse(JSON.stringify(cursorAt({ chainId: 1, genesis: hash('0') }, cursor))), 'from')).toEqual(cursor)
  const before = { chainId: null, genesis: null, from: 5, number: 4, hashes: [] }
  expect(checkCursor(before, 'from')).toEqual(before)
  expect([isCursor(cursor), isCursor(5n), isCursor('latest'), isCursor(null)]).toEqual([true, false, false, false])
})

describe('what is wrong with a cursor is reported at once', () => {
  it.each([
    [[], 'from: expected an object, received an array of 0'],
    [{ ...cursor, hash: 1 }, 'from: expected only chainId, genesis, from, number, hashes, received "hash"'],
    [{ ...cursor, chainId: undefined }, 'from.chainId: expected a whole number of at least 0, received undefined'],
    [{ ...cursor, genesis: '0x12' }, 'from.genesis: expected a hash (32 bytes in hex), received "0x12"'],
    [{ ...cursor, from: -1 }, 'from.from: expected a whole number of at least 0, received -1'],
    [{ ...cursor, number: 3 }, 'from.number: expected a whole number of at least 4, received 3'],
    [{ ...cursor, number: '7' }, 'from.number: expected a whole number of at least 4, received "7"'],
    [{ ...cursor, hashes: {} }, 'from.hashes: expected an array of block hashes, received an object'],
    [{ ...cursor, hashes: [] }, 'from.hashes: expected from 1 to 3 hashes, newest first, received 0'],
    [{ ...cursor, from: 9, number: 9, hashes: [] }, 'from.hashes: expected 1 hash, received 0'],
    [{ ...cursor, number: 6 }, 'from.hashes: expected from 1 to 2 hashes, newest first, received 3'],
    [{ ...cursor, number: 4 }, 'from.hashes: expected no hashes before the first block, received 3'],
    [{ ...cursor, number: 4, hashes: [], chainId: 'x' }, 'from.chainId: expected a whole number of at least 0, received "x"'],
    [{ ...cursor, hashes: [hash('7'), 'z'] }, 'from.hashes[1]: expected a hash (32 bytes in hex), received "z"'],
  ])('%j', (value, message) => {
    expect(() => checkCursor(value, 'from')).toThrow(expect.objectContaining({ name: 'OptionError', message }))
  })

  it('more hashes than are held', () => {
    const long = { ...cursor, number: 5 + HELD + 9, hashes: Array.from({ length: HELD + 1 }, () => hash('7')) }
    expect(() => checkCursor(long, 'from')).toThrow('from.hashes: expected from 1 to 256 hashes, newest first, received 257')
  })

  it('never with another error', () => {
    const some = fc.oneof(
      fc.anything(),
      fc.record({ chainId: fc.anything(), genesis: fc.anything(), from: fc.anything(), number: fc.anything(), hashes: fc.anything() }),
    )
    fc.assert(
      fc.property(some, (value) => {
        try {
          checkCursor(value, 'from')
        } catch (error) {
          expect(error).toBeInstanceOf(OptionError)
        }
      }),
      runs(500),
    )
  })
})

it('belongs to a chain, as far as both sides know it', () => {
  const same = (node: Partial<typeof cursor>) => checkSameChain(cursor, { ...cursor, ...node } as never, 'from')
  expect(() => same({})).not.toThrow()
  expect(() => same({ chainId: null as never, genesis: null as never })).not.toThrow()
  expect(() => same({ chainId: 2 })).toThrow("from: expected a cursor of the node's chain (chain id 2), received one of chain id 1")
  expect(() => same({ genesis: hash('9') })).toThrow(
    `from: expected a cursor of the node's chain, which begins with ${hash('9')}, received one that begins with ${hash('0')}`,
  )
})
