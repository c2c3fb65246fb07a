import { encodeFunctionData, type Hex, pad, parseEther, parseGwei, toHex, zeroAddress } from 'viem'
import { describe, expect } from 'vitest'
import { deployment } from '../../../demo/contracts.ts'
import { alice, bob, carol, chain, failureOf, viemFlows } from '../../support/viem-flows.ts'
import {
  clock,
  clockAbi,
  gateway,
  gatewayAbi,
  makeHistory,
  named,
  namedAbi,
  offchain,
  putContracts,
  putMulticall3,
  reason,
  refused,
  refuser,
  refuserAbi,
  store,
  storeAbi,
  talker,
  token,
  tokenAbi,
  wallet,
} from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(async (bed) => {
  await putContracts(bed)
  await putMulticall3(bed)
  await makeHistory(bed)
})

const readName = { address: named, abi: namedAbi, functionName: 'name' } as const
const readTime = { address: clock, abi: clockAbi, functionName: 'now' } as const
const readSlot = (slot: bigint) => ({ address: store, abi: storeAbi, functionName: 'at', args: [slot] }) as const
const transfer = (amount: bigint) => ({ address: token, abi: tokenAbi, functionName: 'transfer', args: [carol, amount], account: alice }) as const
const attempt = { address: refuser, abi: refuserAbi, functionName: 'attempt', args: [1n], account: alice } as const
const word = (n: number) => pad(toHex(n), { size: 32 })

describe('call', () => {
  flow(
    'returns data, or nothing',
    async ({ reader }) => [
      await reader.call({ account: alice, to: token, data: encodeFunctionData(transfer(1n)) }),
      await reader.call({ to: carol, data: '0x1234' }),
    ],
    (answers) => expect(answers).toEqual([{ data: word(1) }, { data: undefined }]),
  )

  flow(
    'at a past block',
    async ({ reader }) => [await reader.readContract({ ...readTime, blockNumber: 1n }), await reader.readContract({ ...readTime, blockNumber: 2n })],
    (times) => expect(times).toEqual([1_700_000_012n, 1_700_000_024n]),
  )

  flow(
    'with state overrides: balance, nonce, code, state and stateDiff',
    async ({ reader }) => {
      const data = encodeFunctionData(readSlot(5n))
      const overridden = (stateOverride: object) => reader.call({ to: store, data, stateOverride: [{ address: store, ...stateOverride }] })
      const rich = { address: zeroAddress, balance: parseEther('9'), nonce: 3 }
      return {
        diff: await overridden({ stateDiff: [{ slot: word(5), value: word(55) }] }),
        state: await overridden({ state: [{ slot: word(5), value: word(56) }] }),
        code: await overridden({ code: '0x602a60005260206000f3' }),
        paid: await reader.call({ account: zeroAddress, to: store, data, value: parseEther('8'), stateOverride: [rich] }),
      }
    },
    (answers) => expect(answers).toEqual({ diff: { data: word(55) }, state: { data: word(56) }, code: { data: word(42) }, paid: { data: word(0) } }),
  )

  flow(
    'with block overrides, and without a contract',
    async ({ reader }) => ({
      time: await reader.readContract({ ...readTime, blockOverrides: { time: 4_000_000_000n } }),
      deployless: await reader.call({ code: deployment('602a60005260206000f3'), data: '0x' }),
    }),
    (answers) => expect(answers).toEqual({ time: 4_000_000_000n, deployless: { data: word(42) } }),
  )

  flow(
    'fails with viem’s errors: a reason, a custom error, no funds',
    async (bed) => [
      await failureOf(bed, bed.reader.call({ to: talker })),
      await failureOf(bed, bed.reader.call({ to: refuser })),
      await failureOf(bed, bed.reader.call({ account: zeroAddress, to: carol, value: parseEther('99') })),
    ],
    ([said, own, funds]) => {
      expect(said?.message).toContain(reason)
      expect(own?.errors[0]).toMatchObject({ name: 'CallExecutionError' })
      expect(funds?.errors[1]).toMatchObject({ name: 'InsufficientFundsError' })
    },
  )
})

describe('contracts', () => {
  flow(
    'readContract',
    async ({ reader }) => [await reader.readContract(readName), await reader.readContract(readSlot(0n))],
    (answers) => expect(answers).toEqual(['Hexline', 0n]),
  )

  flow(
    'readContract of an account without code, and of a contract that refuses',
    async (bed) => [
      await failureOf(bed, bed.reader.readContract({ ...readName, address: carol })),
      await failureOf(bed, bed.reader.readContract(attempt as never)),
      await failureOf(bed, bed.reader.readContract({ ...readName, address: talker })),
    ],
    ([empty, own, said]) => {
      expect(empty?.message).toContain('The contract function "name" returned no data ("0x").')
      expect(own?.message).toContain(`Refused(address who, uint256 amount)`)
      expect(said?.errors[1]).toMatchObject({ name: 'ContractFunctionRevertedError', shortMessage: expect.stringContaining(reason) })
    },
  )

  flow(
    'simulateContract gives the result and a request that can be sent',
    async ({ reader, unlocked, mine }) => {
      const { request, result } = await reader.simulateContract(transfer(12n))
      return { result, args: request.args, receipts: await mine(await unlocked.writeContract(request)) }
    },
    ({ result, receipts }) => {
      expect(result).toBe(true)
      expect(receipts).toMatchObject([{ status: 'success', logs: [{ data: word(12) }] }])
    },
  )

  flow(
    'simulateContract fails with a custom error, with a reason, and without data',
    async (bed) => [
      await failureOf(bed, bed.reader.simulateContract(attempt)),
      await failureOf(bed, bed.reader.simulateContract({ ...attempt, address: talker })),
      await failureOf(bed, bed.reader.simulateContract(transfer(0n))),
    ],
    ([own, said, silent]) => {
      expect(own?.errors[1]).toMatchObject({ name: 'ContractFunctionRevertedError', data: { errorName: 'Refused', args: [refused.who, refused.amount] } })
      expect(said?.message).toContain(reason)
      expect(silent?.errors[0]).toMatchObject({ name: 'ContractFunctionExecutionError' })
    },
  )
})

describe('multicall', () => {
  const contracts = [readName, readSlot(0n), { ...attempt }, { ...readName, address: carol }] as const

  flow(
    'with multicall3, and without it',
    async ({ reader }) => {
      const told = async (given: object) =>
        (await reader.multicall({ contracts, ...given })).map((each) => ('error' in each && each.error ? each.error.message : each.result))
      return { contract: await told({}), deployless: await told({ deployless: true }), inPieces: await told({ batchSize: 8 }) }
    },
    ({ contract, deployless, inPieces }) => {
      expect(contract.slice(0, 2)).toEqual(['Hexline', 0n])
      expect(contract[2]).toContain('Refused(address who, uint256 amount)')
      expect(contract[3]).toContain('returned no data')
      expect([deployless, inPieces]).toEqual([contract, contract])
    },
  )

  flow(
    'that allows no failure',
    async (bed) => ({
      good: await bed.reader.multicall({ contracts: [readName, readSlot(0n)], allowFailure: false, blockNumber: 2n }),
      bad: await failureOf(bed, bed.reader.multicall({ contracts: [readName, attempt], allowFailure: false })),
    }),
    ({ good, bad }) => {
      expect(good).toEqual(['Hexline', 0n])
      expect(bad.errors[1]).toMatchObject({ name: 'ContractFunctionRevertedError' })
    },
  )

  flow(
    'made by a client with `batch: { multicall: true }`',
    async (bed) => {
      const reader = bed.readerWith({ batch: { multicall: true } })
      const [name, slot, failure] = await Promise.all([
        reader.readContract(readName),
        reader.readContract(readSlot(9n)),
        failureOf(bed, reader.readContract({ ...readName, address: talker })),
      ])
      return { name, slot, failure }
    },
    ({ name, slot, failure }) => {
      expect([name, slot]).toEqual(['Hexline', 0n])
      expect(failure.message).toContain(reason)
    },
  )
})

describe('CCIP read', () => {
  const lookup = { address: gateway, abi: gatewayAbi, functionName: 'lookup', args: ['hexline'] } as const

  flow(
    'fetches the off-chain data that the contract requests, and returns it to the contract',
    async ({ readerWith }) => {
      const asked: object[] = []
      const request = async ({ data, sender, urls }: { data: Hex; sender: Hex; urls: readonly string[] }): Promise<Hex> => {
        asked.push({ data, sender, urls })
        return word(4242)
      }
      return { answer: await readerWith({ ccipRead: { request } }).readContract(lookup), asked }
    },
    ({ answer, asked }) => {
      expect(answer).toBe(4242n)
      expect(asked).toEqual([{ data: offchain.callData, sender: gateway, urls: offchain.urls }])
    },
  )

  flow(
    'turned off, and failing',
    async (bed) => {
      const request = async () => {
        throw new Error('nobody there')
      }
      return [
        await failureOf(bed, bed.readerWith({ ccipRead: false }).readContract(lookup)),
        await failureOf(bed, bed.readerWith({ ccipRead: { request } }).readContract(lookup)),
      ]
    },
    ([off, failed]) => {
      expect(off?.message).toContain('OffchainLookup(address sender')
      expect(failed?.message).toContain('nobody there')
    },
  )
})

describe('gas and fees', () => {
  flow(
    'estimateGas and estimateContractGas',
    async (bed) => ({
      plain: await bed.reader.estimateGas({ account: alice, to: carol, value: 1n }),
      local: await bed.reader.estimateGas({ account: bob, to: token, data: encodeFunctionData(transfer(3n)) }),
      contract: await bed.reader.estimateContractGas(transfer(3n)),
      failures: [await failureOf(bed, bed.reader.estimateContractGas(attempt)), await failureOf(bed, bed.reader.estimateGas({ account: alice, to: talker }))],
    }),
    ({ plain, local, contract, failures }) => {
      expect(plain).toBe(21_000n)
      expect(local).toBeGreaterThan(25_000n)
      expect(contract).toBeGreaterThan(25_000n)
      expect(failures[0]?.message).toContain('Refused(address who, uint256 amount)')
      expect(failures[1]?.errors[0]).toMatchObject({ name: 'EstimateGasExecutionError' })
    },
  )

  flow(
    'getFeeHistory',
    async ({ reader }) => reader.getFeeHistory({ blockCount: 3, rewardPercentiles: [25, 75] }),
    (history) => {
      expect(history.oldestBlock).toBe(1n)
      expect(history.baseFeePerGas).toHaveLength(4)
      expect(history.gasUsedRatio[1]).toBe(0)
      expect(history.reward).toHaveLength(3)
    },
  )

  flow(
    'getGasPrice, getBlobBaseFee, estimateMaxPriorityFeePerGas and estimateFeesPerGas',
    async ({ reader }) => ({
      price: await reader.getGasPrice(),
      blob: await reader.getBlobBaseFee(),
      tip: await reader.estimateMaxPriorityFeePerGas(),
      fees: await reader.estimateFeesPerGas(),
      legacy: await reader.estimateFeesPerGas({ type: 'legacy' }),
    }),
    ({ price, blob, tip, fees, legacy }) => {
      expect(price).toBeGreaterThan(parseGwei('1'))
      expect(blob).toBe(1n)
      expect(fees.maxPriorityFeePerGas).toBe(tip)
      expect(legacy.gasPrice).toBeGreaterThanOrEqual(price)
    },
  )

  flow(
    'fillTransaction',
    async ({ reader }) => reader.fillTransaction({ account: alice, to: carol, value: 1n }),
    ({ raw, transaction }) => {
      expect(raw).toMatch(/^0x02/)
      expect(transaction).toMatchObject({ chainId: chain.id, gas: 21_000n, type: 'eip1559', value: 1n })
    },
  )

  flow(
    'createAccessList',
    async ({ reader }) => reader.createAccessList({ account: alice, to: token, data: encodeFunctionData(transfer(3n)) }),
    ({ accessList, gasUsed }) => {
      expect(accessList).toEqual([{ address: token, storageKeys: [word(0)] }])
      expect(gasUsed).toBeGreaterThan(21_000n)
    },
  )

  flow(
    'simulateBlocks and simulateCalls',
    async ({ reader }) => {
      const calls = [{ to: carol, value: 5n }, { abi: tokenAbi, to: token, functionName: 'transfer', args: [carol, 3n] }, { to: talker }] as const
      const [block] = await reader.simulateBlocks({ blocks: [{ calls: calls.map((call) => ({ account: alice, ...call })) as never }] })
      // The results of the calls: a simulated block's header may contain the current time.
      const told = (results: readonly unknown[]) =>
        results.map((each) => {
          const { data, gasUsed, status, error } = each as { data: Hex; gasUsed: bigint; status: string; error?: Error }
          return { data, gasUsed, status, error: error?.message }
        })
      const { results } = await reader.simulateCalls({ account: alice, calls: calls as never })
      return { blocks: told(block?.calls ?? []), calls: told(results) }
    },
    ({ blocks, calls }) => {
      expect(blocks.map((each) => each.status)).toEqual(['success', 'success', 'failure'])
      expect(calls.map((each) => each.status)).toEqual(['success', 'success', 'failure'])
    },
    // anvil refuses the requests of an old viem.
    { needsNew: true },
  )
})

describe('signatures', () => {
  const message = 'from hexline with love'

  flow(
    'verifyMessage of an account, by the node',
    async ({ reader }) => {
      const signature = await bob.signMessage({ message })
      return [
        await reader.verifyMessage({ address: bob.address, message, signature }),
        await reader.verifyMessage({ address: carol, message, signature }),
        await reader.verifyMessage({ address: bob.address, message: `${message}?`, signature }),
      ]
    },
    (verdicts) => expect(verdicts).toEqual([true, false, false]),
  )

  flow(
    'verifyMessage of a contract (EIP-1271)',
    async ({ reader }) => {
      const signature = await bob.signMessage({ message })
      return [await reader.verifyMessage({ address: wallet, message, signature }), await reader.verifyMessage({ address: named, message, signature })]
    },
    (verdicts) => expect(verdicts).toEqual([true, false]),
  )

  flow(
    'verifyTypedData',
    async ({ reader }) => {
      const typed = {
        domain: { chainId: chain.id },
        types: { Note: [{ name: 'text', type: 'string' }] },
        primaryType: 'Note',
        message: { text: message },
      } as const
      const signature = await bob.signTypedData(typed)
      return [
        await reader.verifyTypedData({ address: bob.address, signature, ...typed }),
        await reader.verifyTypedData({ address: alice, signature, ...typed }),
      ]
    },
    (verdicts) => expect(verdicts).toEqual([true, false]),
  )
})
