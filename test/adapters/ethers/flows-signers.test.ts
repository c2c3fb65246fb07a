import {
  HDNodeWallet,
  hashAuthorization,
  id,
  NonceManager,
  parseEther,
  parseUnits,
  Transaction,
  type TransactionReceipt,
  type TransactionRequest,
  type TransactionResponse,
  VoidSigner,
  verifyMessage,
  verifyTypedData,
  Wallet,
  ZeroAddress,
} from 'ethers'
import { describe, expect } from 'vitest'
import { account, alice, type Bed, bob, carol, ethersFlows, failureOf } from '../../support/ethers-flows.ts'
import { putContracts, refuser, refuserAbi, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'
import { nightly } from '../../support/runs.ts'

const flow = ethersFlows(putContracts)

const gwei = (amount: number) => parseUnits(`${amount}`, 'gwei')
const fees = { maxFeePerGas: gwei(20), maxPriorityFeePerGas: gwei(1) }
const accessList = [{ address: token, storageKeys: [`0x${'00'.repeat(32)}`] }]
const data = tokenAbi.encodeFunctionData('transfer', [carol, 5])

const signers = {
  'an account that anvil signs for': ({ provider }: Bed) => provider.getSigner(),
  'a wallet': async ({ provider }: Bed) => new Wallet(bob.privateKey, provider),
  'an HD wallet': async ({ provider }: Bed) => HDNodeWallet.fromPhrase((bob.mnemonic as { phrase: string }).phrase, '', bob.path as string).connect(provider),
}

/** Mines the transaction, and returns its outcome. */
async function settled({ mine, provider }: Bed, sent: TransactionResponse) {
  await mine()
  const receipt = (await sent.wait()) as TransactionReceipt
  return { sent, receipt, transaction: (await provider.getTransaction(sent.hash)) as TransactionResponse }
}

for (const [name, signerOf] of Object.entries(signers)) {
  describe(name, () => {
    const from = name.startsWith('an account') ? alice : bob.address

    flow(
      'sends a transaction with no other fields set',
      async (bed) => settled(bed, await (await signerOf(bed)).sendTransaction({ to: carol, value: parseEther('1') })),
      ({ sent, receipt, transaction }) => {
        expect(transaction).toMatchObject({ type: 2, from, nonce: 0, value: parseEther('1'), chainId: 31337n })
        expect(receipt).toMatchObject({ status: 1, gasUsed: 21_000n, hash: sent.hash })
      },
    )

    const requests: [number, TransactionRequest][] = [
      [0, { type: 0, gasPrice: gwei(3) }],
      [1, { type: 1, gasPrice: gwei(3), accessList }],
      [2, { type: 2, accessList, ...fees }],
    ]
    for (const [type, request] of requests)
      flow(
        `sends a transaction of type ${type}`,
        async (bed) => settled(bed, await (await signerOf(bed)).sendTransaction({ to: token, data, ...request })),
        ({ receipt, transaction }) => {
          expect(transaction).toMatchObject({ type, from, data, ...(type > 0 && { accessList }) })
          expect(receipt).toMatchObject({ type, status: 1 })
          expect(receipt.logs).toHaveLength(1)
        },
      )

    flow(
      'sends several in sequence',
      async (bed) => {
        const signer = await signerOf(bed)
        const sent = [await signer.sendTransaction({ to: carol, value: 1, ...fees }), await signer.sendTransaction({ to: carol, value: 2, ...fees })]
        return bed.mine(...sent.map(({ hash }) => hash))
      },
      (receipts) => expect(receipts.map((receipt) => receipt?.index)).toEqual([0, 1]),
    )

    flow(
      'signs a message given as text and as bytes',
      async (bed) => {
        const signer = await signerOf(bed)
        return [await signer.signMessage('hello'), await signer.signMessage(new TextEncoder().encode('hello'))]
      },
      ([ofText, ofBytes]) => {
        expect(verifyMessage('hello', ofText as string)).toBe(from)
        expect(ofBytes).toBe(ofText)
      },
    )

    const domain = { name: 'hexline', chainId: 31337, verifyingContract: token }
    const types = {
      Note: [
        { name: 'text', type: 'string' },
        { name: 'amount', type: 'uint256' },
      ],
    }
    const message = { text: 'hello', amount: 2n ** 70n }
    flow(
      'signs typed data',
      async (bed) => (await signerOf(bed)).signTypedData(domain, types, message),
      (signature) => expect(verifyTypedData(domain, types, message, signature)).toBe(from),
    )

    flow(
      'signs a transaction, which is broadcast',
      async (bed) => {
        const signer = await signerOf(bed)
        const signed = await signer.signTransaction(
          await signer.populateTransaction({ to: carol, value: 3, type: 2, nonce: 0, gasLimit: 21_000, chainId: 31337, ...fees }),
        )
        return { signed, ...(await settled(bed, await bed.provider.broadcastTransaction(signed))) }
      },
      ({ signed, receipt }) => {
        expect(Transaction.from(signed)).toMatchObject({ from, value: 3n })
        expect(receipt.status).toBe(1)
      },
    )

    flow(
      'returns its nonce, populates, estimates, calls, and resolves names as ethers does',
      async (bed) => {
        const signer = await signerOf(bed)
        return {
          nonces: [await signer.getNonce(), await signer.getNonce('pending')],
          whole: await signer.populateTransaction({ to: carol, value: 1 }),
          call: await signer.populateCall({ to: carol }),
          gas: await signer.estimateGas({ to: token, data }),
          called: await signer.call({ to: token, data }),
          name: await failureOf(signer.resolveName('vitalik.eth')),
          foreign: await failureOf(signer.sendTransaction({ from: carol, to: carol })),
        }
      },
      ({ nonces, whole, gas, called, foreign }) => {
        expect(nonces).toEqual([0, 0])
        expect(whole.from).toBe(from)
        expect(gas).toBeGreaterThan(21_000n)
        expect(BigInt(called)).toBe(1n)
        expect(foreign).toMatchObject({ code: 'INVALID_ARGUMENT', argument: name.startsWith('an account') ? 'transaction' : 'tx.from' })
      },
    )

    flow(
      "has ethers' errors for no funds, a used nonce, a low fee and a refusal",
      async (bed) => {
        const signer = await signerOf(bed)
        const plain = { to: carol, gasLimit: 21_000, ...fees }
        const poor = await failureOf(signer.sendTransaction({ ...plain, value: parseEther('99999') }))
        await signer.sendTransaction({ ...plain, nonce: 0 })
        const underpriced = await failureOf(signer.sendTransaction({ ...plain, nonce: 0, value: 9 }))
        await bed.mine()
        const late = await failureOf(signer.sendTransaction({ ...plain, nonce: 0 }))
        const gas = await failureOf(signer.sendTransaction({ ...plain, gasLimit: 20_000 }))
        const reverted = await failureOf(signer.sendTransaction({ to: refuser, data: refuserAbi.encodeFunctionData('attempt', [1]) }))
        return { poor, underpriced, late, gas, reverted }
      },
      ({ poor, underpriced, late, reverted }) => {
        expect([poor, underpriced, late, reverted].map(({ code }) => code)).toEqual([
          'INSUFFICIENT_FUNDS',
          'REPLACEMENT_UNDERPRICED',
          'NONCE_EXPIRED',
          'CALL_EXCEPTION',
        ])
      },
    )
  })
}

describe('other signers', () => {
  flow(
    'JsonRpcSigner.sendUncheckedTransaction gives the hash alone; _legacySignMessage signs',
    async ({ provider, mine }) => {
      const signer = await provider.getSigner()
      const hash = await signer.sendUncheckedTransaction({ to: carol, value: 7 })
      return {
        hash,
        receipts: await mine(hash),
        legacy: await signer._legacySignMessage('hello'),
        connected: await failureOf((async () => signer.connect(provider))()),
      }
    },
    ({ hash, receipts, legacy }) => {
      expect(receipts).toMatchObject([{ hash, status: 1, from: alice }])
      expect(verifyMessage('hello', legacy)).toBe(alice)
    },
  )

  flow(
    'NonceManager numbers what is sent at once, over a wallet',
    async ({ provider, mine }) => {
      const manager = new NonceManager(new Wallet(bob.privateKey, provider))
      const sent = await Promise.all(Array.from({ length: 8 }, (_, i) => manager.sendTransaction({ to: carol, value: i, gasLimit: 21_000, ...fees })))
      return { sent, receipts: await mine(...sent.map(({ hash }) => hash)), next: await manager.getNonce('pending') }
    },
    ({ sent, receipts, next }) => {
      expect(sent.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      expect(receipts.map((receipt) => receipt?.index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      expect(next).toBe(8)
    },
  )

  flow(
    'NonceManager over an account of anvil, with reset',
    async ({ provider, mine }) => {
      const manager = new NonceManager(await provider.getSigner())
      const sent = await Promise.all([1, 2, 3].map((value) => manager.sendTransaction({ to: carol, value })))
      await mine()
      manager.reset()
      const later = await manager.sendTransaction({ to: carol, value: 4 })
      return { nonces: sent.map(({ nonce, value }) => [nonce, value]), later }
    },
    ({ nonces, later }) => {
      expect(nonces).toEqual([
        [0, 1n],
        [1, 2n],
        [2, 3n],
      ])
      expect(later.nonce).toBe(3)
    },
  )

  flow(
    'VoidSigner reads in the name of another, and signs nothing',
    async ({ provider }) => {
      const signer = new VoidSigner(carol, provider)
      return {
        called: await signer.call({ to: token, data }),
        gas: await signer.estimateGas({ to: token, data }),
        populated: await signer.populateTransaction({ to: alice, value: 1 }),
        nonce: await signer.getNonce(),
        sent: await failureOf(signer.sendTransaction({ to: alice })),
        signed: await failureOf(signer.signMessage('hello')),
      }
    },
    ({ populated, sent, signed }) => {
      expect(populated).toMatchObject({ from: carol, to: alice, nonce: 0, chainId: 31337n })
      expect([sent.code, signed.code]).toEqual(['UNSUPPORTED_OPERATION', 'UNSUPPORTED_OPERATION'])
    },
  )
})

describe('newer types of transactions', () => {
  /**
   * All zero, a blob is the polynomial 0: commitment and proof are the point at infinity. No
   * trusted setup is needed for it.
   */
  const infinity = `0xc0${'00'.repeat(47)}`
  const kzg = { blobToKzgCommitment: () => infinity, computeBlobKzgProof: () => infinity }
  const blob = new Uint8Array(131_072)

  // Anvil takes 5 s to read the trusted setup when it gets its first blob.
  const withBlob = () =>
    flow(
      'type 3, with a blob',
      async (bed) => {
        const wallet = new Wallet(bob.privateKey, bed.provider)
        const request = { type: 3, to: carol, nonce: 0, chainId: 31337, gasLimit: 21_000, maxFeePerBlobGas: gwei(1), ...fees }
        const transaction = Transaction.from({ ...request, kzg: kzg as never, blobs: [blob] })
        const signed = wallet.signingKey.sign(transaction.unsignedHash)
        transaction.signature = signed
        return settled(bed, await bed.provider.broadcastTransaction(transaction.serialized))
      },
      ({ receipt, transaction }) => {
        expect(receipt).toMatchObject({ status: 1, type: 3, blobGasUsed: 131_072n, blobGasPrice: 1n })
        expect(transaction).toMatchObject({ type: 3, maxFeePerBlobGas: gwei(1), blobVersionedHashes: [expect.stringMatching(/^0x01[0-9a-f]{62}$/)] })
      },
    )
  for (const add of nightly(withBlob)) add()

  flow(
    'type 4, with an authorization of another account',
    async (bed) => {
      const other = account(5)
      const authorization = await other.connect(bed.provider).authorize({ address: token })
      const sent = await new Wallet(bob.privateKey, bed.provider).sendTransaction({ type: 4, to: other.address, data, authorizationList: [authorization] })
      return { authorization, ...(await settled(bed, sent)), code: await bed.provider.getCode(other.address) }
    },
    ({ authorization, receipt, transaction, code }) => {
      expect(hashAuthorization(authorization)).toMatch(/^0x/)
      expect(transaction).toMatchObject({ type: 4, authorizationList: [{ address: token, chainId: 31337n, nonce: 0n }] })
      // The account's own address: it is the token now.
      expect(receipt.logs).toMatchObject([{ address: account(5).address }])
      expect(code).toBe(`0xef0100${token.slice(2)}`)
    },
    { needsNew: true },
  )

  flow(
    "type 4, with an authorization of the sender's own",
    async (bed) => {
      const wallet = new Wallet(bob.privateKey, bed.provider)
      const populated = await wallet.populateAuthorization({ address: token, nonce: 1 })
      const sent = await wallet.sendTransaction({ type: 4, to: ZeroAddress, authorizationList: [await wallet.authorize(populated)] })
      return { populated, ...(await settled(bed, sent)), code: await bed.provider.getCode(bob.address) }
    },
    ({ transaction, code }) => {
      expect(transaction.authorizationList).toMatchObject([{ nonce: 1n }])
      expect(code).toBe(`0xef0100${token.slice(2)}`)
    },
    { needsNew: true },
  )

  flow(
    'broadcastTransaction of the same bytes again, and of invalid bytes',
    async ({ provider }) => {
      const signed = await bob.signTransaction({ type: 2, to: carol, value: 1, nonce: 0, gasLimit: 21_000, chainId: 31337, ...fees })
      const sent = await provider.broadcastTransaction(signed)
      return {
        sent,
        again: await failureOf(provider.broadcastTransaction(signed)),
        garbage: await failureOf(provider.broadcastTransaction('0x1234')),
        id: id(signed),
      }
    },
    ({ sent, again, garbage }) => {
      expect(sent).toMatchObject({ from: bob.address, blockNumber: null })
      expect(again.message).toContain('already')
      expect(garbage.code).toBeDefined()
    },
  )
})
