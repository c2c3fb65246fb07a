import { Contract, type ContractEventPayload, id, type Log, type TransactionReceipt, toBeHex } from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, collector, ethersFlows } from '../../support/ethers-flows.ts'
import { putContracts, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'

const flow = ethersFlows(putContracts, { over: 'webSocket' })

const transfer = ({ ask }: Bed, amount: number) =>
  ask<string>('eth_sendTransaction', { from: alice, to: token, data: tokenAbi.encodeFunctionData('transfer', [carol, amount]), gas: toBeHex(100_000) })

/**
 * Starts to listen; resolves once that is effective: ethers has subscribed, hexline knows the head.
 */
async function listen({ isHexline, provider, answered }: Bed, begin: () => Promise<unknown>, hexlineAsks: readonly string[]): Promise<void> {
  // ethers loses an event that comes before it knows the network.
  if (!isHexline) await provider.getNetwork()
  const ready = isHexline ? Promise.all(hexlineAsks.map((method) => answered(method))) : answered('eth_subscribe')
  await begin()
  await ready
}
const BLOCKS = ['eth_blockNumber']
const LOGS = ['eth_blockNumber', 'eth_getBlockByNumber']

describe('listening over a WebSocket, as with WebSocketProvider', () => {
  flow(
    "on('block') tells each number once, in order",
    async (bed) => {
      const seen = collector<number>(5)
      await listen(bed, () => bed.provider.on('block', (number) => seen.add(number)), BLOCKS)
      await bed.mine()
      await bed.ask('anvil_mine', '0x4')
      return seen.all
    },
    (numbers) => expect(numbers).toEqual([1, 2, 3, 4, 5]),
  )

  flow(
    "once('block') tells one, beside a listener that goes on",
    async (bed) => {
      const [once, all] = [collector<number>(1), collector<number>(3)]
      const begin = async () => {
        await bed.provider.once('block', (number) => once.add(number))
        await bed.provider.on('block', (number) => all.add(number))
      }
      await listen(bed, begin, BLOCKS)
      await bed.ask('anvil_mine', '0x3')
      return { all: await all.all, once: once.values, left: await bed.provider.listenerCount('block') }
    },
    (told) => expect(told).toEqual({ all: [1, 2, 3], once: [1], left: 1 }),
  )

  flow(
    'on(filter) tells each log once, without looking for new blocks',
    async (bed) => {
      const seen = collector<Log>(3)
      await listen(bed, () => bed.provider.on({ address: token, topics: [id('Transfer(address,address,uint256)')] }, (log) => seen.add(log)), LOGS)
      await transfer(bed, 1)
      await bed.mine()
      await transfer(bed, 2)
      await transfer(bed, 3)
      await bed.mine()
      return seen.all
    },
    (logs) => expect(logs.map(({ data }) => Number(data))).toEqual([1, 2, 3]),
  )

  flow(
    'contract.on passes the arguments and a payload, and contract.off ends it',
    async (bed) => {
      const seen = collector<unknown[]>(2)
      const contract = new Contract(token, tokenAbi, bed.provider)
      await listen(bed, () => contract.on('Transfer', (...args) => seen.add(args)), LOGS)
      await transfer(bed, 11)
      await transfer(bed, 12)
      await bed.mine()
      const told = await seen.all
      await contract.off('Transfer')
      const payloads = told.map((args) => args.at(-1) as ContractEventPayload)
      return {
        args: told.map((args) => args.slice(0, -1)),
        payloads: payloads.map(({ log, eventName, args, fragment }) => [log, eventName, args, fragment.format()]),
        left: await contract.listenerCount(),
      }
    },
    ({ args, left }) => expect([args, left]).toEqual([[11n, 12n].map((amount) => [alice, carol, amount]), 0]),
  )

  flow(
    'contract.once tells one event',
    async (bed) => {
      const [once, all] = [collector<bigint>(1), collector<bigint>(2)]
      const contract = new Contract(token, tokenAbi, bed.provider)
      const begin = async () => {
        await contract.once('Transfer', (_, __, amount) => once.add(amount))
        await contract.on('Transfer', (_, __, amount) => all.add(amount))
      }
      await listen(bed, begin, LOGS)
      await transfer(bed, 21)
      await transfer(bed, 22)
      await bed.mine()
      return { all: await all.all, once: once.values }
    },
    (told) => expect(told).toEqual({ all: [21n, 22n], once: [21n] }),
  )

  flow(
    'on(hash) emits the receipt once mined',
    async (bed) => {
      const seen = collector<TransactionReceipt>(1)
      const hash = await transfer(bed, 41)
      const ready = Promise.all([bed.answered('eth_getTransactionReceipt'), bed.answered(bed.isHexline ? 'eth_blockNumber' : 'eth_subscribe')])
      await bed.provider.on(hash, (receipt) => seen.add(receipt))
      await ready
      await bed.mine()
      return seen.all
    },
    ([receipt]) => expect(receipt).toMatchObject({ status: 1, blockNumber: 1 }),
  )

  flow.alone(
    'waitForTransaction with confirmations, also when blocks come fast, which ethers misses',
    async (bed) => {
      const hash = await transfer(bed, 51)
      const ready = Promise.all([bed.answered('eth_getTransactionReceipt'), bed.answered(bed.isHexline ? 'eth_blockNumber' : 'eth_subscribe')])
      const waiting = bed.provider.waitForTransaction(hash, 3)
      await ready
      await bed.mine()
      await bed.ask('anvil_mine', '0x2')
      return waiting
    },
    (receipt) => expect(receipt).toMatchObject({ status: 1, blockNumber: 1 }),
  )

  flow(
    'wait() of a sent transaction',
    async (bed) => {
      const sent = await bob.connect(bed.provider).sendTransaction({ to: carol, value: 1n })
      const ready = Promise.all([bed.answered('eth_getTransactionReceipt', 2), bed.answered(bed.isHexline ? 'eth_blockNumber' : 'eth_subscribe')])
      const waiting = sent.wait()
      await ready
      await bed.mine()
      return waiting
    },
    (receipt) => expect(receipt).toMatchObject({ status: 1, to: carol }),
  )

  flow(
    'reads, calls and errors',
    async ({ provider, mine }) => {
      await mine()
      const contract = new Contract(token, tokenAbi, provider)
      const [block, balance, supply, failure] = await Promise.all([
        provider.getBlock(1),
        provider.getBalance(alice),
        contract.balanceOf?.(alice),
        provider.call({ to: token, data: '0xffffffff' }).catch((error) => ({ code: error.code })),
      ])
      return { block, balance, supply, failure }
    },
    ({ block }) => expect(block?.number).toBe(1),
  )
})
