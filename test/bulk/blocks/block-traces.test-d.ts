import { expectTypeOf, test } from 'vitest'
import type { Block, BlockTrace, CallFrame, Client, Hash, Receipt, Trace } from '../../../src/index.ts'
import { getBlocks } from '../../../src/index-bulk.ts'

declare const client: Client

test('blocks have the traces that were asked for', async () => {
  for await (const block of getBlocks(client, { from: 1n, to: 2n, traces: 'callTracer' })) {
    expectTypeOf(block.traces).toEqualTypeOf<BlockTrace<CallFrame>[]>()
    expectTypeOf(block.transactions).toEqualTypeOf<Hash[]>()
  }
  for await (const block of getBlocks(client, { from: 1n, to: 2n, traces: 'parity', receipts: true, fields: ['gasUsed'] })) {
    expectTypeOf(block.traces).toEqualTypeOf<Trace[]>()
    expectTypeOf(block.gasUsed).toEqualTypeOf<bigint>()
  }
  for await (const block of getBlocks(client, { from: 1n, to: 2n, receipts: true })) {
    expectTypeOf(block).toEqualTypeOf<Block<false> & { receipts: Receipt[] }>()
    // @ts-expect-error traces were not asked for
    block.traces
  }
})
