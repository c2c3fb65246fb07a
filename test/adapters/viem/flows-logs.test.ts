import { type Hash, parseAbiItem, zeroAddress } from 'viem'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { collectible, collectibleAbi, type History, makeHistory, putContracts, token, tokenAbi } from '../../support/viem-flows-contracts.ts'

let history: History
const flow = viemFlows(async (bed) => {
  await putContracts(bed)
  history = await makeHistory(bed)
})

const transferred = tokenAbi[1]
const approved = tokenAbi[2]
/** All blocks: viem's default is the last one. */
const always = { fromBlock: 0n, toBlock: 'latest' } as const

describe('getLogs', () => {
  flow(
    'of all addresses, of one, and of several',
    async ({ reader }) => ({
      all: await reader.getLogs(always),
      ofToken: await reader.getLogs({ ...always, address: token }),
      ofBoth: await reader.getLogs({ ...always, address: [collectible, token] }),
    }),
    ({ all, ofToken, ofBoth }) => {
      expect(all.map((log) => log.transactionHash)).toEqual([history.first, history.minted, history.second])
      expect(ofToken.map((log) => log.transactionHash)).toEqual([history.first, history.second])
      expect(ofBoth).toEqual(all)
    },
  )

  flow(
    'by event and by args, decoded',
    async ({ reader }) => ({
      byEvent: await reader.getLogs({ ...always, event: transferred }),
      byFrom: await reader.getLogs({ ...always, event: transferred, args: { from: bob.address } }),
      byEither: await reader.getLogs({ ...always, event: transferred, args: { to: [alice, carol] } }),
      byEvents: await reader.getLogs({ ...always, events: [approved, transferred] }),
      none: await reader.getLogs({ ...always, event: approved }),
    }),
    ({ byEvent, byFrom, byEither, byEvents, none }) => {
      // The collectible's event has the same signature, but another argument indexed.
      expect(byEvent.map((log) => log.args)).toEqual([
        { from: alice, to: carol, amount: 5n },
        { from: zeroAddress, to: carol },
        { from: bob.address, to: alice, amount: 6n },
      ])
      expect(byFrom).toMatchObject([{ eventName: 'Transfer', args: { amount: 6n }, blockNumber: 3n, transactionHash: history.second }])
      expect(byEither).toHaveLength(3)
      expect(byEvents).toHaveLength(3)
      expect(none).toEqual([])
    },
  )

  flow(
    'strict: only logs that match the event',
    async ({ reader }) => ({
      ofToken: await reader.getLogs({ ...always, event: transferred, strict: true }),
      ofCollectible: await reader.getLogs({ ...always, event: collectibleAbi[1], strict: true }),
    }),
    ({ ofToken, ofCollectible }) => {
      expect(ofToken.map((log) => log.args.amount)).toEqual([5n, 6n])
      expect(ofCollectible.map((log) => log.args)).toMatchObject([{ to: carol, id: 1n }])
    },
  )

  flow(
    'by block range and by block hash',
    async ({ reader }) => {
      const { hash } = await reader.getBlock({ blockNumber: 3n })
      return {
        byDefault: await reader.getLogs(),
        early: await reader.getLogs({ fromBlock: 'earliest', toBlock: 2n }),
        empty: await reader.getLogs({ fromBlock: 2n, toBlock: 2n }),
        byHash: await reader.getLogs({ blockHash: hash }),
      }
    },
    ({ byDefault, early, empty, byHash }) => {
      expect(byDefault.map((log) => log.blockNumber)).toEqual([3n, 3n])
      expect(early.map((log) => log.blockNumber)).toEqual([1n])
      expect(empty).toEqual([])
      expect(byHash).toEqual(byDefault)
    },
  )

  flow(
    'of an unknown block fails the same way',
    async (bed) => failureOf(bed, bed.reader.getLogs({ blockHash: `0x${'ab'.repeat(32)}` })),
    ({ errors }) => expect(errors.length).toBeGreaterThan(0),
  )

  flow(
    'getContractEvents, all and by name and args',
    async ({ reader }) => ({
      all: await reader.getContractEvents({ ...always, address: token, abi: tokenAbi }),
      some: await reader.getContractEvents({ ...always, abi: tokenAbi, eventName: 'Transfer', args: { to: alice }, strict: true }),
    }),
    ({ all, some }) => {
      expect(all.map((log) => log.eventName)).toEqual(['Transfer', 'Transfer'])
      expect(some.map((log) => log.args)).toEqual([{ from: bob.address, to: alice, amount: 6n }])
    },
  )
})

/** anvil's filter ids are random, so no result of a flow has one. */
describe('filters', () => {
  const transfer = (bed: Bed, amount: bigint) =>
    bed.unlocked.writeContract({ address: token, abi: tokenAbi, functionName: 'transfer', args: [carol, amount], gas: 100_000n })

  flow(
    'createBlockFilter and getFilterChanges',
    async ({ reader, mine }) => {
      const filter = await reader.createBlockFilter()
      const before = await reader.getFilterChanges({ filter })
      await mine()
      await mine()
      const changes = await reader.getFilterChanges({ filter })
      const blocks = await Promise.all(changes.map((blockHash) => reader.getBlock({ blockHash })))
      return { type: filter.type, before, changes, numbers: blocks.map((block) => block.number), after: await reader.getFilterChanges({ filter }) }
    },
    ({ before, numbers, after }) => {
      expect(numbers).toEqual([4n, 5n])
      expect([before, after]).toEqual([[], []])
    },
  )

  flow(
    'createPendingTransactionFilter',
    async (bed) => {
      const filter = await bed.reader.createPendingTransactionFilter()
      const sent: Hash[] = [await transfer(bed, 1n), await transfer(bed, 2n)]
      return { sent, changes: await bed.reader.getFilterChanges({ filter }) }
    },
    ({ sent, changes }) => expect(changes).toEqual(sent),
  )

  flow(
    'createEventFilter: getFilterChanges returns new logs, getFilterLogs all',
    async (bed) => {
      const { reader, mine } = bed
      const filter = await reader.createEventFilter({ address: token, event: transferred, args: { from: alice }, fromBlock: 0n })
      await mine(await transfer(bed, 70n))
      const first = await reader.getFilterChanges({ filter })
      await mine(await transfer(bed, 71n))
      return { first, second: await reader.getFilterChanges({ filter }), all: await reader.getFilterLogs({ filter }) }
    },
    ({ second, all }) => {
      expect(second.map((log) => log.args)).toEqual([{ from: alice, to: carol, amount: 71n }])
      expect(all.map((log) => log.args.amount)).toEqual([5n, 70n, 71n])
    },
  )

  flow(
    'createContractEventFilter',
    async (bed) => {
      const { reader, mine } = bed
      const filter = await reader.createContractEventFilter({ address: token, abi: tokenAbi, eventName: 'Transfer', strict: true })
      await mine(await transfer(bed, 80n))
      return reader.getFilterChanges({ filter })
    },
    (logs) => expect(logs).toMatchObject([{ eventName: 'Transfer', args: { amount: 80n }, blockNumber: 4n }]),
  )

  flow(
    'an event given as a signature, with unnamed arguments',
    async (bed) => {
      const event = parseAbiItem('event Transfer(address indexed, address indexed, uint256)')
      const filter = await bed.reader.createEventFilter({ event, args: [alice, null] as never })
      await bed.mine(await transfer(bed, 90n))
      return bed.reader.getFilterChanges({ filter })
    },
    (logs) => expect(logs).toMatchObject([{ args: [alice, carol, 90n] }]),
  )

  flow(
    'uninstallFilter ends a filter, once',
    async (bed) => {
      const filter = await bed.reader.createBlockFilter()
      const ended = [await bed.reader.uninstallFilter({ filter }), await bed.reader.uninstallFilter({ filter })]
      const failure = await failureOf(bed, bed.reader.getFilterChanges({ filter }))
      return { ended, failure: JSON.parse(JSON.stringify(failure).replaceAll(filter.id, 'ID')) as typeof failure }
    },
    ({ ended, failure }) => {
      expect(ended).toEqual([true, false])
      expect(failure.message).toContain('filter not found')
    },
  )
})
