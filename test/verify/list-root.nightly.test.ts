import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { expect, test } from 'vitest'
import { ListRoot } from '../../src/verify/list-root.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'

test('the root of a list that is longer than any block, with keys of four bytes', async () => {
  const items = Array.from({ length: 66_000 }, (_, i) => Uint8Array.of(1 + (i & 127), 2, i >> 16, i >> 8, i))
  const trie = await createMPT()
  for (const [i, item] of items.entries()) await trie.put(RLP.encode(i), item)
  const writer = new RlpWriter()
  const root = new ListRoot(writer).of(items.length, (i) => writer.raw(items[i] as Uint8Array, 0, 5))
  expect(root).toBe(`0x${Buffer.from(trie.root()).toString('hex')}`)
})
