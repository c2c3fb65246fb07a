import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { methodNames } from '../../src/eth/methods.ts'
import { CodecError, createClient, encodeArguments, type MethodName, type Post, replyOf } from '../../src/index.ts'

const A = '0x00000000000000000000000000000000000000a1'
const CHECKSUMMED = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
/** With a mistyped digit. */
const MISTYPED = CHECKSUMMED.replace('223F', '224F')
const H = `0x${'ab'.repeat(32)}`
const word = (value: bigint | number) => `0x${value.toString(16).padStart(64, '0')}`

function thrownBy(method: string, args: readonly unknown[]): CodecError {
  try {
    encodeArguments(method, args)
  } catch (caught) {
    if (caught instanceof CodecError) return caught
    throw caught
  }
  throw new Error('nothing was thrown')
}

const QUANTITY = 'a quantity (a bigint, a safe integer or a hex string) from 0 to 2^256 - 1'
const ADDRESS = 'an address (20 bytes in hex)'
const CHECKSUM = 'an address with a valid EIP-55 checksum, or in lower case'
const HASH = 'a hash (32 bytes in hex)'
const TOPIC = 'a topic (32 bytes in hex)'
const BYTES = 'bytes in hex'
const BLOCK = 'a block number from 0 to 2^64 - 1 (a bigint, a safe integer or a hex string) or a tag (latest, earliest, pending, safe, finalized)'

/** Arguments and params on the wire. */
const encoded: [string, string, unknown[], unknown[]][] = [
  ['an address is unchanged', 'eth_getBalance', [CHECKSUMMED], [CHECKSUMMED, 'latest']],
  ['an address in capitals has no checksum', 'eth_getBalance', [`0x${'AB'.repeat(20)}`], [`0x${'AB'.repeat(20)}`, 'latest']],
  ['a hash is unchanged', 'eth_getTransactionByHash', [H.toUpperCase().replace('X', 'x')], [H.toUpperCase().replace('X', 'x')]],
  ['bytes are unchanged', 'eth_sendRawTransaction', ['0x02AbCd'], ['0x02AbCd']],
  ['a flag is unchanged', 'eth_getBlockByHash', [H, false], [H, false]],
  ['a bigint is a quantity', 'eth_getBlockTransactionCountByNumber', [21_000_000n], ['0x1406f40']],
  ['a number is a quantity', 'eth_getTransactionByBlockHashAndIndex', [H, 255], [H, '0xff']],
  ['hex is a quantity, without leading zeros', 'eth_getTransactionByBlockHashAndIndex', [H, '0x00FF'], [H, '0xff']],
  ['a block by number', 'eth_getCode', [A, 0], [A, '0x0']],
  ['a block by the largest number of 8 bytes', 'eth_getCode', [A, `0x${'f'.repeat(16)}`], [A, `0x${'f'.repeat(16)}`]],
  ['a block by hash', 'eth_getCode', [A, H], [A, H]],
  ['a block by tag', 'eth_getCode', [A, 'finalized'], [A, 'finalized']],
  ['a block by EIP-1898 hash', 'eth_getCode', [A, { blockHash: H }], [A, { blockHash: H }]],
  [
    'a block by EIP-1898 hash that must be canonical',
    'eth_getCode',
    [A, { blockHash: H, requireCanonical: true }],
    [A, { blockHash: H, requireCanonical: true }],
  ],
  ['a block by EIP-1898 number', 'eth_getCode', [A, { blockNumber: 16n }], [A, { blockNumber: '0x10' }]],
  [
    'a call object',
    'eth_call',
    [{ from: A, to: A, gas: 21_000, gasPrice: 1n, value: '0x0A', data: '0xDEADbeef', nonce: 0, type: 2, chainId: 1n }, 'latest'],
    [{ from: A, to: A, gas: '0x5208', gasPrice: '0x1', value: '0xa', data: '0xDEADbeef', nonce: '0x0', type: '0x2', chainId: '0x1' }, 'latest'],
  ],
  [
    'fields of the fee market, blobs and set code',
    'eth_call',
    [
      {
        maxFeePerGas: 5n,
        maxPriorityFeePerGas: 2,
        maxFeePerBlobGas: '0x03',
        blobVersionedHashes: [H],
        accessList: [{ address: A, storageKeys: [H] }],
        authorizationList: [{ chainId: 1, address: A, nonce: 2n, yParity: 1, r: '0x01', s: '0x02' }],
      },
    ],
    [
      {
        maxFeePerGas: '0x5',
        maxPriorityFeePerGas: '0x2',
        maxFeePerBlobGas: '0x3',
        blobVersionedHashes: [H],
        accessList: [{ address: A, storageKeys: [H] }],
        authorizationList: [{ chainId: '0x1', address: A, nonce: '0x2', yParity: '0x1', r: '0x01', s: '0x02' }],
      },
      'latest',
    ],
  ],
  ['a call without `to`, which deploys', 'eth_estimateGas', [{ from: A, data: '0x60' }], [{ from: A, data: '0x60' }]],
  ['a call to null, which deploys', 'eth_estimateGas', [{ to: null, data: '0x60' }], [{ to: null, data: '0x60' }]],
  ['`input` goes as `input`', 'eth_call', [{ to: A, input: '0x01' }], [{ to: A, input: '0x01' }, 'latest']],
  ['`data` and `input` that say the same', 'eth_call', [{ data: '0xAB', input: '0xab' }], [{ data: '0xAB', input: '0xab' }, 'latest']],
  ['undefined fields are absent', 'eth_call', [{ to: A, data: undefined, gas: undefined }], [{ to: A }, 'latest']],
  [
    'unknown fields are unchanged',
    'eth_call',
    [{ to: A, feeCurrency: A, extra: { deep: [1n, null, 'x', true] } }],
    [{ to: A, feeCurrency: A, extra: { deep: ['0x1', null, 'x', true] } }, 'latest'],
  ],
  [
    'overrides are unchanged, with bigints as quantities',
    'eth_call',
    [{ to: A }, 'latest', { [A]: { balance: 255n, nonce: '0x05', code: '0x00', stateDiff: { [H]: H } } }, { number: 16n, timestamp: '0x0A' }],
    [{ to: A }, 'latest', { [A]: { balance: '0xff', nonce: '0x05', code: '0x00', stateDiff: { [H]: H } } }, { number: '0x10', timestamp: '0x0A' }],
  ],
  ['overrides of eth_estimateGas', 'eth_estimateGas', [{}, 1, { [A]: {} }, {}], [{}, '0x1', { [A]: {} }, {}]],
  ['state overrides of eth_createAccessList', 'eth_createAccessList', [{}, 'latest', { [A]: {} }], [{}, 'latest', { [A]: {} }]],
  ['a filter', 'eth_getLogs', [{ fromBlock: 1, toBlock: 'latest', address: A, topics: [] }], [{ fromBlock: '0x1', toBlock: 'latest', address: A, topics: [] }]],
  ['a filter of one block', 'eth_getLogs', [{ blockHash: H, address: [A, CHECKSUMMED] }], [{ blockHash: H, address: [A, CHECKSUMMED] }]],
  ['topics: any, one, one of several', 'eth_getLogs', [{ topics: [null, H, [H, H], []] }], [{ topics: [null, H, [H, H], []] }]],
  ['percentiles', 'eth_feeHistory', [1, 'latest', [0, 0.5, 99.9, 100]], ['0x1', 'latest', [0, 0.5, 99.9, 100]]],
  ['a storage slot has 32 bytes', 'eth_getStorageAt', [A, '0x0', 'latest'], [A, word(0), 'latest']],
  ['storage keys have 32 bytes', 'eth_getProof', [A, [0, 1n, '0x02', H]], [A, [word(0), word(1), word(2), H], 'latest']],
  ['no storage keys', 'eth_getProof', [A, []], [A, [], 'latest']],
]

describe('on the wire', () => {
  test.each(encoded)('%s', (_, method, args, wire) => {
    expect(encodeArguments(method, args)).toEqual(wire)
    // Params must be JSON, without undefined and bigints.
    expect(JSON.parse(JSON.stringify(encodeArguments(method, args)))).toEqual(wire)
  })

  test('arguments are not changed', () => {
    const call = Object.freeze({ to: A, value: 1n, accessList: Object.freeze([Object.freeze({ address: A, storageKeys: Object.freeze([H]) })]) })
    const args = Object.freeze([call, 1n])
    expect(() => encodeArguments('eth_call', args)).not.toThrow()
    expect(call.value).toBe(1n)
  })

  test('any slot has 32 bytes and keeps its value', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.boolean(), (slot, asHex) => {
        const [, key] = encodeArguments('eth_getStorageAt', [A, asHex ? `0x${slot.toString(16)}` : slot]) as string[]
        expect(key).toMatch(/^0x[0-9a-f]{64}$/)
        expect(BigInt(key as string)).toBe(slot)
      }),
    )
  })
})

describe('an omitted argument', () => {
  test.each(['eth_getBalance', 'eth_getCode', 'eth_getTransactionCount'])('%s: the block is the latest, and is always sent', (method) => {
    for (const args of [[A], [A, undefined], [A, null]]) expect(encodeArguments(method, args)).toEqual([A, 'latest'])
  })

  test('eth_call, eth_createAccessList, eth_getStorageAt, eth_getProof: the same', () => {
    expect(encodeArguments('eth_call', [{}])).toEqual([{}, 'latest'])
    expect(encodeArguments('eth_createAccessList', [{}])).toEqual([{}, 'latest'])
    expect(encodeArguments('eth_getStorageAt', [A, 0])).toEqual([A, word(0), 'latest'])
    expect(encodeArguments('eth_getProof', [A, []])).toEqual([A, [], 'latest'])
  })

  test('eth_estimateGas: the block is sent if it or a later argument was given', () => {
    expect(encodeArguments('eth_estimateGas', [{}])).toEqual([{}])
    expect(encodeArguments('eth_estimateGas', [{}, null])).toEqual([{}])
    expect(encodeArguments('eth_estimateGas', [{}, 'latest'])).toEqual([{}, 'latest'])
    expect(encodeArguments('eth_estimateGas', [{}, undefined, { [A]: {} }])).toEqual([{}, 'latest', { [A]: {} }])
    expect(encodeArguments('eth_estimateGas', [{}, undefined, undefined, { number: 1n }])).toEqual([{}, 'latest', {}, { number: '0x1' }])
  })

  test('eth_feeHistory: percentiles are always sent', () => {
    expect(encodeArguments('eth_feeHistory', [1, 'latest'])).toEqual(['0x1', 'latest', []])
    expect(encodeArguments('eth_feeHistory', [1, 'latest', null])).toEqual(['0x1', 'latest', []])
  })
})

/** Invalid arguments: method, arguments, path, expected, received. */
const refused: [MethodName, unknown[], string, string, string][] = [
  ['eth_getBalance', ['vitalik.eth'], 'params[0]', ADDRESS, '"vitalik.eth"'],
  ['eth_getBalance', ['0x'], 'params[0]', ADDRESS, '"0x"'],
  ['eth_getBalance', [A.slice(0, -1)], 'params[0]', ADDRESS, `"${A.slice(0, -1)}"`],
  ['eth_getBalance', [`${A}00`], 'params[0]', ADDRESS, `"${A}00"`],
  ['eth_getBalance', [`${A}\n`], 'params[0]', ADDRESS, `"${A}\\n"`],
  ['eth_getBalance', [A.replace('0x', '0X')], 'params[0]', ADDRESS, `"${A.replace('0x', '0X')}"`],
  ['eth_getBalance', [A.slice(2)], 'params[0]', ADDRESS, `"${A.slice(2)}"`],
  ['eth_getBalance', [MISTYPED], 'params[0]', CHECKSUM, `"${MISTYPED}"`],
  ['eth_getProof', [MISTYPED, []], 'params[0]', CHECKSUM, `"${MISTYPED}"`],
  ['eth_call', [{}, 'latest', 7], 'params[2]', 'an object with accounts by address', '7'],
  ['eth_call', [{}, 'latest', {}, 'pending'], 'params[3]', 'an object with fields of the block', '"pending"'],
  ['eth_call', [{ to: MISTYPED }], 'params[0].to', CHECKSUM, `"${MISTYPED}"`],
  ['eth_call', [{ accessList: [{ address: MISTYPED, storageKeys: [] }] }], 'params[0].accessList[0].address', CHECKSUM, `"${MISTYPED}"`],
  ['eth_call', [{ accessList: ['0x'] }], 'params[0].accessList[0]', 'an object with address and storageKeys', '"0x"'],
  ['eth_call', [{}, 'latest', { [MISTYPED]: {} }], 'params[2]', CHECKSUM, `"${MISTYPED}"`],
  ['eth_estimateGas', [{ authorizationList: [{ address: MISTYPED }] }], 'params[0].authorizationList[0].address', CHECKSUM, `"${MISTYPED}"`],
  ['eth_getLogs', [{ address: [A, MISTYPED] }], 'params[0].address[1]', CHECKSUM, `"${MISTYPED}"`],
  ['eth_getBalance', [0xa1n], 'params[0]', ADDRESS, '161n'],
  ['eth_getBalance', [null], 'params[0]', ADDRESS, 'null'],
  ['eth_getBalance', [A, 'newest'], 'params[1]', BLOCK, '"newest"'],
  ['eth_getBalance', [A, 'LATEST'], 'params[1]', BLOCK, '"LATEST"'],
  ['eth_getBalance', [A, '21000000'], 'params[1]', BLOCK, '"21000000"'],
  ['eth_getBalance', [A, -1n], 'params[1]', BLOCK, '-1n'],
  ['eth_getBalance', [A, 1.5], 'params[1]', BLOCK, '1.5'],
  ['eth_getBalance', [A, H.slice(0, -2)], 'params[1]', BLOCK, `"${H.slice(0, -2)}"`],
  ['eth_getBalance', [A, {}], 'params[1]', 'a block: a number, a tag, a hash, { blockHash } or { blockNumber }', 'an object'],
  ['eth_getBalance', [A, { blockHash: '0x1' }], 'params[1].blockHash', HASH, '"0x1"'],
  [
    'eth_getBalance',
    [A, { blockNumber: 'latest' }],
    'params[1].blockNumber',
    'a block number from 0 to 2^64 - 1 (a bigint, a safe integer or a hex string)',
    '"latest"',
  ],
  ['eth_getBalance', [A, [1]], 'params[1]', BLOCK, 'an array of 1'],
  ['eth_getBlockByNumber', [H, true], 'params[0]', BLOCK, `"${H}"`],
  ['eth_getBlockByNumber', [{ blockHash: H }, true], 'params[0]', BLOCK, 'an object'],
  ['eth_getBlockByNumber', [1n], 'params[1]', 'true or false', 'undefined'],
  ['eth_getBlockByNumber', [1n, 'true'], 'params[1]', 'true or false', '"true"'],
  ['eth_getBlockByNumber', [1n, 1], 'params[1]', 'true or false', '1'],
  ['eth_getBlockByNumber', [undefined, true], 'params[0]', BLOCK, 'undefined'],
  ['eth_getBlockByHash', [1n, true], 'params[0]', HASH, '1n'],
  ['eth_getBlockByHash', ['latest', true], 'params[0]', HASH, '"latest"'],
  ['eth_getTransactionByHash', ['0xabc'], 'params[0]', HASH, '"0xabc"'],
  ['eth_getTransactionByHash', [`0x${'zz'.repeat(32)}`], 'params[0]', HASH, `"0x${'zz'.repeat(32)}"`],
  ['eth_getTransactionByBlockHashAndIndex', [H, -1], 'params[1]', QUANTITY, '-1'],
  ['eth_getTransactionByBlockHashAndIndex', [H], 'params[1]', QUANTITY, 'undefined'],
  ['eth_getTransactionByBlockNumberAndIndex', [1n, '0x'], 'params[1]', QUANTITY, '"0x"'],
  ['eth_getBlockReceipts', [], 'params[0]', BLOCK, 'undefined'],
  ['eth_call', [], 'params[0]', 'a call object', 'undefined'],
  ['eth_call', ['0x'], 'params[0]', 'a call object', '"0x"'],
  ['eth_call', [[]], 'params[0]', 'a call object', 'an array of 0'],
  ['eth_call', [{ to: 'vitalik.eth' }], 'params[0].to', ADDRESS, '"vitalik.eth"'],
  ['eth_call', [{ from: 1 }], 'params[0].from', ADDRESS, '1'],
  ['eth_call', [{ gas: '21000' }], 'params[0].gas', QUANTITY, '"21000"'],
  ['eth_call', [{ gas: 1.5 }], 'params[0].gas', QUANTITY, '1.5'],
  ['eth_call', [{ gasPrice: -1n }], 'params[0].gasPrice', QUANTITY, '-1n'],
  ['eth_call', [{ value: '' }], 'params[0].value', QUANTITY, '""'],
  ['eth_call', [{ maxFeePerGas: 'high' }], 'params[0].maxFeePerGas', QUANTITY, '"high"'],
  ['eth_call', [{ maxPriorityFeePerGas: {} }], 'params[0].maxPriorityFeePerGas', QUANTITY, 'an object'],
  ['eth_call', [{ maxFeePerBlobGas: true }], 'params[0].maxFeePerBlobGas', QUANTITY, 'true'],
  ['eth_call', [{ nonce: 2 ** 53 }], 'params[0].nonce', QUANTITY, '9007199254740992'],
  ['eth_call', [{ type: 'eip1559' }], 'params[0].type', QUANTITY, '"eip1559"'],
  ['eth_call', [{ chainId: Number.NaN }], 'params[0].chainId', QUANTITY, 'NaN'],
  ['eth_call', [{ data: '0x1' }], 'params[0].data', BYTES, '"0x1"'],
  ['eth_call', [{ data: 'transfer()' }], 'params[0].data', BYTES, '"transfer()"'],
  ['eth_call', [{ data: new Uint8Array(4) }], 'params[0].data', BYTES, 'a Uint8Array'],
  ['eth_call', [{ input: '0xgg' }], 'params[0].input', BYTES, '"0xgg"'],
  ['eth_call', [{ data: '0x01', input: '0x02' }], 'params[0].input', 'data or input, or the same value in both (they name the same field)', '"0x02"'],
  ['eth_call', [{ authorizationList: [{ chainId: 1 }, { nonce: 'x' }] }], 'params[0].authorizationList[1].nonce', QUANTITY, '"x"'],
  ['eth_call', [{ authorizationList: [{ address: '0x' }] }], 'params[0].authorizationList[0].address', ADDRESS, '"0x"'],
  ['eth_call', [{ authorizationList: {} }], 'params[0].authorizationList', 'an array', 'an object'],
  ['eth_call', [{ authorizationList: ['0x'] }], 'params[0].authorizationList[0]', 'an authorization object', '"0x"'],
  ['eth_call', [{ extra: { deep: [1, () => 1] } }], 'params[0].extra.deep[1]', 'a JSON value', 'a function'],
  ['eth_call', [{ extra: Number.POSITIVE_INFINITY }], 'params[0].extra', 'a JSON value', 'Infinity'],
  ['eth_call', [{}, 'latest', { [A]: { balance: -1n } }], `params[2].${A}.balance`, QUANTITY, '-1n'],
  ['eth_call', [{}, 'latest', {}, { number: Symbol('x') }], 'params[3].number', 'a JSON value', 'Symbol(x)'],
  ['eth_estimateGas', [{ gas: '0x' }], 'params[0].gas', QUANTITY, '"0x"'],
  ['eth_createAccessList', [null], 'params[0]', 'a call object', 'null'],
  ['eth_getLogs', [], 'params[0]', 'a filter object', 'undefined'],
  ['eth_getLogs', [[]], 'params[0]', 'a filter object', 'an array of 0'],
  ['eth_getLogs', [{ fromBlock: 'first' }], 'params[0].fromBlock', BLOCK, '"first"'],
  ['eth_getLogs', [{ toBlock: -1 }], 'params[0].toBlock', BLOCK, '-1'],
  ['eth_getLogs', [{ blockHash: 'latest' }], 'params[0].blockHash', HASH, '"latest"'],
  ['eth_getLogs', [{ blockHash: H, fromBlock: 1 }], 'params[0]', 'either blockHash or a range of fromBlock and toBlock', 'both'],
  ['eth_getLogs', [{ blockHash: H, toBlock: 1 }], 'params[0]', 'either blockHash or a range of fromBlock and toBlock', 'both'],
  [
    'eth_getLogs',
    [{ fromblock: 1n }],
    'params[0]',
    'a filter with only fromBlock, toBlock, blockHash, address, topics',
    '"fromblock" (did you mean `fromBlock`?)',
  ],
  ['eth_getLogs', [{ address: '0x1' }], 'params[0].address', ADDRESS, '"0x1"'],
  ['eth_getLogs', [{ address: [A, '0x1'] }], 'params[0].address[1]', ADDRESS, '"0x1"'],
  ['eth_getLogs', [{ topics: H }], 'params[0].topics', 'an array', `"${H}"`],
  ['eth_getLogs', [{ topics: ['Transfer(address,address,uint256)'] }], 'params[0].topics[0]', TOPIC, '"Transfer(address,address,uint256)"'],
  ['eth_getLogs', [{ topics: [null, A] }], 'params[0].topics[1]', TOPIC, `"${A}"`],
  ['eth_getLogs', [{ topics: [H, ['0x1', H]] }], 'params[0].topics[1][0]', TOPIC, '"0x1"'],
  ['eth_getLogs', [{ topics: [H, [H, null]] }], 'params[0].topics[1][1]', TOPIC, 'null'],
  ['eth_getLogs', [{ topics: [undefined] }], 'params[0].topics[0]', TOPIC, 'undefined'],
  ['eth_feeHistory', [], 'params[0]', QUANTITY, 'undefined'],
  ['eth_feeHistory', ['ten', 'latest'], 'params[0]', QUANTITY, '"ten"'],
  ['eth_feeHistory', [1, H], 'params[1]', BLOCK, `"${H}"`],
  ['eth_feeHistory', [1, 'latest', 50], 'params[2]', 'an array', '50'],
  ['eth_feeHistory', [1, 'latest', [50, 101]], 'params[2][1]', 'a percentile from 0 to 100', '101'],
  ['eth_feeHistory', [1, 'latest', [-1]], 'params[2][0]', 'a percentile from 0 to 100', '-1'],
  ['eth_feeHistory', [1, 'latest', [Number.NaN]], 'params[2][0]', 'a percentile from 0 to 100', 'NaN'],
  ['eth_feeHistory', [1, 'latest', [10, 50, 20]], 'params[2]', 'percentiles in ascending order', 'an array of 3'],
  ['eth_feeHistory', [1, 'latest', ['50']], 'params[2][0]', 'a percentile from 0 to 100', '"50"'],
  ['eth_getProof', [A], 'params[1]', 'an array', 'undefined'],
  ['eth_getProof', [A, '0x0'], 'params[1]', 'an array', '"0x0"'],
  ['eth_getProof', [A, [0, 'balance']], 'params[1][1]', QUANTITY, '"balance"'],
  ['eth_getStorageAt', [A], 'params[1]', QUANTITY, 'undefined'],
  ['eth_getStorageAt', [A, '0x'], 'params[1]', QUANTITY, '"0x"'],
  ['eth_getStorageAt', [A, 2n ** 256n], 'params[1]', QUANTITY, `${2n ** 256n}n`],
  ['eth_sendRawTransaction', [], 'params[0]', BYTES, 'undefined'],
  ['eth_sendRawTransaction', ['0x123'], 'params[0]', BYTES, '"0x123"'],
  ['eth_sendRawTransaction', ['02c0'], 'params[0]', BYTES, '"02c0"'],
]

describe('is refused', () => {
  for (const [method, args, path, expected, received] of refused) {
    test(`${method}: ${path}: ${received.slice(0, 60)}`, () => {
      const error = thrownBy(method, args)
      expect({ ...error, message: error.message }).toMatchObject({ path, expected, method, kind: 'invalid' })
      expect(error.message).toBe(`${path}: expected ${expected}, received ${received}`)
    })
  }

  test('a storage key of more than 32 bytes, which would be another key without its zeros', () => {
    expect(thrownBy('eth_getStorageAt', [A, `0x00${H.slice(2)}`]).path).toBe('params[1]')
    expect(thrownBy('eth_getProof', [A, [H, `0x00${H.slice(2)}`]]).path).toBe('params[1][1]')
  })

  test('a block number of more than 8 bytes, which is most likely a hash', () => {
    expect(thrownBy('eth_getBlockByNumber', [BigInt(H), true]).path).toBe('params[0]')
    expect(thrownBy('eth_getBalance', [A, { blockNumber: H }]).path).toBe('params[1].blockNumber')
  })

  test('a block given both by number and by hash (EIP-1898)', () => {
    expect(thrownBy('eth_getBalance', [A, { blockHash: H, blockNumber: 1n }]).path).toBe('params[1]')
  })

  test('a requireCanonical that is not a boolean (EIP-1898)', () => {
    expect(thrownBy('eth_getBalance', [A, { blockHash: H, requireCanonical: 1n }]).path).toBe('params[1].requireCanonical')
  })

  test('an object that JSON would empty, where JSON is expected', () => {
    for (const value of [new Map([[A, {}]]), new Set([1]), new Uint8Array(2), /x/]) {
      expect(thrownBy('eth_call', [{}, 'latest', { [A]: value }]).path).toBe(`params[2].${A}`)
    }
  })

  test('a long value is shortened in the message', () => {
    const { message } = thrownBy('eth_sendRawTransaction', [`0x${'ab'.repeat(100_000)}f`])
    expect(message).toBe(`params[0]: expected bytes in hex, received "0x${'ab'.repeat(37)}a..."`)
  })
})

describe('the number of arguments', () => {
  test.each<[MethodName, unknown[], string]>([
    ['eth_blockNumber', ['latest'], 'params: expected no parameters, received 1'],
    ['eth_getBalance', [A, 'latest', true], 'params: expected at most 2 parameters, received 3'],
    ['eth_call', [{}, 'latest', {}, {}, {}], 'params: expected at most 4 parameters, received 5'],
    ['eth_getTransactionByHash', [H, undefined], 'params: expected at most 1 parameter, received 2'],
    [
      'eth_getBalance',
      [[A, 'latest']],
      'params[0]: expected an address (20 bytes in hex), received an array of 2: give the arguments one by one, not in an array',
    ],
    ['eth_getLogs', [[{}]], 'params[0]: expected a filter object, received an array of 1: give the arguments one by one, not in an array'],
  ])('too many: %s', (method, args, message) => {
    expect(thrownBy(method, args).message).toBe(message)
    expect(thrownBy(method, args).method).toBe(method)
  })
})

describe('a method that is in no table', () => {
  test.each([
    ['eth_getbalance', 'eth_getBalance'],
    ['getBalance', 'eth_getBalance'],
    ['ETH_CALL', 'eth_call'],
    ['blocknumber', 'eth_blockNumber'],
  ])('%s: did you mean %s?', (name, meant) => {
    expect(thrownBy(name, []).message).toBe(
      `method: expected one of the ${methodNames.length} methods that hexline decodes; request() sends any other, received "${name}" (did you mean \`${meant}\`?)`,
    )
  })

  test.each(['eth_sendTransaction', 'engine_newPayloadV4', 'toString', '__proto__', ''])('%s: nothing is similar', (name) => {
    expect(thrownBy(name, []).message).toBe(
      `method: expected one of the ${methodNames.length} methods that hexline decodes; request() sends any other, received "${name}"`,
    )
  })

  test.each([undefined, null, 5, {}, Symbol('eth_call'), ['eth_chainId'], Object.create(null)])('%o is not a name', (name) => {
    expect(thrownBy(name as string, []).path).toBe('method')
  })
})

describe('through a client', () => {
  test('nothing is sent for a call with invalid arguments', async () => {
    let posts = 0
    const node: Post = async (calls) => {
      posts++
      return calls.map(() => replyOf('0x1'))
    }
    const client = createClient(node)
    const call = client.call as (method: string, ...args: unknown[]) => Promise<unknown>
    await expect(call('eth_getBalance', 'vitalik.eth')).rejects.toThrow(CodecError)
    await expect(call('eth_getBalances', A)).rejects.toThrow(CodecError)
    await expect(call('eth_call', { gas: '21000' })).rejects.toMatchObject({ path: 'params[0].gas', attempts: 0 })
    expect(posts).toBe(0)
    expect(await call('eth_getBalance', A)).toBe(1n)
    expect(posts).toBe(1)
    await client.close()
  })
})
