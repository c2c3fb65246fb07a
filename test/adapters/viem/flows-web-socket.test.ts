import type { Hash } from 'viem'
import { describe, expect } from 'vitest'
import { alice, type Bed, carol, collector, viemFlows } from '../../support/viem-flows.ts'
import { putContracts, token, tokenAbi } from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(putContracts, { over: 'webSocket' })

const transferred = tokenAbi[1]
const transfer = ({ unlocked }: Bed, amount: bigint) =>
  unlocked.writeContract({ address: token, abi: tokenAbi, functionName: 'transfer', args: [carol, amount], gas: 100_000n })

describe('watching by subscriptions, as over webSocket()', () => {
  flow(
    'watchBlockNumber emits each number',
    async ({ reader, mine, answered }) => {
      const seen = collector<bigint>(3)
      const watching = answered('eth_subscribe')
      const unwatch = reader.watchBlockNumber({ onBlockNumber: (number) => seen.add(number) })
      await watching
      for (let i = 0; i < 3; i++) await mine()
      const numbers = await seen.all
      unwatch()
      return numbers
    },
    (numbers) => expect(numbers).toEqual([1n, 2n, 3n]),
  )

  flow(
    'watchBlocks emits blocks, with their transactions',
    async (bed) => {
      const seen = collector<object>(1)
      const watching = bed.answered('eth_subscribe')
      const unwatch = bed.reader.watchBlocks({
        includeTransactions: true,
        onBlock: ({ number, hash, transactions }) => seen.add({ number, hash, sent: transactions.map((each) => each.input) }),
      })
      await watching
      await bed.mine(await transfer(bed, 3n))
      const blocks = await seen.all
      unwatch()
      return blocks
    },
    (blocks) => expect(blocks).toMatchObject([{ number: 1n, sent: [expect.stringMatching(/^0xa9059cbb/)] }]),
  )

  flow(
    'watchEvent emits logs as they come, decoded',
    async (bed) => {
      const seen = collector<unknown>(3)
      const watching = bed.answered('eth_subscribe')
      const unwatch = bed.reader.watchEvent({ address: token, event: transferred, args: { from: alice }, onLogs: (logs) => seen.add(logs) })
      await watching
      await bed.mine(await transfer(bed, 1n), await transfer(bed, 2n))
      await bed.mine(await transfer(bed, 3n))
      const logs = await seen.all
      unwatch()
      return logs
    },
    (logs) => expect(logs).toMatchObject([1n, 2n, 3n].map((amount) => [{ eventName: 'Transfer', args: { from: alice, to: carol, amount } }])),
  )

  flow(
    'watchContractEvent emits a contract’s events by name',
    async (bed) => {
      const seen = collector<unknown>(2)
      const watching = bed.answered('eth_subscribe')
      const onLogs = (logs: readonly unknown[]) => {
        for (const log of logs) seen.add(log)
      }
      const unwatch = bed.reader.watchContractEvent({ address: token, abi: tokenAbi, eventName: 'Transfer', args: { to: carol }, strict: true, onLogs })
      await watching
      await bed.mine(await transfer(bed, 31n))
      await bed.mine(await transfer(bed, 32n))
      const logs = await seen.all
      unwatch()
      return logs
    },
    (logs) => expect(logs).toMatchObject([{ args: { amount: 31n } }, { args: { amount: 32n } }]),
  )

  flow(
    'watchPendingTransactions emits sent transactions',
    async (bed) => {
      const seen = collector<Hash>(2)
      const watching = bed.answered('eth_subscribe')
      const onTransactions = (hashes: Hash[]) => {
        for (const hash of hashes) seen.add(hash)
      }
      const unwatch = bed.reader.watchPendingTransactions({ onTransactions })
      await watching
      const sent = [await transfer(bed, 41n), await transfer(bed, 42n)]
      const hashes = await seen.all
      unwatch()
      return { sent, hashes }
    },
    ({ sent, hashes }) => expect(hashes).toEqual(sent),
  )

  flow(
    'waitForTransactionReceipt of one that is mined later',
    async (bed) => {
      const hash = await transfer(bed, 52n)
      const known = bed.answered('eth_getBlockByNumber')
      const waiting = bed.reader.waitForTransactionReceipt({ hash })
      await known
      await bed.mine()
      return { hash, receipt: await waiting }
    },
    ({ hash, receipt }) => expect(receipt).toMatchObject({ transactionHash: hash, blockNumber: 1n }),
  )
})
