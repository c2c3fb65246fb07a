import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EMPTY_ROOT, ListRoot } from '../../src/verify/list-root.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { runs } from '../support/runs.ts'

const writer = new RlpWriter()
const root = new ListRoot(writer)

function rootOf(items: readonly Uint8Array[]): string {
  return root.of(items.length, (i) => writer.raw(items[i] as Uint8Array, 0, (items[i] as Uint8Array).length))
}

async function oracle(items: readonly Uint8Array[]): Promise<string> {
  const trie = await createMPT()
  for (const [i, item] of items.entries()) await trie.put(RLP.encode(i), item)
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}

/** Values of one length, and of many. A short one stands inside its parent node. */
const lists = fc.oneof(
  fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 300 }),
  fc.array(fc.uint8Array({ minLength: 1, maxLength: 4 }), { maxLength: 300 }),
  fc.array(fc.uint8Array({ minLength: 30, maxLength: 700 }), { maxLength: 40 }),
)

describe('ListRoot', () => {
  test('gives the root of @ethereumjs/mpt for any list', async () => {
    await fc.assert(
      fc.asyncProperty(lists, async (items) => {
        expect(rootOf(items)).toBe(await oracle(items))
      }),
      runs(60),
    )
  })

  // Where keys become longer, and where a branch gets its second child.
  test.each([0, 1, 2, 15, 16, 17, 127, 128, 129, 130, 143, 144, 255, 256, 257, 258, 272, 511, 512, 513])('gives the root of a list of %d', async (length) => {
    const items = Array.from({ length }, (_, i) => new Uint8Array(33).fill(i % 251))
    expect(rootOf(items)).toBe(await oracle(items))
    const short = items.map((item) => item.subarray(0, 2))
    expect(rootOf(short)).toBe(await oracle(short))
  })

  test('asks once for each item', () => {
    const asked: number[] = []
    root.of(300, (i) => {
      asked.push(i)
      writer.byte(7)
    })
    expect([...asked].sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i))
  })

  test('of an empty list is the one of an empty trie', async () => {
    expect(rootOf([])).toBe(EMPTY_ROOT)
    expect(EMPTY_ROOT).toBe(await oracle([]))
  })
})
