import {
  Contract,
  type ContractEventPayload,
  type EventFilter,
  id,
  type JsonRpcProvider,
  type Log,
  type TransactionReceipt,
  toBeHex,
  zeroPadValue,
} from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, collector, ethersFlows, lineUrl } from '../../support/ethers-flows.ts'
import { collectible, collectibleAbi, putContracts, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'

const flow = ethersFlows(putContracts)

const transferred = id('Transfer(address,address,uint256)')
const topicOf = (address: string) => zeroPadValue(address, 32)

const sent = ({ ask }: Bed, to: string, data: string, from = alice) => ask<string>('eth_sendTransaction', { from, to, data, gas: toBeHex(100_000) })
const transfer = (bed: Bed, amount: number, from = alice) => sent(bed, token, tokenAbi.encodeFunctionData('transfer', [carol, amount]), from)
const amountOf = ({ data }: Log) => Number(data)

const isOverWebSocket = lineUrl()('http://node').startsWith('ws:')
/** Hexline over a WebSocket requests logs by itself, whichever way is asked for. */
const isLive = ({ isHexline }: Bed) => isHexline && isOverWebSocket
const whenLive = ({ answered }: Bed) => Promise.all([answered('eth_blockNumber'), answered('eth_getBlockByNumber')])

/** Ways to listen to a contract's events. */
interface Way {
  makeProvider(bed: Bed): JsonRpcProvider
  /** Resolves when the next listener is active. */
  ready(bed: Bed): Promise<unknown>
  /** The method that is called at each new block. */
  looks(bed: Bed): string
  mineUntil<T>(bed: Bed, done: Promise<T>): Promise<T>
}

const ways: Record<string, Way> = {
  'by a filter of the node': {
    makeProvider: ({ provider }) => provider,
    async ready(bed) {
      if (isLive(bed)) return whenLive(bed)
      await bed.answered('eth_getFilterChanges')
      // It has polled, and waits for a block.
      await bed.answered('eth_blockNumber')
    },
    looks: (bed) => (isLive(bed) ? 'eth_getLogs' : 'eth_getFilterChanges'),
    mineUntil: ({ mineUntil }, done) => mineUntil(done),
  },
  'by polling': {
    makeProvider: ({ make }) => make({ polling: true }),
    // The listener's own, and that of the block events below it.
    ready: (bed) => (isLive(bed) ? whenLive(bed) : bed.answered('eth_blockNumber', 2)),
    looks: () => 'eth_getLogs',
    // ethers requests logs at each block, and emits them twice when the next block comes before the
    // reply.
    mineUntil: ({ mineUntil }, done) => mineUntil(done, 'eth_getLogs'),
  },
}

for (const [way, { makeProvider, ready, looks, mineUntil }] of Object.entries(ways)) {
  /** Starts listening, and resolves to the provider once that is effective. */
  const listen = async (bed: Bed, begin: (provider: JsonRpcProvider) => Promise<unknown>, provider = makeProvider(bed)) => {
    const active = ready(bed)
    await begin(provider)
    await active
    return provider
  }

  describe(`events ${way}`, () => {
    const filters: [string, EventFilter, number[]][] = [
      ['an address', { address: token }, [1, 2, 3]],
      ['an address and a topic', { address: token, topics: [transferred, topicOf(bob.address)] }, [2]],
      ['topics alone, with alternatives', { topics: [transferred, [topicOf(alice), topicOf(bob.address)], topicOf(carol)] }, [1, 2, 3]],
    ]
    for (const [name, filter, amounts] of filters)
      flow(
        `on ${name} tells each log once`,
        async (bed) => {
          const seen = collector<Log>(amounts.length)
          await listen(bed, (provider) => provider.on(filter, (log) => seen.add(log)))
          await sent(bed, collectible, collectibleAbi.encodeFunctionData('mint', [carol]))
          await transfer(bed, 1)
          const looked = bed.answered(looks(bed))
          await bed.mine()
          await looked
          await transfer(bed, 2, bob.address)
          await transfer(bed, 3)
          const logs = await mineUntil(bed, seen.all)
          await bed.mine()
          return { logs, count: seen.values.length }
        },
        ({ logs, count }) => {
          expect(logs.map(amountOf)).toEqual(amounts)
          expect(count).toBe(amounts.length)
        },
      )

    flow(
      'contract.on passes the arguments and a payload',
      async (bed) => {
        const seen = collector<unknown[]>(2)
        let contract = new Contract(token, tokenAbi)
        await listen(bed, (provider) => {
          contract = new Contract(token, tokenAbi, provider)
          return contract.on('Transfer', (...args) => seen.add(args))
        })
        await transfer(bed, 11)
        await transfer(bed, 12)
        const told = await mineUntil(bed, seen.all)
        const listening = [await contract.listenerCount('Transfer'), await contract.listenerCount()]
        await contract.removeAllListeners()
        const payloads = told.map((args) => args.at(-1) as ContractEventPayload)
        return {
          args: told.map((args) => args.slice(0, -1)),
          logs: payloads.map(({ log, eventName, eventSignature, args, fragment }) => [log, eventName, eventSignature, args, fragment.format()]),
          block: await payloads[0]?.getBlock(),
          listening: [...listening, await contract.listenerCount()],
        }
      },
      ({ args, listening }) => {
        expect(args).toEqual([11n, 12n].map((amount) => [alice, carol, amount]))
        expect(listening).toEqual([1, 1, 0])
      },
    )

    flow(
      'contract.once with arguments, and contract.off',
      async (bed) => {
        const [once, all, off] = [collector<bigint>(1), collector<bigint>(3), collector<bigint>(1)]
        let contract = new Contract(token, tokenAbi)
        await listen(bed, async (provider) => {
          contract = new Contract(token, tokenAbi, provider)
          const ended = (_: string, __: string, amount: bigint) => off.add(amount)
          await contract.on('Transfer', ended)
          await contract.off('Transfer', ended)
          await contract.once('Transfer', (_, __, amount) => once.add(amount))
          await contract.on('Transfer', (_, __, amount) => all.add(amount))
        })
        for (const amount of [21, 22, 23]) await transfer(bed, amount)
        const amounts = await mineUntil(bed, all.all)
        return { amounts, once: once.values, off: off.values, left: await contract.listenerCount('Transfer') }
      },
      (told) => expect(told).toEqual({ amounts: [21n, 22n, 23n], once: [21n], off: [], left: 1 }),
    )

    flow(
      'off ends them, and the next listener starts fresh',
      async (bed) => {
        const filter = { address: token }
        const first = collector<Log>(1)
        const listener = (log: Log) => first.add(log)
        const provider = await listen(bed, (each) => each.on(filter, listener))
        await transfer(bed, 31)
        await mineUntil(bed, first.all)
        await provider.off(filter, listener)
        const between = await provider.listenerCount(filter)
        await transfer(bed, 32)
        await bed.mine()
        const second = collector<Log>(1)
        await listen(bed, (each) => each.on(filter, (log) => second.add(log)), provider)
        await transfer(bed, 33)
        const later = await mineUntil(bed, second.all)
        return { first: first.values.map(amountOf), between, later: later.map(amountOf) }
      },
      (told) => expect(told).toEqual({ first: [31], between: 0, later: [33] }),
    )
  })
}

describe('blocks and transactions', () => {
  flow(
    "on('block') tells each number once, in order",
    async ({ provider, ask, mine, answered }) => {
      const seen = collector<number>(5)
      const ready = answered('eth_blockNumber')
      await provider.on('block', (number) => seen.add(number))
      await ready
      await mine()
      await ask('anvil_mine', '0x4')
      return seen.all
    },
    (numbers) => expect(numbers).toEqual([1, 2, 3, 4, 5]),
  )

  flow(
    "once('block') tells one, beside a listener that goes on",
    async ({ provider, ask, answered }) => {
      const [once, all] = [collector<number>(1), collector<number>(3)]
      const ready = answered('eth_blockNumber')
      await provider.once('block', (number) => once.add(number))
      await provider.on('block', (number) => all.add(number))
      await ready
      await ask('anvil_mine', '0x3')
      return { all: await all.all, once: once.values, left: await provider.listenerCount('block') }
    },
    (told) => expect(told).toEqual({ all: [1, 2, 3], once: [1], left: 1 }),
  )

  flow(
    'on(hash) emits the receipt once mined',
    async (bed) => {
      const seen = collector<TransactionReceipt>(1)
      const hash = await transfer(bed, 41)
      const ready = bed.answered('eth_getTransactionReceipt')
      await bed.provider.on(hash, (receipt) => seen.add(receipt))
      await ready
      const [receipt] = await bed.mineUntil(seen.all)
      return { hash, receipt }
    },
    ({ hash, receipt }) => expect(receipt).toMatchObject({ hash, status: 1, blockNumber: 1 }),
  )

  flow(
    "on('pending') tells what is sent",
    async (bed) => {
      const seen = collector<string>(3)
      const ready = bed.answered('eth_getFilterChanges')
      await bed.provider.on('pending', (hash) => seen.add(hash))
      await ready
      const hashes = [await transfer(bed, 51), await transfer(bed, 52), await transfer(bed, 53)]
      return { hashes, told: await bed.mineUntil(seen.all) }
    },
    ({ hashes, told }) => expect(told).toEqual(hashes),
  )

  flow(
    "on('safe') and on('finalized') tell what they have come to",
    async (bed) => {
      await bed.ask('anvil_mine', toBeHex(70))
      const [safe, finalized] = [collector<number>(1), collector<number>(1)]
      const ready = bed.answered('eth_getBlockByNumber', 2)
      await bed.provider.on('safe', (number) => safe.add(number))
      await bed.provider.on('finalized', (number) => finalized.add(number))
      await ready
      const told = await bed.mineUntil(Promise.all([safe.all, finalized.all]))
      return told.flat().map((number) => number > 0)
    },
    (told) => expect(told).toEqual([true, true]),
  )
})
