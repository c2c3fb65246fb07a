import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Transaction } from '../../src/index.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { loadSenderOf, type SenderOf } from '../../src/verify/sender.ts'
import { madeBlock } from '../support/decoded-blocks.ts'

const writer = new RlpWriter()
let senderOf: SenderOf
let transactions: Transaction[]
beforeAll(async () => {
  senderOf = await loadSenderOf()
  transactions = (await madeBlock()).block.transactions
})

describe('the sender of a transaction', () => {
  test('of EIP-155 is the account of its example', () => {
    const example = {
      ...{ type: 0, nonce: 9, gasPrice: 20_000_000_000n, gas: 21_000n, to: `0x${'35'.repeat(20)}`, value: 10n ** 18n, input: '0x', v: 37n },
      r: '0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276',
      s: '0x67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
    } as unknown as Transaction
    expect(senderOf(example, writer)).toBe(privateKeyToAccount(`0x${'46'.repeat(32)}`).address.toLowerCase())
    expect(senderOf({ ...example, v: 38n }, writer)).not.toBe(senderOf(example, writer))
    // Signed for another chain, it is from another account.
    expect(senderOf({ ...example, v: 39n }, writer)).not.toBe(senderOf(example, writer))
  })

  test('of each type, and from before EIP-155, is the account that signed', () => {
    const { address } = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    expect(transactions.map(({ type }) => type)).toEqual([0, 0, 1, 2, 3, 4, 2])
    expect(transactions[1]?.v).toBeLessThan(29n)
    for (const transaction of transactions) expect(senderOf(transaction, writer)).toBe(address.toLowerCase())
  })

  test('is recovered by v alone where a node gives no yParity', () => {
    const { yParity, ...rest } = transactions[3] as Transaction
    expect(senderOf({ ...rest, v: BigInt(yParity as number) }, writer)).toBe(rest.from)
    expect(senderOf({ ...rest, v: BigInt(1 - (yParity as number)) }, writer)).not.toBe(rest.from)
  })

  test('with an invalid signature is not recovered', () => {
    const [transaction] = transactions as [Transaction]
    for (const r of ['0x0', `0x${'f'.repeat(64)}`, 'x'] as const) expect(() => senderOf({ ...transaction, r: r as `0x${string}` }, writer)).toThrow()
    expect(() => senderOf({ ...transaction, s: '0x0' }, writer)).toThrow()
  })
})
