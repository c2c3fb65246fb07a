import { BrowserProvider, Contract, ContractFactory, type Eip1193Provider, parseEther, parseUnits, verifyMessage, verifyTypedData, Wallet } from 'ethers'
import type { HexlineProvider } from 'hexline/ethers'
import { describe, expect } from 'vitest'
import { alice, type Bed, bob, carol, collector, ethersFlows, failureOf, fast, network } from '../../support/ethers-flows.ts'
import {
  named,
  namedAbi,
  putContracts,
  reason,
  refused,
  refuser,
  refuserAbi,
  talker,
  token,
  tokenAbi,
  tokenDeployment,
} from '../../support/ethers-flows-contracts.ts'

const flow = ethersFlows(putContracts)

/** ethers' BrowserProvider over a hexline client, or over an equivalent with a JsonRpcProvider. */
function browserOf({ provider, isHexline }: Bed, options: object = {}) {
  const shim: Eip1193Provider = { request: ({ method, params = [] }) => provider.send(method, params) }
  return new BrowserProvider(isHexline ? (provider as HexlineProvider).client : shim, undefined, {
    cacheTimeout: fast.cacheTimeout,
    pollingInterval: fast.pollingInterval,
    ...options,
  })
}

/**
 * A failure in what ethers' users look at: below lies what the EIP-1193 provider failed with,
 * ethers' own error or hexline's.
 */
async function namesOf(promise: Promise<unknown>) {
  const { code, action, reason, revert, operation } = await failureOf(promise)
  return { code, action, reason, revert, operation }
}

describe('BrowserProvider(client)', () => {
  flow(
    'reads everything',
    async (bed) => {
      await bed.mine()
      const provider = browserOf(bed)
      const told = {
        network: await provider.getNetwork(),
        number: await provider.getBlockNumber(),
        blocks: [await provider.getBlock(0), await provider.getBlock('latest', true), await provider.getBlock(99)],
        account: await Promise.all([provider.getBalance(carol), provider.getTransactionCount(alice), provider.getCode(token), provider.getStorage(token, 0)]),
        fees: await provider.getFeeData(),
        name: await new Contract(named, namedAbi, provider).name?.(),
        version: await provider.send('net_version', []),
      }
      provider.destroy()
      return told
    },
    ({ network, number, account, name, version }) => {
      expect([network.chainId, number, account[0], name, version]).toEqual([31337n, 1, parseEther('10000'), 'Hexline', '31337'])
    },
  )

  flow(
    "has the node's signers, which sign and send",
    async (bed) => {
      const provider = browserOf(bed)
      const signer = await provider.getSigner()
      const typed = [{ name: 'hexline', chainId: 31337 }, { Note: [{ name: 'text', type: 'string' }] }, { text: 'hello' }] as const
      const types = { Note: [...typed[1].Note] }
      const has = [await provider.hasSigner(0), await provider.hasSigner(carol), await provider.hasSigner(token)]
      const signatures = [await signer.signMessage('hello'), await signer.signTypedData(typed[0], types, typed[2])]
      const sent = await signer.sendTransaction({ to: carol, value: 1 })
      const [receipt] = await bed.mine(sent.hash)
      const waited = await sent.wait()
      provider.destroy()
      return { has, address: signer.address, signatures, sent, receipt, waited, recovered: verifyTypedData(typed[0], types, typed[2], signatures[1] as string) }
    },
    ({ has, address, signatures, receipt, recovered }) => {
      expect(has).toEqual([true, true, false])
      expect([address, verifyMessage('hello', signatures[0] as string), recovered]).toEqual([alice, alice, alice])
      expect(receipt?.status).toBe(1)
    },
  )

  flow(
    'deploys and calls contracts, and reports refusals',
    async (bed) => {
      const provider = browserOf(bed)
      const wallet = new Wallet(bob.privateKey, provider)
      const contract = await new ContractFactory(tokenAbi, tokenDeployment, wallet).deploy()
      await bed.mine()
      await contract.waitForDeployment()
      const sent = await contract.getFunction('transfer').send(carol, 5)
      await bed.mine()
      const receipt = await sent.wait()
      const logs = await contract.queryFilter('Transfer')
      const failures = [
        await namesOf(new Contract(refuser, refuserAbi, provider).look?.() as Promise<unknown>),
        await namesOf(new Contract(talker, refuserAbi, provider).look?.() as Promise<unknown>),
        await namesOf(provider.estimateGas({ to: talker })),
      ]
      provider.destroy()
      return { address: contract.target, receipt, logs, failures }
    },
    ({ logs, failures }) => {
      expect(logs).toMatchObject([{ eventName: 'Transfer', args: [bob.address, carol, 5n] }])
      expect(failures).toMatchObject([
        { code: 'CALL_EXCEPTION', revert: { name: 'Refused', args: [refused.who, refused.amount] } },
        { code: 'CALL_EXCEPTION', action: 'call', reason },
        { code: 'CALL_EXCEPTION', action: 'estimateGas', reason },
      ])
    },
  )

  flow(
    'reports refused transactions as ethers does',
    async (bed) => {
      const provider = browserOf(bed)
      const plain = {
        type: 2,
        to: carol,
        gasLimit: 21_000,
        chainId: 31337,
        nonce: 0,
        maxFeePerGas: parseUnits('20', 'gwei'),
        maxPriorityFeePerGas: parseUnits('1', 'gwei'),
      }
      const broadcast = async (request: object) => provider.broadcastTransaction(await bob.signTransaction({ ...plain, ...request }))
      const poor = await namesOf(broadcast({ value: parseEther('99999') }))
      await broadcast({ value: 1 })
      const cheap = await namesOf(broadcast({ value: 2 }))
      await bed.mine()
      const late = await namesOf(broadcast({ value: 3 }))
      provider.destroy()
      return [poor, cheap, late]
    },
    (failures) => expect(failures.map(({ code }) => code)).toEqual(['INSUFFICIENT_FUNDS', 'REPLACEMENT_UNDERPRICED', 'NONCE_EXPIRED']),
  )

  flow(
    'emits blocks, logs and pending transactions',
    async (bed) => {
      const provider = browserOf(bed, { staticNetwork: network })
      const [blocks, logs, pending] = [collector<number>(2), collector<bigint>(2), collector<string>(2)]
      const contract = new Contract(token, tokenAbi, provider)
      const ready = collector<unknown>(2)
      let inFlight = 0
      let whenIdle = () => {}
      const idle = () =>
        new Promise<void>((resolve) => {
          whenIdle = resolve
        })
      await provider.on('debug', ({ action, payload }) => {
        if (action === 'sendEip1193Request') inFlight++
        else if (/Eip1193(Result|Error)$/.test(action) && --inFlight === 0) whenIdle()
        if (action === 'sendEip1193Request' && payload.method === 'eth_getFilterChanges') ready.add(payload)
      })
      await provider.on('block', (number) => blocks.add(number))
      await contract.on('Transfer', (_, __, amount) => logs.add(amount))
      await provider.on('pending', (hash) => pending.add(hash))
      await ready.all
      const signer = new Contract(token, tokenAbi, await provider.getSigner())
      const sent = [await signer.getFunction('transfer').send(carol, 1), await signer.getFunction('transfer').send(carol, 2)]
      const told = await mineEach(bed, provider, Promise.all([blocks.all, logs.all, pending.all]))
      // When destroyed, ethers prints the fate of the filters that it polls.
      await idle()
      provider.destroy()
      return { sent: sent.map(({ hash }) => hash), blocks: told[0], logs: told[1], pending: told[2] }
    },
    ({ sent, blocks, logs, pending }) => {
      expect([blocks, logs, pending]).toEqual([[1, 2], [1n, 2n], sent])
    },
  )
})

/** Mines until it is done, each block once the provider has told of the last. */
async function mineEach<T>(bed: Bed, provider: BrowserProvider, done: Promise<T>): Promise<T> {
  let isDone = false
  const end = done.finally(() => {
    isDone = true
  })
  while (!isDone) {
    const told = new Promise((resolve) => void provider.once('block', resolve))
    await bed.mine()
    await Promise.race([end, told])
  }
  return end
}
