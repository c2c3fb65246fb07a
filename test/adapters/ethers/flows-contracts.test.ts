import {
  Contract,
  ContractFactory,
  type ContractRunner,
  type ContractTransactionReceipt,
  type ContractTransactionResponse,
  EventLog,
  getCreateAddress,
  type Log,
  UndecodedEventLog,
} from 'ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, ethersFlows, failureOf } from '../../support/ethers-flows.ts'
import * as contracts from '../../support/ethers-flows-contracts.ts'

const { token, tokenAbi, refuser, refuserAbi, collectible, collectibleAbi, echo, echoAbi, gateway, gatewayAbi, named, namedAbi, reason, refused } = contracts

const flow = ethersFlows(contracts.putContracts)

const tokenOf = (runner: ContractRunner) => new Contract(token, tokenAbi, runner)
const signerOf = ({ provider }: Bed) => bob.connect(provider)

/** Mines a contract's transaction, and waits for it as a user does. */
async function settled({ mine }: Bed, sent: ContractTransactionResponse) {
  await mine()
  return { sent, receipt: (await sent.wait()) as ContractTransactionReceipt }
}

describe('ContractFactory', () => {
  flow(
    'deploys with a wallet; the contract exists once mined',
    async (bed) => {
      const factory = new ContractFactory(tokenAbi, contracts.tokenDeployment, signerOf(bed))
      const contract = await factory.deploy()
      const before = await contract.getDeployedCode()
      await bed.mine()
      await contract.waitForDeployment()
      const receipt = await contract.deploymentTransaction()?.wait()
      return { address: await contract.getAddress(), before, code: await contract.getDeployedCode(), receipt, made: contract.deploymentTransaction() }
    },
    ({ address, before, code, receipt }) => {
      expect(address).toBe(getCreateAddress({ from: bob.address, nonce: 0 }))
      expect(before).toBeNull()
      expect(code?.length).toBeGreaterThan(2)
      expect(receipt).toMatchObject({ status: 1, contractAddress: address })
    },
  )

  flow(
    'deploys with an account that anvil signs for',
    async (bed) => {
      const contract = await new ContractFactory(tokenAbi, contracts.tokenDeployment, await bed.provider.getSigner()).deploy({ gasLimit: 200_000 })
      await bed.mine()
      await contract.waitForDeployment()
      return [contract.target, await contract.getDeployedCode(), await new Contract(carol, tokenAbi, bed.provider).getDeployedCode()]
    },
    ([address, code, nothing]) => {
      expect(address).toBe(getCreateAddress({ from: alice, nonce: 0 }))
      expect(code).not.toBeNull()
      expect(nothing).toBeNull()
    },
  )
})

describe('a method', () => {
  flow(
    'that reads gives a typed result, also at a past block',
    async ({ provider, mine }) => {
      await mine()
      const contract = new Contract(named, namedAbi, provider)
      return [await contract.name?.(), await contract.name?.({ blockTag: 0 }), await contract.name?.staticCallResult(), await contract.getFunction('name')()]
    },
    ([now, then, result]) => {
      expect([now, then]).toEqual(['Hexline', 'Hexline'])
      expect(result.toArray()).toEqual(['Hexline'])
    },
  )

  flow(
    'that is overloaded is selected by its types',
    async ({ provider }) => {
      const contract = new Contract(echo, echoAbi, provider)
      return {
        number: await contract['say(uint256)']?.(1),
        address: await contract['say(address)']?.(carol),
        two: await contract.getFunction('say(uint256,bool)')(1, true),
        selectors: ['say(uint256)', 'say(address)', 'say(uint256,bool)'].map((name) => echoAbi.getFunction(name)?.selector),
        ambiguous: await failureOf((async () => contract.say?.(1))()),
      }
    },
    ({ number, address, two, selectors, ambiguous }) => {
      expect([number, address, two].map((word: string) => word.slice(0, 10))).toEqual(selectors)
      expect(ambiguous).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('ambiguous') })
    },
  )

  flow(
    'that writes: staticCall, estimateGas, populateTransaction, send',
    async (bed) => {
      const transfer = tokenOf(signerOf(bed)).getFunction('transfer')
      const told = {
        result: await transfer.staticCall(carol, 5),
        gas: await transfer.estimateGas(carol, 5),
        populated: await transfer.populateTransaction(carol, 5, { gasLimit: 90_000, value: 0 }),
        fragment: transfer.fragment.format(),
      }
      const sent = await transfer.send(carol, 5)
      return { ...told, ...(await settled(bed, sent)) }
    },
    ({ result, gas, populated, receipt }) => {
      expect(result).toBe(true)
      expect(gas).toBeGreaterThan(21_000n)
      expect(populated).toMatchObject({ to: token, gasLimit: 90_000n, data: tokenAbi.encodeFunctionData('transfer', [carol, 5]) })
      expect(receipt.status).toBe(1)
      expect(receipt.logs).toMatchObject([{ eventName: 'Transfer', args: [bob.address, carol, 5n] }])
      expect(receipt.logs[0]).toBeInstanceOf(EventLog)
    },
  )

  flow(
    'several at once by one of anvil’s signers',
    async (bed) => {
      const contract = tokenOf(await bed.provider.getSigner())
      const sent: ContractTransactionResponse[] = []
      for (const amount of [1, 2, 3]) sent.push(await contract.getFunction('transfer').send(carol, amount, { gasLimit: 100_000 }))
      await bed.mine()
      return Promise.all(sent.map((each) => each.wait()))
    },
    (receipts) =>
      expect(receipts.map((receipt) => (receipt as ContractTransactionReceipt).logs.map((log) => (log as EventLog).args.amount))).toEqual([[1n], [2n], [3n]]),
  )

  flow(
    'reads off-chain data with enableCcipRead (EIP-3668)',
    async ({ provider }) => {
      const contract = new Contract(gateway, gatewayAbi, provider)
      return { answer: await contract.lookup?.('alice', { enableCcipRead: true }), without: await failureOf(contract.lookup?.('alice') as Promise<unknown>) }
    },
    ({ answer, without }) => {
      expect(answer).toBe(contracts.answer)
      expect(without).toMatchObject({ code: 'CALL_EXCEPTION', revert: { name: 'OffchainLookup' } })
    },
  )

  flow(
    'that the contract does not have, of a runner that cannot send, at an address without code',
    async ({ provider }) => ({
      cannotSend: await failureOf(tokenOf(provider).getFunction('transfer').send(carol, 1)),
      noCode: await failureOf(new Contract(carol, namedAbi, provider).name?.() as Promise<string>),
      noFunction: tokenOf(provider).interface.getFunction('nope'),
    }),
    ({ cannotSend, noCode }) => {
      expect(cannotSend).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'sendTransaction' })
      expect(noCode).toMatchObject({ code: 'BAD_DATA', value: '0x' })
    },
  )
})

describe('a refusal', () => {
  flow(
    'with a custom error is decoded in a call, and keeps its data in an estimate and a send',
    async (bed) => {
      const contract = new Contract(refuser, refuserAbi, signerOf(bed))
      const attempt = contract.getFunction('attempt')
      return [
        await failureOf(contract.look?.() as Promise<bigint>),
        await failureOf(attempt.staticCall(1)),
        await failureOf(attempt.estimateGas(1)),
        await failureOf(attempt.send(1)),
      ]
    },
    ([look, call, ...others]) => {
      const revert = { name: 'Refused', signature: 'Refused(address,uint256)', args: [refused.who, refused.amount] }
      for (const failure of [look, call]) expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', action: 'call', revert })
      // ethers itself decodes only the errors of calls, and leaves the others to its users.
      for (const failure of others) {
        expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', action: 'estimateGas', revert: null })
        expect(refuserAbi.parseError(failure.data as string)?.args.toArray()).toEqual(revert.args)
      }
    },
  )

  flow(
    'with a reason, with a panic, and without data',
    async (bed) => {
      const runner = signerOf(bed)
      const at = (address: string) => new Contract(address, refuserAbi, runner).getFunction('attempt')
      return {
        reason: [await failureOf(at(contracts.talker).staticCall(1)), await failureOf(at(contracts.talker).send(1))],
        panic: [await failureOf(at(contracts.panicker).staticCall(1)), await failureOf(at(contracts.panicker).send(1))],
        nothing: [
          await failureOf(tokenOf(runner).getFunction('transfer').staticCall(carol, 0)),
          await failureOf(tokenOf(runner).getFunction('transfer').send(carol, 0)),
        ],
      }
    },
    (told) => {
      for (const failure of told.reason) expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', reason, revert: { name: 'Error' } })
      for (const failure of told.panic)
        expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', reason: 'Panic due to OVERFLOW(17)', revert: { name: 'Panic', args: [0x11] } })
      for (const failure of told.nothing) expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', revert: null })
    },
  )

  flow(
    'that is mined rejects the wait, with the receipt',
    async (bed) => {
      const sent = await new Contract(refuser, refuserAbi, signerOf(bed)).getFunction('attempt').send(1, { gasLimit: 100_000 })
      await bed.mine()
      return failureOf(sent.wait())
    },
    (failure) => expect(failure).toMatchObject({ code: 'CALL_EXCEPTION', action: 'sendTransaction', receipt: { status: 0, blockNumber: 1 } }),
  )
})

describe('queryFilter', () => {
  /** One transfer of alice's and two of bob's, and an item for carol, in two blocks. */
  async function withEvents(bed: Bed) {
    const [ofAlice, ofBob] = [tokenOf(await bed.provider.getSigner()), tokenOf(signerOf(bed))]
    const gas = { gasLimit: 100_000 }
    await ofAlice.getFunction('transfer').send(carol, 1, gas)
    await bed.mine()
    await ofBob.getFunction('transfer').send(carol, 2, gas)
    await bed.mine()
    await ofBob.getFunction('transfer').send(alice, 3, gas)
    await bed.mine()
    await new Contract(collectible, collectibleAbi, await bed.provider.getSigner()).getFunction('mint').send(carol, gas)
    await bed.mine()
    return tokenOf(bed.provider)
  }

  flow(
    'by name, by arguments, by range, and of all events',
    async (bed) => {
      const contract = await withEvents(bed)
      const { Transfer, Approval } = contract.filters
      return {
        byName: await contract.queryFilter('Transfer'),
        byFrom: await contract.queryFilter(Transfer?.(bob.address) as never, 0, 'latest'),
        byTo: await contract.queryFilter(Transfer?.(null, [carol, alice]) as never, 2),
        inRange: await contract.queryFilter('Transfer', -3, 2),
        everything: await contract.queryFilter('*'),
        none: await contract.queryFilter(Approval?.() as never),
      }
    },
    ({ byName, byFrom, byTo, inRange, everything, none }) => {
      const amounts = (logs: (EventLog | Log)[]) => logs.map((log) => (log as EventLog).args.amount)
      expect([byName, byFrom, byTo, inRange, everything, none].map(amounts)).toEqual([[1n, 2n, 3n], [2n, 3n], [2n, 3n], [1n, 2n], [1n, 2n, 3n], []])
    },
  )

  flow(
    'leaves an event that does not match undecoded',
    async (bed) => {
      await withEvents(bed)
      return new Contract(collectible, tokenAbi, bed.provider).queryFilter('Transfer')
    },
    (logs) => {
      expect(logs).toHaveLength(1)
      expect(logs[0]).toBeInstanceOf(UndecodedEventLog)
    },
  )

  flow(
    'gives logs with access to their block, transaction and receipt',
    async (bed) => {
      const [log] = await (await withEvents(bed)).queryFilter('Transfer', 1, 1)
      return [await log?.getBlock(), await log?.getTransaction(), await log?.getTransactionReceipt(), log?.removed] as const
    },
    ([block, transaction, receipt]) => {
      expect(block?.number).toBe(1)
      expect(transaction?.from).toBe(alice)
      expect(receipt?.logs).toHaveLength(1)
    },
  )
})
