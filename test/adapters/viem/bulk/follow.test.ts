import { bulkActions, hexline } from 'hexline/viem'
import { createPublicClient, parseAbiItem, webSocket } from 'viem'
import { foundry } from 'viem/chains'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { LOGGING, startAnvilForks } from '../../../support/anvil-forks.ts'
import { Replay, type ReplayItem } from '../../../support/replay.ts'

const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')

function clientOf(url: string) {
  const client = createPublicClient({ chain: foundry, transport: hexline(url) }).extend(bulkActions())
  onTestFinished(() => client.transport.client.close())
  return client
}

describe.each([
  { over: 'HTTP', of: (url: string) => url },
  { over: 'a WebSocket', of: (url: string) => url.replace('http', 'ws') },
])('over $over', ({ of }) => {
  it('blocks and logs are those of getBlock and getLogs, through a reorganisation', async () => {
    const chain = await startAnvilForks(1)
    await chain.mine(8)
    const client = clientOf(of(chain.url))
    const replay = new Replay(3)
    const blocks = new Map<string, object>()
    let isReorganised = false
    for await (const item of client.follow({ fromBlock: 3n, logs: { address: LOGGING, event: transfer }, includeTransactions: true })) {
      replay.apply(item as ReplayItem)
      if (item.type === 'block') blocks.set(item.block.hash, item.block)
      if (replay.next === 9 && !isReorganised) {
        isReorganised = true
        await chain.reorganise(4, 6)
      }
      if (isReorganised && replay.next === 11) break
    }
    expect(replay.rollbacks).toBe(1)
    const hashes = await chain.hashes(3)
    expect(replay.hashes).toEqual(hashes)
    for (const blockHash of hashes)
      expect(blocks.get(blockHash)).toEqual(await client.getBlock({ blockHash: blockHash as `0x${string}`, includeTransactions: true }))
    const logs = await client.getLogs({ address: LOGGING, event: transfer, fromBlock: 3n })
    expect(replay.logs.flat()).toEqual(logs)
    expect(logs.length).toBeGreaterThan(3)
  })

  it('receipts are those of getTransactionReceipt, and logs come from them', async () => {
    const chain = await startAnvilForks(2)
    await chain.mine(6)
    const client = clientOf(of(chain.url))
    const logs = await client.getLogs({ address: LOGGING, event: transfer, fromBlock: 2n })
    const got: object[] = []
    for await (const item of client.follow({ fromBlock: 2n, includeReceipts: true, logs: { address: LOGGING, event: transfer } })) {
      if (item.type === 'rollback') throw new Error('there is none')
      got.push(...item.logs)
      const [hash] = item.block.transactions
      expect(item.block.receipts).toEqual([await client.getTransactionReceipt({ hash: hash as `0x${string}` })])
      if (item.block.number === 6n) break
    }
    expect(got).toEqual(logs)
  })
})

it('types follow from the parameters', () => {
  const client = undefined as unknown as ReturnType<typeof clientOf>
  type Items<T> = T extends AsyncIterable<infer I> ? Extract<I, { type: 'block' }> : never
  const plain = () => client.follow({ fromBlock: 0n })
  const events = () => client.follow({ fromBlock: 'latest', logs: { event: transfer, strict: true }, includeTransactions: true })
  expectTypeOf<keyof Items<ReturnType<typeof plain>>>().toEqualTypeOf<'type' | 'block' | 'cursor'>()
  expectTypeOf<Items<ReturnType<typeof plain>>['block']['number']>().toEqualTypeOf<bigint>()
  expectTypeOf<Items<ReturnType<typeof events>>['logs'][number]['args']['value']>().toEqualTypeOf<bigint>()
})

describe('parameters are checked at once, by their names in viem', () => {
  it.each([
    [{}, "fromBlock: expected a block number, 'latest', or a cursor, received undefined"],
    [{ fromBlock: { chainId: -1 } }, 'fromBlock.chainId: expected a whole number of at least 0, received -1'],
    [{ fromBlock: 0n, from: 1n }, 'from: expected undefined (it is called `fromBlock` here), received 1n'],
    [
      { fromBlock: 0n, logs: { abi: [], eventName: 'Transfer' } },
      'abi: expected undefined (give the event itself: `event: getAbiItem({ abi, name })`), received an array of 0',
    ],
    [{ fromBlock: 0n, logs: { adress: LOGGING } }, 'logs: expected only address, event, events, args, strict, received "adress" (did you mean `address`?)'],
    [{ fromBlock: 0n, logs: 5 }, 'logs: expected an object, true or false, received 5'],
    [{ fromBlock: 0n, logs: { events: [] } }, 'events: expected at least one event; omit the parameter for all logs, received an empty array'],
    [{ fromBlock: 0n, includeReceipts: 1 }, 'includeReceipts: expected true or false, received 1'],
    [{ fromBlock: 0n, includeTransactions: 1 }, 'includeTransactions: expected true or false, received 1'],
    [{ fromBlock: 0n, confirmations: 'no' }, `confirmations: expected a whole number of at least 0, 'safe' or 'finalized', received "no"`],
  ])('%#: %o', (parameters, message) => {
    expect(() => clientOf('http://127.0.0.1:1').follow(parameters as never)).toThrow(expect.objectContaining({ name: 'OptionError', message }))
  })

  it("viem's own transport is refused", () => {
    const client = createPublicClient({ transport: webSocket('ws://127.0.0.1:1') })
    expect(() => client.extend(bulkActions())).toThrow('transport: expected hexline(), received webSocket, which bulkActions cannot use')
  })
})
