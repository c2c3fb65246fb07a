import fc from 'fast-check'
import { type Hex, hexToBytes, keccak256, parseGwei, serializeTransaction, type TransactionSerializable, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { transactionHash } from '../../src/index.ts'
import { runs } from '../support/runs.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const to = '0x00000000000000000000000000000000000000a1' as const
const word: Hex = `0x${'0b'.repeat(32)}`
const fees = { chainId: 1, nonce: 7, gas: 21_000n, maxFeePerGas: parseGwei('30'), maxPriorityFeePerGas: parseGwei('2') } as const

/** The hash ignores blobs, commitments and proofs, so they need not be valid. */
const sidecar = (bytes: number) => ({
  blob: toHex(new Uint8Array(bytes).fill(7)),
  commitment: toHex(new Uint8Array(48).fill(8)),
  proof: toHex(new Uint8Array(48).fill(9)),
})
const versionedHash: Hex = `0x01${'cd'.repeat(31)}`
const blobFields = { ...fees, type: 'eip4844', to, maxFeePerBlobGas: 5n, blobVersionedHashes: [versionedHash] } as const

const kinds: [string, () => Promise<TransactionSerializable>][] = [
  ['type 0', async () => ({ type: 'legacy', chainId: 1, nonce: 0, gas: 21_000n, gasPrice: parseGwei('5'), to, value: 1n })],
  ['type 0 before EIP-155', async () => ({ type: 'legacy', nonce: 0, gas: 21_000n, gasPrice: parseGwei('5'), to, value: 1n })],
  ['type 0 with a long list', async () => ({ type: 'legacy', chainId: 1, gas: 9_000_000n, gasPrice: 1n, data: toHex(new Uint8Array(70_000).fill(1)) })],
  ['type 1', async () => ({ type: 'eip2930', chainId: 1, gas: 30_000n, gasPrice: 1n, to, accessList: [{ address: to, storageKeys: [word] }] })],
  ['type 2', async () => ({ ...fees, type: 'eip1559', to, value: 1n, data: '0xdeadbeef' })],
  ['type 2 that deploys', async () => ({ ...fees, type: 'eip1559', data: '0x600080' })],
  ['type 4', async () => ({ ...fees, type: 'eip7702', to, authorizationList: [await account.signAuthorization({ chainId: 1, address: to, nonce: 1 })] })],
]

describe('transactionHash', () => {
  test.each(kinds)('of %s is the keccak256 of what is sent', async (_, transaction) => {
    const raw = await account.signTransaction(await transaction())
    expect(await transactionHash(raw)).toBe(keccak256(raw))
  })

  test('of type 3 without blobs is the keccak256 of the sent bytes', async () => {
    const raw = await account.signTransaction({ ...blobFields, sidecars: false })
    expect(await transactionHash(raw)).toBe(keccak256(raw))
  })

  // Blobs of real length make the outer list's length three bytes long; the short ones, one byte
  // and two.
  test.each([
    ['one blob', [131_072]],
    ['six blobs', [131_072, 131_072, 131_072, 131_072, 131_072, 131_072]],
    ['a blob of a byte', [1]],
    ['a blob of 300 bytes', [300]],
  ])('of type 3 in its network form omits the blobs: %s', async (_, sizes) => {
    const sidecars = sizes.map(sidecar)
    const transaction = { ...blobFields, blobVersionedHashes: sizes.map(() => versionedHash), sidecars }
    const canonical = await account.signTransaction({ ...transaction, sidecars: false })
    const network = await account.signTransaction(transaction)
    expect(network.length).toBeGreaterThan(canonical.length)
    expect(await transactionHash(network)).toBe(keccak256(canonical))
    expect(await transactionHash(network)).not.toBe(keccak256(network))
  })

  test('of type 3 with cell proofs (EIP-7594) omits them, too', async () => {
    const canonical = hexToBytes(await account.signTransaction({ ...blobFields, sidecars: false }))
    // `0x03 || rlp([body, version, blobs, commitments, proofs])`, the last three empty.
    const payload = [...canonical.subarray(1), 0x01, 0xc0, 0xc0, 0xc0]
    const network = toHex(new Uint8Array([3, 0xf8, payload.length, ...payload]))
    expect(payload.length).toBeLessThan(256)
    expect(await transactionHash(network)).toBe(keccak256(canonical))
  })

  test('is the same for upper case digits', async () => {
    const raw = await account.signTransaction({ ...fees, type: 'eip1559', to, data: '0xabcdef' })
    expect(await transactionHash(`0x${raw.slice(2).toUpperCase()}`)).toBe(keccak256(raw))
  })

  test('equals that of viem for any fields', async () => {
    const fields = fc.record({
      nonce: fc.nat(),
      value: fc.bigInt({ min: 0n, max: 2n ** 100n }),
      data: fc.uint8Array({ maxLength: 400 }).map((bytes) => toHex(bytes)),
      type: fc.constantFrom('eip1559' as const, 'eip4844' as const),
    })
    await fc.assert(
      fc.asyncProperty(fields, async ({ type, ...rest }) => {
        const transaction = type === 'eip4844' ? { ...blobFields, ...rest, sidecars: [sidecar(64)] } : { ...fees, ...rest, type, to }
        const raw = await account.signTransaction(transaction as TransactionSerializable)
        const canonical = type === 'eip4844' ? await account.signTransaction({ ...transaction, sidecars: false } as TransactionSerializable) : raw
        return (await transactionHash(raw)) === keccak256(canonical)
      }),
      runs(40),
    )
  })
})

describe('there is no transactionHash', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 2],
    ['an empty string', ''],
    ['no bytes', '0x'],
    ['half a byte', '0x02c'],
    ['no prefix', '02c0'],
    ['an upper case prefix', '0X02c0'],
    ['no hex', '0x02zz'],
    ['white space', '0x02c0 '],
    ['bytes', new Uint8Array([2, 0xc0])],
    ['type 0 with its type', '0x00c0'],
    ['type 5', '0x05c0'],
    ['type 0x7e, a deposit', '0x7ec0'],
    ['type 0x6a', '0x6ac0'],
    ['RLP of a string', '0x83646f67'],
    ['RLP of a long string', '0xb838'],
  ])('of %s', async (_, raw) => {
    expect(await transactionHash(raw)).toBeUndefined()
  })

  test('of any other type', async () => {
    const types = fc.integer({ min: 0, max: 0xbf }).filter((type) => type === 0 || type > 4)
    await fc.assert(
      fc.asyncProperty(types, fc.uint8Array(), async (type, rest) => (await transactionHash(toHex(new Uint8Array([type, ...rest])))) === undefined),
    )
  })

  // A truncated transaction, or one with trailing bytes, is of no type: a node cannot have accepted
  // it.
  test.each([
    ['only the type', '0x02'],
    ['a string after the type', '0x0280'],
    ['no list after the type 3', '0x0380'],
    ['a list that ends too early', '0xd4'],
    ['a list with a truncated length', '0x02f9'],
  ])('of garbage with a good first byte: %s', async (_, raw) => {
    expect(await transactionHash(raw)).toBeUndefined()
  })

  test('of a truncated signed transaction', async () => {
    const serialized = serializeTransaction({ ...fees, type: 'eip1559', to }, { r: word, s: word, yParity: 0 })
    expect(await transactionHash(serialized.slice(0, -2))).toBeUndefined()
    expect(await transactionHash(`${serialized}00`)).toBeUndefined()
    const blobs = await account.signTransaction({ ...blobFields, sidecars: [sidecar(300)] })
    expect(await transactionHash(blobs.slice(0, -2))).toBeUndefined()
    expect(await transactionHash(blobs.slice(0, 60))).toBeUndefined()
  })
})
