import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecentBlocks } from '../../adapters/recent-blocks.ts'
import { runs } from '../support/runs.ts'

/** A chain by number and hash, and what was asked of it. */
function chainOf(hashes: Readonly<Record<number, string>>) {
  const asked: number[] = []
  const hashAt = async (number: number) => {
    asked.push(number)
    return hashes[number]
  }
  return { asked, hashAt }
}

function blocksOf(from: number, to: number, hash = (number: number) => `a${number}`): RecentBlocks {
  const blocks = new RecentBlocks()
  for (let number = from; number <= to; number++) blocks.add(number, hash(number))
  return blocks
}

describe('blocks', () => {
  test('replace those from their number on, unless they are known', () => {
    const blocks = blocksOf(5, 9)
    blocks.add(7, 'a7')
    expect(blocks.last).toEqual({ number: 9, hash: 'a9' })
    blocks.add(7, 'b7')
    expect(blocks.last).toEqual({ number: 7, hash: 'b7' })
    expect([blocks.has(6, 'a6'), blocks.has(7, 'a7'), blocks.has(8, 'a8')]).toEqual([true, false, false])
  })

  test('are remembered up to 256', () => {
    const blocks = blocksOf(1, 300)
    expect([blocks.has(44, 'a44'), blocks.has(45, 'a45')]).toEqual([false, true])
  })
})

describe('the newest block that the node still has', () => {
  test('is the last one with one question, where nothing has changed', async () => {
    const { asked, hashAt } = chainOf({ 9: 'a9' })
    expect(await blocksOf(1, 9).dropReplaced(hashAt)).toBe(9)
    expect(asked).toEqual([9])
  })

  test('is below all, where none is left', async () => {
    const blocks = blocksOf(5, 9)
    expect(await blocks.dropReplaced(async () => undefined)).toBe(4)
    expect(blocks.last).toBeUndefined()
  })

  test('is found at any depth, also where numbers are missing, and those above are forgotten', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(600), { minLength: 1, maxLength: 256, comparator: 'SameValue' }),
        fc.nat(600),
        fc.boolean(),
        async (unordered, fork, isShorter) => {
          const numbers = unordered.toSorted((a, b) => a - b)
          const blocks = new RecentBlocks()
          for (const number of numbers) blocks.add(number, `a${number}`)
          const kept = await blocks.dropReplaced(async (number) => (number <= fork ? `a${number}` : isShorter ? undefined : `b${number}`))
          const expected = numbers.filter((number) => number <= fork).at(-1)
          expect(kept).toBe(expected ?? (numbers[0] as number) - 1)
          expect(blocks.last?.number).toBe(expected)
        },
      ),
      runs(200),
    )
  })
})
