import { type Log, type Network, toBeHex, toQuantity } from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, carol, collector, ethersFlows, failureOf, network } from '../../support/ethers-flows.ts'
import { collectible, putContracts, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'

const flow = ethersFlows(putContracts)

const transfer = ({ ask }: Bed, amount: number) =>
  ask<string>('eth_sendTransaction', { from: alice, to: token, data: tokenAbi.encodeFunctionData('transfer', [carol, amount]), gas: toBeHex(100_000) })
const amountOf = ({ data }: Log) => Number(data)

describe('listeners', () => {
  flow(
    'are counted, listed and removed, by event or all at once',
    async ({ provider, answered }) => {
      const [one, two] = [() => {}, () => {}]
      await provider.on('block', one)
      await provider.addListener('block', two)
      await provider.on('debug', one)
      const counts = [await provider.listenerCount('block'), await provider.listenerCount('debug'), await provider.listenerCount('error')]
      const listed = (await provider.listeners('block')).map((each) => each === one)
      await provider.removeListener('block', one)
      const after = await provider.listenerCount('block')
      await provider.removeAllListeners('block')
      const none = [await provider.listenerCount('block'), await provider.listenerCount('debug')]
      // Stopping it before it has its filter would fail.
      const ready = answered('eth_getFilterChanges')
      await provider.on({ address: token }, one)
      await ready
      const filters = [await provider.listenerCount({ address: token }), await provider.listenerCount({ address: collectible })]
      await provider.removeAllListeners({ address: token })
      filters.push(await provider.listenerCount({ address: token }))
      await provider.removeAllListeners()
      return { counts, listed, after, none, filters }
    },
    (told) => {
      expect(told).toEqual({ counts: [2, 1, 0], listed: [true, false], after: 1, none: [0, 1], filters: [1, 0, 0] })
    },
    // Over a WebSocket there is no filter.
    { needsHttp: true },
  )

  flow(
    "on('debug') tells of calls, results and the node's errors",
    async ({ make }) => {
      const provider = make({ staticNetwork: network, batchMaxCount: 1 }, undefined, 31337)
      const events: unknown[] = []
      await provider.on('debug', (event) => events.push(event))
      await provider.getBalance(carol, 0)
      await failureOf(provider.send('eth_getBalance', ['0x12', 'latest']))
      return events
    },
    (events) =>
      expect(events).toMatchObject([
        { action: 'sendRpcPayload', payload: { method: 'eth_getBalance' } },
        { action: 'receiveRpcResult', result: [{ result: toQuantity(10_000n * 10n ** 18n) }] },
        { action: 'sendRpcPayload' },
        { action: 'receiveRpcResult', result: [{ error: { code: -32602 } }] },
      ]),
    // anvil has other words over a WebSocket.
    { needsHttp: true },
  )

  flow(
    "on('network') tells the network when it is known, and with 'any' when it changes",
    async ({ make, ask }) => {
      const provider = make({}, undefined, 'any')
      const seen = collector<[Network, Network | null]>(2)
      await provider.on('network', (now, before) => seen.add([now, before]))
      await provider.getNetwork()
      await ask('anvil_setChainId', 5)
      const other = await provider.getNetwork()
      await ask('anvil_setChainId', 31337)
      return { told: await seen.all, other }
    },
    ({ told }) =>
      expect(told.map((each) => each.map((network) => network?.chainId))).toEqual([
        [31337n, undefined],
        [5n, 31337n],
      ]),
  )

  flow(
    'a network that changes unexpectedly fails the calls',
    async ({ make, ask }) => {
      const provider = make()
      const before = await provider.getBlockNumber()
      await provider.getNetwork()
      await ask('anvil_setChainId', 5)
      const failure = await failureOf(provider.getBalance(carol))
      await ask('anvil_setChainId', 31337)
      return { before, failure, after: await provider.getBalance(carol) }
    },
    ({ failure, after }) => {
      expect(failure).toMatchObject({ code: 'NETWORK_ERROR', event: 'changed' })
      expect(after).toBe(10_000n * 10n ** 18n)
    },
  )
})

describe('pause and resume', () => {
  for (const isDropping of [false, true])
    flow(
      isDropping ? 'blocks while paused are dropped with pause(true)' : 'blocks while paused are told after resume',
      async ({ make, ask, mine, answered }) => {
        // Long enough for a pause in between.
        const provider = make({ pollingInterval: 100 })
        const seen = collector<number>(isDropping ? 2 : 4)
        const [ready, first] = [answered('eth_blockNumber'), collector<number>(1)]
        await provider.on('block', (number) => {
          seen.add(number)
          first.add(number)
        })
        await ready
        await mine()
        await first.all
        // ethers records the block after emitting it.
        await ask('eth_blockNumber')
        provider.pause(isDropping)
        const paused = provider.paused
        await mine()
        await mine()
        const again = answered('eth_blockNumber')
        provider.resume()
        await again
        await mine()
        return {
          paused,
          after: provider.paused,
          numbers: await seen.all,
          other: await failureOf((async () => [provider.pause(false), provider.pause(true)])()),
        }
      },
      ({ paused, after, numbers, other }) => {
        expect([paused, after]).toEqual([true, false])
        expect(numbers).toEqual(isDropping ? [1, 4] : [1, 2, 3, 4])
        expect(other).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'pause' })
      },
    )

  flow(
    'events polled during a pause are emitted after resume',
    async (bed) => {
      const provider = bed.make({ polling: true })
      const seen = collector<Log>(2)
      const ready = bed.answered('eth_blockNumber', 2)
      await provider.on({ address: token }, (log) => seen.add(log))
      await ready
      provider.pause()
      await transfer(bed, 61)
      await bed.mine()
      const again = bed.answered('eth_blockNumber')
      provider.resume()
      await again
      await transfer(bed, 62)
      return (await bed.mineUntil(seen.all, 'eth_getLogs')).map(amountOf)
    },
    (amounts) => expect(amounts).toEqual([61, 62]),
  )

  flow.alone(
    "events by a filter while paused are told after resume over hexline, where ethers' own stay silent for ever",
    async (bed) => {
      const seen = collector<Log>(2)
      const ready = bed.answered('eth_getFilterChanges')
      await bed.provider.on({ address: token }, (log) => seen.add(log))
      await ready
      bed.provider.pause()
      await transfer(bed, 71)
      await bed.mine()
      bed.provider.resume()
      await transfer(bed, 72)
      return (await bed.mineUntil(seen.all)).map(amountOf)
    },
    (amounts) => expect(amounts).toEqual([71, 72]),
    // Over a WebSocket there is no filter.
    { needsHttp: true },
  )
})
