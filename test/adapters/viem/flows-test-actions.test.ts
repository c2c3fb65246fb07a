import { type Address, createTestClient, getContract, http, keccak256, pad, parseEther, parseGwei, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { type Anvil, startAnvil } from '../../support/anvil.ts'
import { alice, type Bed, bob, carol, chain, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { putContracts, store, storeAbi, token, tokenAbi } from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(putContracts)

const stranger = '0x3000000000000000000000000000000000000003'
const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') }
const send = ({ unlocked }: Bed, value: bigint, nonce?: number) =>
  unlocked.sendTransaction({ to: carol, value, gas: 21_000n, ...fees, ...(nonce !== undefined && { nonce }) })

describe('mining', () => {
  flow(
    'mine, with anvil’s interval, and with its own',
    async ({ tester, reader }) => {
      await tester.mine({ blocks: 2 })
      await tester.removeBlockTimestampInterval()
      await tester.setNextBlockTimestamp({ timestamp: 1_700_001_000n })
      await tester.mine({ blocks: 3, interval: 100 })
      return Promise.all([1n, 2n, 3n, 4n, 5n].map((blockNumber) => reader.getBlock({ blockNumber })))
    },
    (blocks) => expect(blocks.map((block) => block.timestamp - 1_700_000_000n)).toEqual([12n, 24n, 1000n, 1100n, 1200n]),
  )

  flow(
    'setAutomine and getAutomine',
    async (bed) => {
      const before = await bed.tester.getAutomine()
      await bed.tester.setAutomine(true)
      const hash = await send(bed, 1n)
      const receipt = await bed.reader.waitForTransactionReceipt({ hash, checkReplacement: false })
      return { before, after: await bed.tester.getAutomine(), receipt }
    },
    ({ before, after, receipt }) => {
      expect([before, after]).toEqual([false, true])
      expect(receipt).toMatchObject({ status: 'success', blockNumber: 1n })
    },
  )

  flow(
    'setNextBlockTimestamp, increaseTime and setBlockTimestampInterval',
    async ({ tester, reader, mine }) => {
      const times: bigint[] = []
      const mined = async () => {
        await mine()
        times.push((await reader.getBlock()).timestamp)
      }
      await tester.setNextBlockTimestamp({ timestamp: 1_800_000_000n })
      await mined()
      // It contains the seconds since the node started, so it may differ by one between two nodes.
      expect(await tester.increaseTime({ seconds: 1_000 })).toBeGreaterThanOrEqual(1_000)
      await mined()
      await tester.setBlockTimestampInterval({ interval: 7 })
      await mined()
      return { times }
    },
    ({ times }) => {
      expect(times[0]).toBe(1_800_000_000n)
      expect(times[2]).toBe((times[1] as bigint) + 7n)
    },
  )

  flow(
    'setIntervalMining mines at intervals',
    async ({ tester, reader }) => {
      await tester.setIntervalMining({ interval: 1 })
      await new Promise<void>((resolve) => {
        const unwatch = reader.watchBlockNumber({
          onBlockNumber(number) {
            if (number < 1n) return
            unwatch()
            resolve()
          },
        })
      })
      await tester.setIntervalMining({ interval: 0 })
      return reader.getBlock({ blockNumber: 1n })
    },
    (block) => expect(block).toMatchObject({ number: 1n, transactions: [] }),
  )

  flow(
    'setNextBlockBaseFeePerGas, setBlockGasLimit and setCoinbase',
    async ({ tester, reader, mine }) => {
      await tester.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('7') })
      await tester.setBlockGasLimit({ gasLimit: 9_000_000n })
      await tester.setCoinbase({ address: stranger })
      await mine()
      const block = await reader.getBlock()
      // A snapshot does not include them.
      await tester.setBlockGasLimit({ gasLimit: 30_000_000n })
      return block
    },
    (block) => expect(block).toMatchObject({ baseFeePerGas: parseGwei('7'), gasLimit: 9_000_000n, miner: stranger }),
  )
})

describe('state', () => {
  flow(
    'setBalance, setNonce, setCode and setStorageAt',
    async ({ tester, reader }) => {
      await tester.setBalance({ address: stranger, value: parseEther('12.5') })
      await tester.setNonce({ address: stranger, nonce: 42 })
      await tester.setCode({ address: stranger, bytecode: '0x602a60005260206000f3' })
      await tester.setStorageAt({ address: store, index: 3, value: pad(toHex(33), { size: 32 }) })
      await tester.setStorageAt({ address: store, index: keccak256('0x03'), value: pad(toHex(34), { size: 32 }) })
      const read = (slot: bigint) => reader.readContract({ address: store, abi: storeAbi, functionName: 'at', args: [slot] })
      return {
        balance: await reader.getBalance({ address: stranger }),
        nonce: await reader.getTransactionCount({ address: stranger }),
        code: await reader.getCode({ address: stranger }),
        slots: [await read(3n), await read(BigInt(keccak256('0x03')))],
      }
    },
    (state) => expect(state).toEqual({ balance: parseEther('12.5'), nonce: 42, code: '0x602a60005260206000f3', slots: [33n, 34n] }),
  )

  flow(
    'impersonateAccount and stopImpersonatingAccount',
    async (bed) => {
      const { tester, unlocked, mine } = bed
      await tester.setBalance({ address: stranger, value: parseEther('1') })
      await tester.impersonateAccount({ address: stranger })
      const [receipt] = await mine(await unlocked.sendTransaction({ account: stranger, to: carol, value: 5n, gas: 21_000n, ...fees }))
      await tester.stopImpersonatingAccount({ address: stranger })
      return { receipt, failure: await failureOf(bed, unlocked.sendTransaction({ account: stranger, to: carol, value: 5n })) }
    },
    ({ receipt, failure }) => {
      expect(receipt).toMatchObject({ status: 'success', from: stranger })
      expect(failure.message).toContain('No Signer available')
    },
    { isWorded: true },
  )

  flow(
    'snapshot and revert',
    async (bed) => {
      const id = await bed.tester.snapshot()
      await bed.mine(await send(bed, parseEther('3')))
      const during = [await bed.reader.getBlockNumber(), await bed.reader.getBalance({ address: carol })]
      await bed.tester.revert({ id })
      return { during, after: [await bed.reader.getBlockNumber(), await bed.reader.getBalance({ address: carol })] }
    },
    ({ during, after }) => {
      expect(during).toEqual([1n, parseEther('10003')])
      expect(after).toEqual([0n, parseEther('10000')])
    },
  )

  flow(
    'dumpState and loadState',
    async ({ tester, reader }) => {
      // The dump itself is compressed, in an order that differs from one dump to the next.
      const state = await tester.dumpState()
      await tester.setBalance({ address: carol, value: 1n })
      const changed = await reader.getBalance({ address: carol })
      await tester.loadState({ state })
      return { changed, restored: await reader.getBalance({ address: carol }) }
    },
    (balances) => expect(balances).toEqual({ changed: 1n, restored: parseEther('10000') }),
  )

  flow(
    'a contract object reads, writes, simulates and estimates',
    async (bed) => {
      const contract = getContract({ address: token, abi: tokenAbi, client: { public: bed.reader, wallet: bed.signer } })
      const simulated = await contract.simulate.transfer([carol, 4n], { account: bob })
      const gas = await contract.estimateGas.transfer([carol, 4n], { account: bob })
      const [receipt] = await bed.mine(await contract.write.transfer([carol, 4n]))
      return { result: simulated.result, gas, receipt, events: await contract.getEvents.Transfer({ to: carol }, { fromBlock: 0n, strict: true }) }
    },
    ({ result, events }) => {
      expect(result).toBe(true)
      expect(events).toMatchObject([{ args: { from: bob.address, to: carol, amount: 4n } }])
    },
  )
})

describe('the pool', () => {
  flow(
    'getTxpoolStatus, getTxpoolContent and inspectTxpool',
    async (bed) => {
      await send(bed, 1n, 0)
      await send(bed, 2n, 1)
      await send(bed, 9n, 5)
      return { status: await bed.tester.getTxpoolStatus(), content: await bed.tester.getTxpoolContent(), told: await bed.tester.inspectTxpool() }
    },
    ({ status, content, told }) => {
      const sender = alice.toLowerCase() as Address
      expect(status).toEqual({ pending: 2, queued: 1 })
      expect(Object.keys(content.pending[sender] ?? {})).toEqual(['0', '1'])
      expect(content.queued[sender]).toMatchObject({ 5: { value: '0x9' } })
      expect(Object.values(told.pending)).toHaveLength(1)
    },
  )

  flow(
    'dropTransaction',
    async (bed) => {
      const hash = await send(bed, 1n)
      await bed.tester.dropTransaction({ hash })
      return { status: await bed.tester.getTxpoolStatus(), failure: await failureOf(bed, bed.reader.getTransaction({ hash })) }
    },
    ({ status, failure }) => {
      expect(status).toEqual({ pending: 0, queued: 0 })
      expect(failure.errors).toMatchObject([{ name: 'TransactionNotFoundError' }])
    },
  )

  flow(
    'sendUnsignedTransaction',
    async (bed) => {
      await bed.tester.setBalance({ address: stranger, value: parseEther('1') })
      const hash = await bed.tester.sendUnsignedTransaction({ from: stranger, to: carol, value: 6n, gas: 21_000n, ...fees })
      return bed.mine(hash)
    },
    (receipts) => expect(receipts).toMatchObject([{ from: stranger, status: 'success' }]),
  )
})

describe('reset', () => {
  let origin: Anvil
  beforeAll(async () => {
    origin = await startAnvil({ timestamp: 1_600_000_000 })
    const tester = createTestClient({ mode: 'anvil', chain, transport: http(origin.url) })
    await tester.setBalance({ address: stranger, value: parseEther('5') })
    await tester.mine({ blocks: 2 })
  })
  afterAll(() => origin?.stop())

  // On separate nodes, since a reset removes the snapshots.
  const flow = viemFlows(undefined, { isRevertible: false })

  flow(
    'without a fork fails if nothing was forked',
    async (bed) => failureOf(bed, bed.tester.reset()),
    ({ message }) => expect(message).toContain('Forking not enabled and RPC URL not provided to start forking'),
  )

  flow(
    'to a fork of another node',
    async ({ tester, reader, mine }) => {
      await mine()
      const before = await reader.getBalance({ address: stranger })
      await tester.reset({ jsonRpcUrl: origin.url, blockNumber: 1n })
      return {
        before,
        after: await reader.getBalance({ address: stranger }),
        first: await reader.getBlock({ blockNumber: 0n }),
        head: await reader.getBlockNumber(),
      }
    },
    ({ before, after, first, head }) => {
      expect([before, after]).toEqual([0n, parseEther('5')])
      expect(first.timestamp).toBe(1_600_000_000n)
      expect(head).toBe(1n)
    },
  )
})
