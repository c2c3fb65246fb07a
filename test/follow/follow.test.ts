import { describe, expect, expectTypeOf, it } from 'vitest'
import { type Client, createClient, type Hash, type MinedTransaction, type Receipt } from '../../src/index.ts'
import { type FollowCursor, type FollowProgress, follow, type MinedLog } from '../../src/index-bulk.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { clientOf, serve } from '../support/server.ts'

describe('options are checked at once', () => {
  const client = createClient('http://127.0.0.1:1')
  it.each([
    [undefined, 'options: expected an object, received undefined'],
    [{}, "from: expected a block number, 'latest', or a cursor, received undefined"],
    [{ from: 'finalized' }, `from: expected a block number, 'latest', or a cursor, received "finalized"`],
    [{ from: -1 }, "from: expected a block number, 'latest', or a cursor, received -1"],
    [{ from: 2n ** 60n }, 'from: expected a block number of at most 2^53 - 1, received 1152921504606846976n'],
    [{ from: { number: 3 } }, 'from.chainId: expected a whole number of at least 0, received undefined'],
    [{ from: 0, cursor: {} }, 'cursor: expected undefined (it is given as `from`), received an object'],
    [{ from: 0, to: 'latest' }, 'to: expected undefined (it has no end; use getBlocks for a range), received a string'],
    [
      { from: 0, log: true },
      'options: expected only from, logs, transactions, receipts, confirmations, signal, onProgress, received "log" (did you mean `logs`?)',
    ],
    [{ from: 0, logs: 'all' }, 'logs: expected an object, true or false, received a string'],
    [{ from: 0, logs: { event: 'x' } }, 'logs: expected only address, topics, received "event"'],
    [{ from: 0, logs: { address: [] } }, 'address: expected at least one address; omit the option for logs of all addresses, received an empty array'],
    [{ from: 0, transactions: true }, "transactions: expected 'full' or 'hashes', received true"],
    [{ from: 0, receipts: 1 }, 'receipts: expected true or false, received 1'],
    [{ from: 0, confirmations: -1 }, "confirmations: expected a whole number of at least 0, 'safe' or 'finalized', received -1"],
    [{ from: 0, confirmations: 'latest' }, `confirmations: expected a whole number of at least 0, 'safe' or 'finalized', received "latest"`],
    [{ from: 0, signal: {} }, 'signal: expected an AbortSignal, received an object'],
    [{ from: 0, onProgress: 1 }, 'onProgress: expected a function, received 1'],
  ])('%#: %o', (options, message) => {
    expect(() => follow(client, options as never)).toThrow(expect.objectContaining({ name: 'OptionError', message }))
  })

  it('anything but a client', () => {
    expect(() => follow('http://127.0.0.1:1/KEY' as never, { from: 0 })).toThrow('client: expected a client, as createClient returns it, received a string')
  })
})

it('items are decoded, and progress is reported for each', async () => {
  const chain = new ForkingChain(5, () => 1)
  const server = await serve(chain.node())
  const seen: FollowProgress[] = []
  const onProgress = (progress: FollowProgress) => void seen.push(progress)
  const items: unknown[] = []
  for await (const item of follow(clientOf(server.url), { from: 4n, logs: true, receipts: true, onProgress })) {
    items.push(item)
    if (item.type === 'rollback') continue
    if (item.block.number === 5n && items.length === 2) chain.reorganise(1)
    if (item.block.number === 6n) break
  }
  const [four, , rollback] = items
  const hash = chain.hashes[4]
  expect(four).toMatchObject({
    type: 'block',
    block: { number: 4n, hash, transactions: [expect.any(String)], receipts: [{ blockHash: hash, status: 1 }] },
    cursor: { chainId: 1, genesis: chain.hashes[0], from: 4, number: 4, hashes: [hash] },
  })
  const logsOf = (item: unknown) => (item as { logs?: MinedLog[] }).logs?.map(({ blockNumber, logIndex }) => [Number(blockNumber), logIndex])
  expect(logsOf(four)).toEqual(Array.from({ length: chain.blocks[4]?.logs ?? 0 }, (_, i) => [4, i]))
  expect(logsOf(items.at(-1))).toEqual(Array.from({ length: chain.blocks[6]?.logs ?? 0 }, (_, i) => [6, i]))
  expect(rollback).toMatchObject({ type: 'rollback', to: 4n, blocks: [{ number: 5n, hash: expect.any(String) }], cursor: { number: 4, hashes: [hash] } })
  // Not told of the item that the loop was left with.
  expect(seen.map(({ number, head, blocks, rollbacks }) => [number, head, blocks, rollbacks])).toEqual([
    [4n, 5n, 1, 0],
    [5n, 5n, 2, 0],
    [4n, 6n, 2, 1],
    [5n, 6n, 3, 1],
  ])
})

it('its types follow from the options', () => {
  const client = undefined as unknown as Client
  type Items<T> = T extends AsyncIterable<infer I> ? I : never
  type Block<T> = Extract<Items<T>, { type: 'block' }>
  const plain = () => follow(client, { from: 0 })
  const all = () => follow(client, { from: {} as FollowCursor, logs: { address: [] }, transactions: 'full', receipts: true, confirmations: 'safe' })
  expectTypeOf<Block<ReturnType<typeof plain>>['block']['transactions']>().toEqualTypeOf<Hash[]>()
  expectTypeOf<keyof Block<ReturnType<typeof plain>>>().toEqualTypeOf<'type' | 'block' | 'cursor'>()
  expectTypeOf<Block<ReturnType<typeof all>>['block']['transactions']>().toEqualTypeOf<MinedTransaction[]>()
  expectTypeOf<Block<ReturnType<typeof all>>['block']['receipts']>().toEqualTypeOf<Receipt[]>()
  expectTypeOf<Block<ReturnType<typeof all>>['logs']>().toEqualTypeOf<MinedLog[]>()
})
