import {
  commitmentsToVersionedHashes,
  createWalletClient,
  getContractAddress,
  type Hex,
  type Kzg,
  numberToHex,
  parseEther,
  parseGwei,
  parseTransaction,
  recoverMessageAddress,
  recoverTypedDataAddress,
  zeroAddress,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { describe, expect } from 'vitest'
import { deployment, tokenCode } from '../../../demo/contracts.ts'
import { nightly } from '../../support/runs.ts'
import { account, alice, type Bed, bob, carol, chain, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { putContracts, refuser, refuserAbi, token, tokenAbi } from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(putContracts)

const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') }
const accessList = [{ address: token, storageKeys: [numberToHex(0, { size: 32 })] }] as const
const transfer = { address: token, abi: tokenAbi, functionName: 'transfer', args: [carol, 5n] } as const

/** Mines the transaction, and returns its outcome. */
async function settled({ reader, mine }: Bed, hash: Hex) {
  const [receipt] = await mine(hash)
  return { hash, receipt, transaction: await reader.getTransaction({ hash }) }
}

for (const who of ['unlocked', 'signer'] as const) {
  describe(who === 'unlocked' ? 'sendTransaction of an account that anvil signs for' : 'sendTransaction of an account that signs here', () => {
    const from = who === 'unlocked' ? alice : bob.address

    flow(
      'with no other fields set',
      async (bed) => settled(bed, await bed[who].sendTransaction({ to: carol, value: parseEther('1') })),
      ({ receipt, transaction }) => {
        expect(transaction).toMatchObject({ type: 'eip1559', from: from.toLowerCase(), nonce: 0, value: parseEther('1'), gas: 21_000n })
        expect(receipt?.status).toBe('success')
      },
    )

    flow(
      'of type 0',
      async (bed) => settled(bed, await bed[who].sendTransaction({ type: 'legacy', to: carol, value: 1n, gasPrice: parseGwei('3') })),
      ({ transaction }) => expect(transaction).toMatchObject({ type: 'legacy', gasPrice: parseGwei('3'), from: from.toLowerCase() }),
    )

    flow(
      'of type 1',
      async (bed) => settled(bed, await bed[who].sendTransaction({ type: 'eip2930', to: carol, value: 1n, gasPrice: parseGwei('3'), accessList })),
      ({ transaction }) => expect(transaction).toMatchObject({ type: 'eip2930', gasPrice: parseGwei('3'), accessList }),
    )

    flow(
      'of type 2',
      async (bed) => settled(bed, await bed[who].sendTransaction({ type: 'eip1559', to: carol, value: 1n, accessList, ...fees })),
      ({ transaction }) => expect(transaction).toMatchObject({ type: 'eip1559', ...fees, accessList }),
    )

    flow(
      'several in a row',
      async (bed) => {
        const hashes = [await bed[who].sendTransaction({ to: carol, value: 1n }), await bed[who].sendTransaction({ to: carol, value: 2n })]
        return bed.mine(...hashes)
      },
      (receipts) => expect(receipts.map((each) => each.transactionIndex)).toEqual([0, 1]),
    )

    flow(
      'without funds, or with too little gas, fails with viem’s error',
      async (bed) => [
        await failureOf(bed, bed[who].sendTransaction({ to: carol, value: parseEther('99999') })),
        await failureOf(bed, bed[who].sendTransaction({ to: carol, gas: 20_000n, ...fees })),
      ],
      ([funds, gas]) => {
        expect(funds?.errors.map((each) => (each as Error).name)).toContain('InsufficientFundsError')
        expect(gas?.errors[0]).toMatchObject({ name: 'TransactionExecutionError' })
      },
      { isWorded: true },
    )

    flow(
      'deployContract',
      async (bed) => {
        const hash = await bed[who].deployContract({ abi: tokenAbi, bytecode: deployment(tokenCode) })
        const [receipt] = await bed.mine(hash)
        return { receipt, code: await bed.reader.getCode({ address: receipt?.contractAddress as Hex }) }
      },
      ({ receipt, code }) => {
        expect(receipt?.contractAddress).toBe(getContractAddress({ from, nonce: 0n }).toLowerCase())
        expect(code).toBe(`0x${tokenCode}`)
      },
    )

    flow(
      'writeContract',
      async (bed) => settled(bed, await bed[who].writeContract(transfer)),
      ({ receipt }) => expect(receipt).toMatchObject({ status: 'success', logs: [{ address: token, data: numberToHex(5, { size: 32 }) }] }),
    )

    flow(
      'signMessage of text and of bytes',
      async (bed) => [await bed[who].signMessage({ message: 'hello' }), await bed[who].signMessage({ message: { raw: '0x68656c6c6f' } })],
      async ([ofText, ofBytes]) => {
        expect(await recoverMessageAddress({ message: 'hello', signature: ofText as Hex })).toBe(from)
        expect(ofBytes).toBe(ofText)
      },
    )

    const typed = {
      domain: { name: 'hexline', chainId: chain.id, verifyingContract: token },
      types: { Note: [{ name: 'text', type: 'string' } as const, { name: 'amount', type: 'uint256' } as const] },
      primaryType: 'Note' as const,
      message: { text: 'hello', amount: 2n ** 70n },
    }
    flow(
      'signTypedData',
      async (bed) => bed[who].signTypedData(typed),
      async (signature) => expect(await recoverTypedDataAddress({ ...typed, signature })).toBe(from),
    )

    flow(
      'signTransaction and sendRawTransaction',
      async (bed) => {
        const request = await bed[who].prepareTransactionRequest({ to: carol, value: 3n })
        const serializedTransaction = (await bed[who].signTransaction(request as never)) as Hex
        return { serializedTransaction, ...(await settled(bed, await bed[who].sendRawTransaction({ serializedTransaction }))) }
      },
      ({ serializedTransaction, transaction }) => {
        expect(parseTransaction(serializedTransaction)).toMatchObject({ value: 3n, gas: 21_000n, chainId: chain.id })
        expect(transaction).toMatchObject({ from: from.toLowerCase(), value: 3n })
      },
    )

    flow(
      'prepareTransactionRequest, complete and partial',
      async (bed) => {
        const whole = await bed[who].prepareTransactionRequest({ to: carol, value: 1n })
        const part = await bed[who].prepareTransactionRequest({ to: carol, parameters: ['nonce', 'type'] })
        const { account: _, ...rest } = whole
        return { whole: rest, nonce: part.nonce, type: part.type, gas: (part as { gas?: bigint }).gas }
      },
      ({ whole, nonce, gas }) => {
        expect(whole).toMatchObject({ chainId: chain.id, from, gas: 21_000n, nonce: 0, type: 'eip1559' })
        expect(nonce).toBe(0)
        expect(gas).toBeUndefined()
      },
    )
  })
}

describe('other types of transactions', () => {
  /**
   * All zero, a blob is the polynomial 0: commitment and proof are the point at infinity. No
   * trusted setup is needed for it.
   */
  const infinity = new Uint8Array(48).fill(0xc0, 0, 1)
  const kzg: Kzg = { blobToKzgCommitment: () => infinity, computeBlobKzgProof: () => infinity }
  const blob: Hex = `0x${'00'.repeat(131_072)}`

  // Anvil takes 5 s to read the trusted setup when it gets its first blob.
  const withBlob = () =>
    flow(
      'type 3, with a blob',
      async (bed) => {
        const hash = await bed.signer.sendTransaction({ blobs: [blob], kzg, to: carol, maxFeePerBlobGas: parseGwei('1'), gas: 21_000n, ...fees })
        return settled(bed, hash)
      },
      ({ receipt, transaction }) => {
        expect(receipt).toMatchObject({ status: 'success', type: 'eip4844', blobGasUsed: 131_072n, blobGasPrice: 1n })
        const blobVersionedHashes = commitmentsToVersionedHashes({ commitments: [infinity], to: 'hex' })
        expect(transaction).toMatchObject({ type: 'eip4844', blobVersionedHashes, maxFeePerBlobGas: parseGwei('1') })
      },
      // anvil panics on the proofs that an old viem sends.
      { needsNew: true },
    )
  for (const add of nightly(withBlob)) add()

  flow(
    'type 4, with an authorization of another account',
    async (bed) => {
      const authorizationList = [await bed.signer.signAuthorization({ account: account(5), contractAddress: token })]
      const hash = await bed.signer.sendTransaction({ to: account(5).address, authorizationList, data: `0xa9059cbb${'00'.repeat(31)}05${'00'.repeat(31)}06` })
      const told = await settled(bed, hash)
      return {
        ...told,
        code: await bed.reader.getCode({ address: account(5).address }),
        delegate: await bed.reader.getDelegation({ address: account(5).address }),
      }
    },
    ({ receipt, transaction, code, delegate }) => {
      expect(transaction).toMatchObject({ type: 'eip7702', authorizationList: [{ address: token, chainId: chain.id, nonce: 0 }] })
      // The account's own address: it is the token now.
      expect(receipt?.logs).toMatchObject([{ address: account(5).address.toLowerCase() }])
      expect(code).toBe(`0xef0100${token.slice(2)}`)
      expect(delegate).toBe(token)
    },
    { needsNew: true },
  )

  flow(
    "type 4, with an authorization of the sender's own",
    async (bed) => {
      const authorizationList = [await bed.signer.signAuthorization({ contractAddress: token, executor: 'self' })]
      const { transaction } = await settled(bed, await bed.signer.sendTransaction({ to: zeroAddress, authorizationList }))
      return { transaction, delegate: await bed.reader.getDelegation({ address: bob.address }) }
    },
    ({ transaction, delegate }) => {
      expect(transaction.authorizationList).toMatchObject([{ nonce: 1 }])
      expect(delegate).toBe(token)
    },
    { needsNew: true },
  )
})

describe('wallets', () => {
  flow(
    'a call that the contract refuses fails before it is signed',
    async (bed) => failureOf(bed, bed.signer.writeContract({ address: refuser, abi: refuserAbi, functionName: 'attempt', args: [1n] })),
    ({ message }) => expect(message).toContain('Refused(address who, uint256 amount)'),
  )

  flow(
    'a call that the contract refuses is mined where anvil signs',
    async (bed) => settled(bed, await bed.unlocked.writeContract({ address: refuser, abi: refuserAbi, functionName: 'attempt', args: [1n], gas: 100_000n })),
    ({ receipt }) => expect(receipt?.status).toBe('reverted'),
  )

  flow(
    'a transaction for another chain is refused',
    async (bed) => failureOf(bed, bed.unlocked.sendTransaction({ to: carol, chain: { ...chain, id: 5 } })),
    ({ errors }) => expect(errors.map((each) => (each as Error).name)).toContain('ChainMismatchError'),
  )

  flow(
    'getAddresses, requestAddresses of anvil, and getChainId',
    async ({ unlocked, signer }) => ({
      unlocked: await unlocked.getAddresses(),
      signer: await signer.getAddresses(),
      chainId: await signer.getChainId(),
    }),
    ({ unlocked, signer, chainId }) => {
      expect(unlocked).toHaveLength(10)
      expect(unlocked[0]).toBe(alice)
      expect(signer).toEqual([bob.address])
      expect(chainId).toBe(chain.id)
    },
  )

  flow(
    'methods of wallets only fail with viem’s error',
    async (bed) => ({
      addChain: await failureOf(bed, bed.unlocked.addChain({ chain })),
      switchChain: await failureOf(bed, bed.unlocked.switchChain({ id: 1 })),
      sendCalls: await failureOf(bed, bed.unlocked.sendCalls({ calls: [{ to: carol, value: 1n }] })),
    }),
    ({ addChain, switchChain, sendCalls }) => {
      expect(addChain.errors[0]).toMatchObject({ name: 'MethodNotFoundRpcError' })
      expect(switchChain.errors[0]).toMatchObject({ name: 'MethodNotFoundRpcError' })
      expect(sendCalls.message).toContain('wallet_sendCalls')
    },
    { isWorded: true },
  )

  flow(
    'watchAsset, whose params are an object',
    async (bed) => failureOf(bed, bed.unlocked.watchAsset({ type: 'ERC20', options: { address: token, decimals: 18, symbol: 'HEX' } })),
    ({ message }) => expect(message).toContain('Request body: {"method":"wallet_watchAsset","params":{"type":"ERC20"'),
    { isWorded: true },
  )

  flow(
    'a nonce manager numbers simultaneous transactions',
    async (bed) => {
      const nonceManager = createNonceManager({ source: jsonRpc() })
      const dave = privateKeyToAccount(`0x${'77'.repeat(32)}`, { nonceManager })
      await bed.tester.setBalance({ address: dave.address, value: parseEther('10') })
      const wallet = createWalletClient({ account: dave, chain, transport: bed.transport })
      const sent = Array.from({ length: 5 }, () => wallet.sendTransaction({ to: carol, value: 1n, gas: 21_000n, ...fees }))
      const receipts = await bed.mine(...(await Promise.all(sent)))
      return { receipts, next: await bed.reader.getTransactionCount({ address: dave.address }) }
    },
    ({ receipts, next }) => {
      expect(receipts.map((each) => each.transactionIndex)).toEqual([0, 1, 2, 3, 4])
      expect(next).toBe(5)
    },
  )

  flow(
    'the same raw transaction twice, and one with a nonce that is used up',
    async (bed) => {
      const send = { to: carol, value: 1n, nonce: 0, gas: 21_000n, ...fees }
      const serializedTransaction = await bed.signer.signTransaction(send)
      const hash = await bed.signer.sendRawTransaction({ serializedTransaction })
      const again = await failureOf(bed, bed.signer.sendRawTransaction({ serializedTransaction }))
      await bed.mine()
      return { hash, again, late: await failureOf(bed, bed.signer.sendTransaction({ ...send, value: 2n })) }
    },
    ({ again, late }) => {
      expect(again.message).toContain('transaction already imported')
      expect(late.errors.map((each) => (each as Error).name)).toContain('NonceTooLowError')
    },
  )

  flow(
    'sendTransactionSync and writeContractSync return the receipt',
    async ({ tester, signer, unlocked }) => {
      await tester.setAutomine(true)
      return [await signer.sendTransactionSync({ to: carol, value: 1n }), await unlocked.writeContractSync(transfer)]
    },
    ([plain, written]) => {
      expect(plain).toMatchObject({ status: 'success', blockNumber: 1n })
      expect(written).toMatchObject({ status: 'success', blockNumber: 2n, logs: [{ address: token }] })
    },
  )
})
