import { RLP } from '@ethereumjs/rlp'
import { type Hex, hexToBytes, keccak256, serializeTransaction, type TransactionSerializable } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Transaction } from '../../src/index.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { repeatFault, signedChainId, transactionFields, transactionTypes, writeTransaction, writeUnsigned } from '../../src/verify/transaction.ts'
import { written } from '../support/written.ts'

const writer = new RlpWriter()
const encoded = (transaction: object, type?: number): Hex => {
  writer.clear()
  writeTransaction(writer, transaction as Transaction, type)
  return written(writer)
}
const unsigned = (transaction: object): Hex => {
  writer.clear()
  writeUnsigned(writer, transaction as Transaction)
  return written(writer)
}

/** The example of EIP-155. */
const example = {
  type: 0,
  nonce: 9,
  gasPrice: 20_000_000_000n,
  gas: 21_000n,
  to: `0x${'35'.repeat(20)}`,
  value: 10n ** 18n,
  input: '0x',
  v: 37n,
  r: '0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276',
  s: '0x67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
}
const address = (digit: string): Hex => `0x${digit.repeat(40)}`
const word = (digit: string): Hex => `0x${digit.repeat(64)}`

describe('the example of EIP-155', () => {
  test('has the bytes of the text', () => {
    expect(encoded(example)).toBe(
      '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
    )
  })

  test('was signed as the text says', () => {
    expect(unsigned(example)).toBe('0xec098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a764000080018080')
    expect(keccak256(unsigned(example))).toBe('0xdaf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53')
    // Before EIP-155, without the chain.
    const before = unsigned({ ...example, v: 28n })
    expect(before).toBe('0xe9098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a764000080')
    expect(unsigned({ ...example, v: 35n })).not.toBe(before)
    expect(unsigned({ ...example, v: 34n })).toBe(before)
  })
})

describe('types 1 to 4 are written as viem does', () => {
  const fields = { chainId: 7, nonce: 300, gas: 50_000n, to: address('a'), value: 3n }
  const accessList = [
    { address: address('b'), storageKeys: [word('1'), word('2')] },
    { address: address('c'), storageKeys: [] },
  ]
  const signature = { r: word('8'), s: word('4'), yParity: 1 } as const
  const fees = { maxFeePerGas: 9n, maxPriorityFeePerGas: 2n }
  const authorization = { chainId: 1, address: address('d'), nonce: 2, yParity: 0, r: word('5'), s: word('6') } as const
  const cases: readonly [number, TransactionSerializable, object][] = [
    [1, { ...fields, type: 'eip2930', gasPrice: 5n, accessList, data: '0x1234' }, { gasPrice: 5n, accessList, input: '0x1234' }],
    [2, { ...fields, ...fees, type: 'eip1559', accessList }, { ...fees, accessList, input: '0x' }],
    [
      3,
      { ...fields, ...fees, type: 'eip4844', maxFeePerBlobGas: 4n, blobVersionedHashes: [`0x01${'e'.repeat(62)}`], sidecars: false },
      { ...fees, maxFeePerBlobGas: 4n, blobVersionedHashes: [`0x01${'e'.repeat(62)}`], input: '0x' },
    ],
    [4, { ...fields, ...fees, type: 'eip7702', authorizationList: [authorization] }, { ...fees, authorizationList: [authorization], input: '0x' }],
  ]

  test.each(cases)('type %d', (type, theirs, own) => {
    const transaction = { ...fields, ...own, ...signature, type }
    expect(encoded(transaction)).toBe(serializeTransaction(theirs, signature))
    expect(unsigned(transaction)).toBe(serializeTransaction(theirs))
    // Some nodes give only `v`.
    expect(encoded({ ...transaction, yParity: undefined, v: 1n })).toBe(encoded(transaction))
  })

  test('one that makes a contract has no address', () => {
    const { to: _, ...deploying } = fields
    const theirs = serializeTransaction({ ...deploying, ...fees, type: 'eip1559' }, signature)
    for (const to of [null, undefined]) expect(encoded({ ...deploying, ...fees, ...signature, to, input: '0x', type: 2 })).toBe(theirs)
  })
})

describe("a chain's own types are the list of their specification", () => {
  const bytes = (hex: string) => hexToBytes(hex as Hex)
  const [from, to, other] = [address('1'), address('2'), address('3')]
  const [id, chainId] = [word('9'), 42161]
  // The same fields in other places would have another encoding.
  const call = { gas: 4n, to, value: 5n, input: '0x66' }
  const ofCall = [4, bytes(to), 5, bytes('0x66')]
  const cases: readonly [number, object, readonly unknown[]][] = [
    [0x64, { chainId, requestId: id, from, to, value: 5n }, [chainId, bytes(id), bytes(from), bytes(to), 5]],
    [0x65, { chainId, from, nonce: 2, maxFeePerGas: 3n, ...call }, [chainId, bytes(from), 2, 3, ...ofCall]],
    [0x66, { chainId, requestId: id, from, maxFeePerGas: 3n, ...call }, [chainId, bytes(id), bytes(from), 3, ...ofCall]],
    [
      0x68,
      { chainId, nonce: 2, from, gasPrice: 3n, ...call, ticketId: id, refundTo: other, maxRefund: '0x7', submissionFeeRefund: '0x8' },
      [chainId, 2, bytes(from), 3, ...ofCall, bytes(id), bytes(other), 7, 8],
    ],
    [
      0x69,
      {
        ...{ chainId, requestId: id, from, l1BaseFee: '0x1', depositValue: '0x2', maxFeePerGas: 3n, gas: 4n, retryTo: null, retryValue: '0x5' },
        ...{ beneficiary: to, maxSubmissionFee: '0x6', refundTo: other, retryData: '0x77' },
      },
      [chainId, bytes(id), bytes(from), 1, 2, 3, 4, new Uint8Array(), 5, bytes(to), 6, bytes(other), bytes('0x77')],
    ],
    [0x6a, { chainId, input: '0x1234' }, [chainId, bytes('0x1234')]],
    [
      0x7e,
      { sourceHash: id, from, to, mint: '0x9', value: 5n, gas: 4n, isSystemTx: true, input: '0x66' },
      [bytes(id), bytes(from), bytes(to), 9, 5, 4, 1, bytes('0x66')],
    ],
    [
      0x7e,
      { sourceHash: id, from, to: null, value: 5n, gas: 4n, isSystemTx: false, input: '0x' },
      [bytes(id), bytes(from), new Uint8Array(), 0, 5, 4, 0, new Uint8Array()],
    ],
  ]

  test.each(cases)('type %i: %o', (type, transaction, list) => {
    const expected = Uint8Array.of(type, ...RLP.encode(list as never))
    expect(encoded({ ...transaction, type })).toBe(`0x${Buffer.from(expected).toString('hex')}`)
  })

  /** What may be left out: there is none, it is 0, or it is false. */
  const optional: Readonly<Record<number, readonly string[]>> = { 101: ['to'], 102: ['to'], 104: ['to'], 105: ['retryTo'], 126: ['to', 'mint', 'isSystemTx'] }

  test.each(cases)('type %i: %o has no other field that may be left out', (type, transaction) => {
    for (const name of Object.keys(transaction)) {
      const less = () => encoded({ ...transaction, type, [name]: undefined })
      if (optional[type]?.includes(name)) expect(less).not.toThrow()
      else expect(less, name).toThrow(`${name === 'gasPrice' ? 'maxFeePerGas' : name}: expected`)
    }
  })
})

test('the fields that a hash covers', () => {
  expect([...transactionTypes]).toEqual([0, 1, 2, 3, 4, 0x7e, 0x64, 0x65, 0x66, 0x68, 0x69, 0x6a])
  expect([...(transactionFields(0) ?? [])]).toEqual(['nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'v', 'r', 's'])
  expect(transactionFields(2)?.has('chainId')).toBe(true)
  // What stands in for a field that is absent is not covered where both are there.
  expect(transactionFields(2)?.has('v')).toBe(false)
  expect(transactionFields(0x65)?.has('gasPrice')).toBe(false)
  expect(transactionFields(5)).toBeUndefined()
})

describe('what a transaction says twice', () => {
  test.each<[object, object | undefined]>([
    [{ type: 0, v: 27n, yParity: 0 }, undefined],
    [{ type: 0, v: 28n, yParity: 1 }, undefined],
    [
      { type: 0, v: 28n, yParity: 0 },
      { name: 'yParity', expected: 1 },
    ],
    [
      { type: 0, v: 27n, yParity: 1 },
      { name: 'yParity', expected: 0 },
    ],
    [{ type: 0, v: 35n, yParity: 0, chainId: 0 }, undefined],
    [
      { type: 0, v: 36n, yParity: 0, chainId: 0 },
      { name: 'yParity', expected: 1 },
    ],
    [{ type: 0, v: 37n, chainId: 1 }, undefined],
    [
      { type: 0, v: 38n, chainId: 2 },
      { name: 'chainId', expected: 1 },
    ],
    // Before EIP-155, it says no chain; of some systems, it is no signature at all.
    [{ type: 0, v: 28n, chainId: 5 }, undefined],
    [{ type: 0, v: 0n, yParity: 1 }, undefined],
    [{ type: 2, v: 1n, yParity: 1 }, undefined],
    [
      { type: 4, v: 1n, yParity: 0 },
      { name: 'v', expected: 0 },
    ],
    [{ type: 0x7e, v: 1n, yParity: 0 }, undefined],
    [{ type: 1, v: undefined, yParity: 1 }, undefined],
    [{ type: 1, v: 1n }, undefined],
  ])('%o', (transaction, expected) => expect(repeatFault(transaction as Transaction)).toEqual(expected))
})

test.each<[object, number | undefined]>([
  [{ type: 0, v: 27n, chainId: 5 }, undefined],
  [{ type: 0, v: 34n, chainId: 5 }, undefined],
  [{ type: 0, v: 35n }, 0],
  [{ type: 0, v: 38n, chainId: 5 }, 1],
  [{ type: 0, v: undefined, chainId: 5 }, undefined],
  [{ type: 2, v: 38n, chainId: 5 }, 5],
  [{ type: 0x7e }, undefined],
])('the chain that %o was signed for', (transaction, expected) => expect(signedChainId(transaction as Transaction)).toBe(expected))
