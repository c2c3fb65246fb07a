import { id, parseUnits, type TransactionReceipt, type TransactionReplacedError, toBeHex, Wallet } from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, ethersFlows, failureOf } from '../../support/ethers-flows.ts'

const flow = ethersFlows()

const gwei = (amount: number) => parseUnits(`${amount}`, 'gwei')
const never = id('nothing has this hash')
const send = ({ ask }: Bed) => ask<string>('eth_sendTransaction', { from: alice, to: carol, value: '0x1', gas: toBeHex(21_000) })

const replacements: [string, object, boolean][] = [
  ['repriced', {}, false],
  ['cancelled', { to: bob.address, value: 0, data: '0x' }, true],
  ['replaced', { value: 7 }, true],
]

describe('waitForTransaction', () => {
  flow(
    'of a mined one, with 0, 1 and 2 confirmations',
    async (bed) => {
      const hash = await send(bed)
      const before = await bed.provider.waitForTransaction(hash, 0)
      await bed.mine()
      await bed.mine()
      return { before, after: await Promise.all([undefined, null, 0, 1, 2].map((confirms) => bed.provider.waitForTransaction(hash, confirms))) }
    },
    ({ before, after }) => {
      expect(before).toBeNull()
      for (const receipt of after) expect(receipt).toMatchObject({ blockNumber: 1, status: 1 })
    },
  )

  flow(
    'of one that is mined later',
    async (bed) => {
      const hash = await send(bed)
      const known = bed.answered('eth_getTransactionReceipt')
      const waiting = bed.provider.waitForTransaction(hash)
      await known
      return { hash, receipt: await bed.mineUntil(waiting) }
    },
    ({ hash, receipt }) => expect(receipt).toMatchObject({ hash, blockNumber: 1 }),
  )

  flow(
    'with 3 confirmations, and not before',
    async (bed) => {
      const hash = await send(bed)
      await bed.mine()
      let isThere = false
      const known = bed.answered('eth_getTransactionReceipt')
      const waiting = bed.provider.waitForTransaction(hash, 3).finally(() => {
        isThere = true
      })
      await known
      const looked = bed.answered('eth_blockNumber')
      await looked
      await bed.mine()
      const early = isThere
      const receipt = await bed.mineUntil(waiting)
      return { early, receipt, isDeepEnough: (await bed.provider.getBlockNumber()) >= 3 }
    },
    ({ early, receipt, isDeepEnough }) => {
      expect([early, isDeepEnough]).toEqual([false, true])
      expect(receipt?.blockNumber).toBe(1)
    },
  )

  flow(
    "several at once, with ethers' default cache",
    async (bed) => {
      const provider = bed.make({ cacheTimeout: 250 })
      const hashes = [await send(bed), await send(bed), await send(bed)]
      const waiting = Promise.all(hashes.map((hash) => provider.waitForTransaction(hash)))
      return { hashes, receipts: await bed.mineUntil(waiting) }
    },
    ({ hashes, receipts }) => expect(receipts.map((receipt) => receipt?.hash)).toEqual(hashes),
  )

  flow(
    'of one that is never mined fails after its timeout',
    async ({ provider }) => {
      // ethers omits the operation, which its own type of a timeout has; hexline sets it.
      const { code, shortMessage, reason } = await failureOf(provider.waitForTransaction(never, 1, 40))
      return { code, shortMessage, reason, listening: await provider.listenerCount('block') }
    },
    (told) => expect(told).toEqual({ code: 'TIMEOUT', shortMessage: 'timeout', reason: 'timeout', listening: 0 }),
  )

  flow(
    'leaves no listener behind',
    async (bed) => {
      const waiting = bed.provider.waitForTransaction(await send(bed))
      const receipt = await bed.mineUntil(waiting)
      // ethers listens until the next block, and hexline no longer than it needs to.
      const left = bed.isHexline ? await bed.provider.listenerCount() : 0
      return { receipt, left }
    },
    ({ left }) => expect(left).toBe(0),
  )
})

describe('wait of a response', () => {
  flow(
    'with 0, 1 and 2 confirmations',
    async (bed) => {
      const sent = await new Wallet(bob.privateKey, bed.provider).sendTransaction({ to: carol, value: 1 })
      const none = await sent.wait(0)
      const known = bed.answered('eth_blockNumber', 3)
      const waiting = Promise.all([sent.wait(), sent.wait(2)])
      await known
      return { none, receipts: await bed.mineUntil(waiting), is: [sent.isMined(), sent.isLondon(), sent.isCancun(), sent.isLegacy()] }
    },
    ({ none, receipts }) => {
      expect(none).toBeNull()
      for (const receipt of receipts) expect(receipt).toMatchObject({ blockNumber: 1, from: bob.address })
    },
  )

  flow(
    'fails after its timeout',
    async ({ provider }) => {
      const sent = await (await provider.getSigner()).sendTransaction({ to: carol, value: 1 })
      const failure = await failureOf(sent.wait(1, 40))
      return { failure, listening: await provider.listenerCount() }
    },
    ({ failure, listening }) => {
      expect(failure).toMatchObject({ code: 'TIMEOUT', shortMessage: 'wait for transaction timeout' })
      expect(listening).toBe(0)
    },
  )

  const sent = { to: carol, value: 5, nonce: 0, gasLimit: 50_000, maxFeePerGas: gwei(20), maxPriorityFeePerGas: gwei(1) }
  const more = { ...sent, maxFeePerGas: gwei(40), maxPriorityFeePerGas: gwei(2) }
  for (const [reason, other, cancelled] of replacements)
    flow(
      `fails with TRANSACTION_REPLACED when it is ${reason}`,
      async (bed) => {
        const wallet = new Wallet(bob.privateKey, bed.provider)
        const first = await wallet.sendTransaction(sent)
        const known = bed.answered('eth_getTransactionCount')
        const waiting = failureOf(first.wait())
        await known
        const second = await wallet.sendTransaction({ ...more, ...other })
        const failure = (await bed.mineUntil(waiting)) as unknown as TransactionReplacedError
        return { first, second, failure, receipt: failure.receipt, again: await failureOf(first.wait()) }
      },
      ({ first, second, failure, receipt, again }) => {
        expect(failure).toMatchObject({ code: 'TRANSACTION_REPLACED', reason, cancelled, hash: second.hash })
        expect(failure.replacement.hash).toBe(second.hash)
        expect((receipt as TransactionReceipt).hash).not.toBe(first.hash)
        expect(again).toMatchObject({ code: 'TRANSACTION_REPLACED', reason })
      },
    )

  flow(
    'with confirmations reports a replacement once that has them',
    async (bed) => {
      const wallet = new Wallet(bob.privateKey, bed.provider)
      const first = await wallet.sendTransaction(sent)
      const known = bed.answered('eth_getTransactionCount')
      const waiting = failureOf(first.wait(3))
      await known
      await wallet.sendTransaction(more)
      const failure = (await bed.mineUntil(waiting)) as unknown as TransactionReplacedError
      return { failure, isDeepEnough: (await bed.provider.getBlockNumber()) >= 3 }
    },
    ({ failure, isDeepEnough }) => {
      expect(failure).toMatchObject({ code: 'TRANSACTION_REPLACED', reason: 'repriced', receipt: { blockNumber: 1 } })
      expect(isDeepEnough).toBe(true)
    },
  )
})

describe("waitForTransaction of a replaced one, where ethers' own never ends", () => {
  const sent = { to: carol, value: 5, nonce: 0, gasLimit: 50_000, maxFeePerGas: gwei(20), maxPriorityFeePerGas: gwei(1) }
  const more = { ...sent, maxFeePerGas: gwei(40), maxPriorityFeePerGas: gwei(2) }
  for (const [reason, other, cancelled] of replacements)
    flow.alone(
      `fails with TRANSACTION_REPLACED when it is ${reason}`,
      async (bed) => {
        const wallet = new Wallet(bob.privateKey, bed.provider)
        const first = await wallet.sendTransaction(sent)
        const known = bed.answered('eth_getTransactionCount')
        const waiting = failureOf(bed.provider.waitForTransaction(first.hash))
        await known
        const second = await wallet.sendTransaction({ ...more, ...other })
        const failure = (await bed.mineUntil(waiting)) as unknown as TransactionReplacedError
        return { second, failure, left: await bed.provider.listenerCount() }
      },
      ({ second, failure, left }) => {
        expect(failure).toMatchObject({ code: 'TRANSACTION_REPLACED', reason, cancelled, hash: second.hash, receipt: { blockNumber: 1 } })
        expect(failure.replacement.hash).toBe(second.hash)
        expect(left).toBe(0)
      },
    )

  flow.alone(
    'with confirmations fails once the replacement has them',
    async (bed) => {
      const wallet = new Wallet(bob.privateKey, bed.provider)
      const first = await wallet.sendTransaction(sent)
      const known = bed.answered('eth_getTransactionCount')
      const waiting = failureOf(bed.provider.waitForTransaction(first.hash, 3))
      await known
      await wallet.sendTransaction(more)
      const failure = await bed.mineUntil(waiting)
      return { failure, isDeepEnough: (await bed.provider.getBlockNumber()) >= 3 }
    },
    ({ failure, isDeepEnough }) => {
      expect(failure).toMatchObject({ code: 'TRANSACTION_REPLACED', reason: 'repriced', receipt: { blockNumber: 1 } })
      expect(isDeepEnough).toBe(true)
    },
  )

  flow.alone(
    'is not considered replaced when it is mined itself',
    async (bed) => {
      const wallet = new Wallet(bob.privateKey, bed.provider)
      const first = await wallet.sendTransaction(sent)
      const known = bed.answered('eth_getTransactionCount')
      const waiting = bed.provider.waitForTransaction(first.hash, 2)
      await known
      await wallet.sendTransaction({ ...more, nonce: 1 })
      return bed.mineUntil(waiting)
    },
    (receipt) => expect(receipt).toMatchObject({ blockNumber: 1, status: 1 }),
  )
})
