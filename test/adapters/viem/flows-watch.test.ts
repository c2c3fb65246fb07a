import { type GetLogsReturnType, type Hash, parseEther, parseGwei, type ReplacementReturnType } from 'viem'
import { describe, expect } from 'vitest'
import { alice, type Bed, carol, collector, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { putContracts, token, tokenAbi } from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(putContracts, { over: 'http' })

const transferred = tokenAbi[1]
const transfer = ({ unlocked }: Bed, amount: bigint) =>
  unlocked.writeContract({ address: token, abi: tokenAbi, functionName: 'transfer', args: [carol, amount], gas: 100_000n })

describe('watching', () => {
  flow(
    'watchBlockNumber emits each number once, including those it missed',
    async ({ reader, mine, tester, answered }) => {
      const seen = collector<[bigint, bigint | undefined]>(5)
      const watching = answered('eth_blockNumber')
      const unwatch = reader.watchBlockNumber({ emitOnBegin: true, emitMissed: true, onBlockNumber: (...numbers) => seen.add(numbers) })
      await watching
      await mine()
      await tester.mine({ blocks: 3 })
      const numbers = await seen.all
      unwatch()
      return numbers
    },
    (numbers) => {
      expect(numbers.map(([number]) => number)).toEqual([0n, 1n, 2n, 3n, 4n])
    },
  )

  flow(
    'watchBlocks emits blocks, with their transactions',
    async (bed) => {
      const seen = collector<object>(3)
      const watching = bed.answered('eth_getBlockByNumber')
      const unwatch = bed.reader.watchBlocks({
        emitOnBegin: true,
        emitMissed: true,
        includeTransactions: true,
        onBlock: ({ number, hash, transactions }) => seen.add({ number, hash, sent: transactions.map((each) => each.input) }),
      })
      await watching
      await bed.mine(await transfer(bed, 3n))
      await bed.mine()
      const blocks = await seen.all
      unwatch()
      return blocks
    },
    (blocks) => {
      expect(blocks).toMatchObject([{ number: 0n }, { number: 1n, sent: [expect.stringMatching(/^0xa9059cbb/)] }, { number: 2n, sent: [] }])
    },
  )

  flow(
    'watchEvent emits logs as they arrive, one by one without `batch`',
    async (bed) => {
      const seen = collector<GetLogsReturnType<typeof transferred>>(3)
      const watching = bed.answered('eth_newFilter')
      const unwatch = bed.reader.watchEvent({ address: token, event: transferred, args: { from: alice }, batch: false, onLogs: (logs) => seen.add(logs) })
      await watching
      await bed.mine(await transfer(bed, 1n), await transfer(bed, 2n))
      await bed.mine(await transfer(bed, 3n))
      const logs = await seen.all
      await unwatch()
      return logs
    },
    (logs) => {
      expect(logs).toMatchObject([1n, 2n, 3n].map((amount) => [{ eventName: 'Transfer', args: { from: alice, to: carol, amount } }]))
    },
  )

  flow(
    'watchEvent from a past block, strictly',
    async (bed) => {
      await bed.mine(await transfer(bed, 11n))
      await bed.mine(await transfer(bed, 12n))
      const seen = collector<unknown>(3)
      const watching = bed.answered('eth_getFilterChanges')
      const onLogs = (logs: readonly { args: { amount: bigint } }[]) => {
        for (const log of logs) seen.add(log)
      }
      const unwatch = bed.reader.watchEvent({ event: transferred, strict: true, fromBlock: 2n, onLogs })
      await watching
      await bed.mine(await transfer(bed, 13n))
      await bed.mine(await transfer(bed, 14n))
      const logs = await seen.all
      await unwatch()
      return logs
    },
    (logs) => expect(logs).toMatchObject([{ args: { amount: 12n } }, { args: { amount: 13n } }, { args: { amount: 14n } }]),
  )

  flow(
    'watchEvent requests logs from a node without filters',
    async (bed) => {
      // From block 0, viem never asks.
      await bed.mine()
      const seen = collector<unknown>(2)
      const reader = bed.readerWith({ transport: without(bed, 'eth_newFilter') })
      // It starts at the first answer.
      const watching = bed.answered('eth_blockNumber')
      const unwatch = reader.watchEvent({ event: transferred, batch: false, onLogs: (logs) => seen.add(logs) })
      await watching
      await bed.mine(await transfer(bed, 21n))
      await bed.mine(await transfer(bed, 22n))
      const logs = await seen.all
      await unwatch()
      return logs
    },
    (logs) => expect(logs).toMatchObject([[{ args: { amount: 21n } }], [{ args: { amount: 22n } }]]),
  )

  flow(
    'watchContractEvent emits a contract’s events by name',
    async (bed) => {
      const seen = collector<unknown>(2)
      const watching = bed.answered('eth_newFilter')
      const onLogs = (logs: readonly unknown[]) => {
        for (const log of logs) seen.add(log)
      }
      const unwatch = bed.reader.watchContractEvent({ address: token, abi: tokenAbi, eventName: 'Transfer', args: { to: carol }, strict: true, onLogs })
      await watching
      await bed.mine(await transfer(bed, 31n))
      await bed.mine(await transfer(bed, 32n))
      const logs = await seen.all
      await unwatch()
      return logs
    },
    (logs) => expect(logs).toMatchObject([{ args: { amount: 31n } }, { args: { amount: 32n } }]),
  )

  flow(
    'watchPendingTransactions emits sent transactions',
    async (bed) => {
      const seen = collector<Hash>(2)
      const watching = bed.answered('eth_newPendingTransactionFilter')
      const onTransactions = (hashes: Hash[]) => {
        for (const hash of hashes) seen.add(hash)
      }
      const unwatch = bed.reader.watchPendingTransactions({ onTransactions })
      await watching
      const sent = [await transfer(bed, 41n), await transfer(bed, 42n)]
      const hashes = await seen.all
      await unwatch()
      return { sent, hashes }
    },
    ({ sent, hashes }) => expect(hashes).toEqual(sent),
  )

  flow(
    'a watcher reports failures of the node, and continues',
    async (bed) => {
      const failures = collector<Error>(1)
      const seen = collector<bigint>(1)
      let isBroken = true
      const reader = bed.readerWith({ transport: without(bed, 'eth_blockNumber', () => isBroken) })
      const unwatch = reader.watchBlockNumber({ emitOnBegin: true, onBlockNumber: (number) => seen.add(number), onError: (error) => failures.add(error) })
      const [failure] = await failures.all
      isBroken = false
      const numbers = await seen.all
      unwatch()
      return { failure: (failure as Error).name, numbers }
    },
    (told) => expect(told).toEqual({ failure: 'MethodNotFoundRpcError', numbers: [0n] }),
  )
})

/** The transport of a bed to a node that does not know a method. */
function without({ transport }: Bed, method: string, isSo: () => boolean = () => true): Bed['transport'] {
  return (options) => {
    const inner = transport(options)
    const request = ((args: { method: string }, settings?: object) =>
      inner.request(args.method === method && isSo() ? { ...args, method: 'eth_madeUp' } : args, settings)) as typeof inner.request
    return { ...inner, request }
  }
}

describe('waitForTransactionReceipt', () => {
  const bid = parseGwei('20')

  /** Waits for a transaction, and has it replaced as soon as viem knows it. */
  async function replaced(bed: Bed, replacement: object) {
    const { reader, unlocked, answered, mine } = bed
    const sent = { to: carol, value: parseEther('1'), nonce: 0, gas: 50_000n }
    const hash = await unlocked.sendTransaction({ ...sent, maxFeePerGas: bid, maxPriorityFeePerGas: parseGwei('1') })
    // viem has then looked at the transaction and at the block, and waits for the next one.
    const known = answered('eth_getBlockByNumber')
    let told: ReplacementReturnType | undefined
    const waiting = reader.waitForTransactionReceipt({
      hash,
      onReplaced: (each) => {
        told = each
      },
    })
    await known
    const fees = { maxFeePerGas: 2n * bid, maxPriorityFeePerGas: parseGwei('2') }
    const other = await unlocked.sendTransaction({ ...sent, ...fees, ...replacement } as never)
    await mine()
    const receipt = await waiting
    return { hash, other, told, receipt }
  }

  flow(
    'of a mined transaction',
    async (bed) => {
      const hash = await transfer(bed, 51n)
      await bed.mine()
      return bed.reader.waitForTransactionReceipt({ hash })
    },
    (receipt) => expect(receipt).toMatchObject({ status: 'success', blockNumber: 1n, logs: [{ address: token }] }),
  )

  flow(
    'of one that is mined later',
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

  flow(
    'of one that the node mines automatically',
    async (bed) => {
      await bed.tester.setAutomine(true)
      const hash = await transfer(bed, 53n)
      return bed.reader.waitForTransactionReceipt({ hash, checkReplacement: false })
    },
    (receipt) => expect(receipt).toMatchObject({ status: 'success', blockNumber: 1n }),
  )

  flow(
    'with confirmations',
    async (bed) => {
      const hash = await transfer(bed, 54n)
      await bed.mine()
      const waiting = bed.reader.waitForTransactionReceipt({ hash, confirmations: 3 })
      let isThere = false
      const done = waiting.finally(() => {
        isThere = true
      })
      const asked = bed.answered('eth_blockNumber')
      await asked
      await bed.mine()
      const before = isThere
      await bed.mine()
      return { before, receipt: await done, head: await bed.reader.getBlockNumber() }
    },
    ({ before, receipt, head }) => {
      expect(before).toBe(false)
      expect(receipt.blockNumber).toBe(1n)
      expect(head).toBe(3n)
    },
  )

  flow(
    'of one that is repriced',
    async (bed) => replaced(bed, {}),
    ({ hash, other, told, receipt }) => {
      expect(told).toMatchObject({ reason: 'repriced', replacedTransaction: { hash }, transaction: { hash: other } })
      expect(receipt.transactionHash).toBe(other)
    },
  )

  flow(
    'of one that is cancelled',
    async (bed) => replaced(bed, { to: alice, value: 0n }),
    ({ hash, other, told, receipt }) => {
      expect(told).toMatchObject({ reason: 'cancelled', replacedTransaction: { hash }, transaction: { hash: other, value: 0n } })
      expect(told?.transactionReceipt).toEqual(receipt)
    },
  )

  flow(
    'of one that is replaced by another',
    async (bed) => replaced(bed, { value: 7n }),
    ({ told, other, receipt }) => {
      expect(told).toMatchObject({ reason: 'replaced', transaction: { hash: other, value: 7n } })
      expect(receipt.status).toBe('success')
    },
  )

  flow(
    'of one that is never mined fails after its timeout',
    async (bed) => failureOf(bed, bed.reader.waitForTransactionReceipt({ hash: `0x${'12'.repeat(32)}`, timeout: 40, retryCount: 0 })),
    ({ errors }) => expect(errors).toMatchObject([{ name: 'WaitForTransactionReceiptTimeoutError' }]),
  )
})
