import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, CodecError, decodeNumber, decodeQuantity, decodeResult, encodeQuantity, type MethodName } from '../../../src/index.ts'
import { runs } from '../../support/runs.ts'

const LARGEST = 2n ** 256n - 1n
const uint256 = fc.bigInt({ min: 0n, max: LARGEST })
/** Every length of quantity is equally likely, unlike in `uint256`. */
const anyLength = fc.tuple(fc.integer({ min: 1, max: 256 }), uint256).map(([bits, value]) => value >> BigInt(256 - bits))
const safe = fc.maxSafeNat()
const hexDigits = '0123456789abcdef'

/** The value of hex digits, digit by digit. */
function counted(hex: string): bigint {
  return [...hex.slice(2).toLowerCase()].reduce((sum, digit) => sum * 16n + BigInt(hexDigits.indexOf(digit)), 0n)
}

/** Each letter in upper or lower case, according to the numbers. */
function recase(hex: string, choices: readonly boolean[]): string {
  return `0x${[...hex.slice(2)].map((digit, i) => (choices[i % choices.length] ? digit.toUpperCase() : digit)).join('')}`
}

function thrownBy(action: () => unknown): CodecError {
  try {
    action()
  } catch (caught) {
    if (caught instanceof CodecError) return caught
    throw caught
  }
  throw new Error('nothing was thrown')
}

describe('encoding', () => {
  test('and decoding return the value: bigint of up to 256 bits', () => {
    fc.assert(fc.property(anyLength, (value) => decodeQuantity(encodeQuantity(value)) === value))
    for (const value of [0n, 1n, 15n, 16n, 2n ** 52n - 1n, 2n ** 52n, 2n ** 53n, 2n ** 64n, 2n ** 128n, 2n ** 255n, LARGEST]) {
      expect(decodeQuantity(encodeQuantity(value))).toBe(value)
    }
  })

  test('and decoding return the value: safe integers', () => {
    fc.assert(fc.property(safe, (value) => decodeNumber(encodeQuantity(value)) === value && decodeQuantity(encodeQuantity(value)) === BigInt(value)))
    for (const value of [0, 1, 2 ** 31, 2 ** 32, 2 ** 52 - 1, 2 ** 52, Number.MAX_SAFE_INTEGER]) expect(decodeNumber(encodeQuantity(value))).toBe(value)
  })

  test('and decoding return the value: hex in any spelling', () => {
    const spelt = fc.tuple(anyLength, fc.nat(80), fc.array(fc.boolean(), { minLength: 1, maxLength: 64 }))
    fc.assert(
      fc.property(spelt, ([value, zeros, choices]) => {
        const hex = recase(`0x${'0'.repeat(zeros)}${value.toString(16)}`, choices)
        expect(encodeQuantity(hex)).toBe(`0x${value.toString(16)}`)
        expect(decodeQuantity(hex)).toBe(value)
      }),
    )
  })

  test('is strict: lower case without leading zeros, and zero is 0x0', () => {
    fc.assert(fc.property(fc.oneof(anyLength, safe), (value) => /^0x(?:0|[1-9a-f][0-9a-f]*)$/.test(encodeQuantity(value))))
    expect(encodeQuantity(0)).toBe('0x0')
    expect(encodeQuantity(-0)).toBe('0x0')
    expect(encodeQuantity(0n)).toBe('0x0')
    expect(encodeQuantity('0x00000')).toBe('0x0')
    expect(encodeQuantity('0x0010')).toBe('0x10')
    expect(encodeQuantity('0xABCDEF')).toBe('0xabcdef')
    expect(encodeQuantity(21_000_000n)).toBe('0x1406f40')
    expect(encodeQuantity(LARGEST)).toBe(`0x${'f'.repeat(64)}`)
  })
})

describe('decoding', () => {
  test('agrees with counting digit by digit', () => {
    const digits = fc.string({ unit: fc.constantFrom(...hexDigits, ...'ABCDEF'), minLength: 1, maxLength: 64 })
    fc.assert(fc.property(digits, (text) => decodeQuantity(`0x${text}`) === counted(`0x${text}`)))
  })

  test('accepts a safe integer of JSON', () => {
    fc.assert(fc.property(safe, (value) => decodeNumber(value) === value && decodeQuantity(value) === BigInt(value)))
  })

  test('to a number is exact up to 2^53 - 1, and refuses more', () => {
    expect(decodeNumber('0x1fffffffffffff')).toBe(Number.MAX_SAFE_INTEGER)
    expect(decodeNumber('0x0000001fffffffffffff')).toBe(Number.MAX_SAFE_INTEGER)
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: LARGEST }), (value) => {
        expect(thrownBy(() => decodeNumber(`0x${value.toString(16)}`)).expected).toBe('a hex quantity of at most 2^53 - 1')
      }),
    )
    expect(thrownBy(() => decodeNumber('0x20000000000000')).message).toBe('expected a hex quantity of at most 2^53 - 1, received "0x20000000000000"')
  })

  test('returns zero without a sign', () => {
    expect(decodeNumber('0x0')).toBe(0)
    // JSON has a negative zero, and `toBe` distinguishes it from zero.
    expect(decodeNumber(JSON.parse('-0'))).toBe(0)
  })

  test('refuses more than 256 bits, except for leading zeros', () => {
    expect(decodeQuantity(`0x${'f'.repeat(64)}`)).toBe(LARGEST)
    expect(decodeQuantity(`0x000${'f'.repeat(64)}`)).toBe(LARGEST)
    expect(thrownBy(() => decodeQuantity(`0x1${'0'.repeat(64)}`)).message).toBe(
      `expected a hex quantity of at most 256 bits, received "0x1${'0'.repeat(74 - 10)}"`,
    )
    expect(() => decodeQuantity(`0x${'f'.repeat(100_000)}`)).toThrow(CodecError)
    expect(thrownBy(() => decodeQuantity(`0x${'f'.repeat(100_000)}`)).message.length).toBeLessThan(200)
  })
})

/** Invalid quantities, in any spelling or type. */
const malformed: [string, unknown][] = [
  ['no digits', '0x'],
  ['nothing at all', ''],
  ['a sign', '-0x1'],
  ['a sign after the prefix', '0x-1'],
  ['a plus sign', '+0x1'],
  ['letters beyond f', '0xzz'],
  ['a letter just beyond f', '0xg'],
  ['a fraction', '1.5'],
  ['a hex fraction', '0x1.8'],
  ['an exponent', '1e3'],
  ['a decimal string', '21000'],
  ['a decimal zero', '0'],
  ['an upper case prefix', '0X1'],
  ['a binary literal', '0b1'],
  ['an octal literal', '0o7'],
  ['hex without prefix', 'ff'],
  ['a prefix twice', '0x0x1'],
  ['a separator', '0x1_000'],
  ['the suffix of a bigint', '0x1n'],
  ['a space before', ' 0x1'],
  ['a space after', '0x1 '],
  ['a space inside', '0x1 2'],
  ['a line break after', '0x1\n'],
  ['a tab before', '\t0x1'],
  ['a no-break space before', '\u00a00x1'],
  ['a no-break space after', '0x1\u00a0'],
  ['a byte order mark before', '\ufeff0x1'],
  ['a byte order mark after', '0x1\ufeff'],
  ['an ideographic space after', '0x1\u3000'],
  ['a full-width digit', '0x\uff11'],
  ['an Arabic-Indic digit', '0x\u0661'],
  ['a full-width letter', '0x\uff21'],
  // With the lower-case bit set, or in upper case, some of these look like hex digits.
  ['a dotless i', '0x\u0131'],
  ['a letter 0x100 above A', '0x\u0141'],
  ['a control character', '0x\u0010'],
  ['a null character', '0x1\u0000'],
  ['a tag', 'latest'],
  ['a word', 'null'],
  ['a float', 1.5],
  ['a tiny float', 5e-324],
  ['not a number', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['a negative number', -1],
  ['a number beyond 2^53 - 1', 2 ** 53],
  ['true', true],
  ['an array', ['0x1']],
  ['an object', {}],
  ['an object that converts to hex', { toString: () => '0x1', valueOf: () => 1 }],
  ['a boxed string', new String('0x1')],
]

/** The same with enough leading zeros to be decoded another way. */
const longer = malformed.flatMap(([name, value]): [string, unknown][] =>
  typeof value === 'string' && value.includes('0x') ? [[`${name}, long`, value.replace('0x', `0x${'0'.repeat(30)}`)]] : [],
)

describe('an invalid quantity', () => {
  test.each([...malformed, ...longer.filter(([name]) => name !== 'no digits, long')])('is refused: %s', (_, value) => {
    expect(() => decodeQuantity(value)).toThrow(CodecError)
    expect(() => decodeNumber(value)).toThrow(CodecError)
    expect(() => encodeQuantity(value)).toThrow(CodecError)
  })

  test.each([null, undefined, Symbol('x'), () => 1, 1n << 256n, -1n])('is refused: %s', (value) => {
    expect(() => decodeQuantity(value)).toThrow(CodecError)
    expect(() => decodeNumber(value)).toThrow(CodecError)
    expect(() => encodeQuantity(value)).toThrow(CodecError)
  })

  test('is any other string', () => {
    const other = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }).map((text) => `0x${text}`),
      fc.tuple(anyLength, fc.string({ unit: 'binary', minLength: 1 })).map(([value, text]) => `0x${value.toString(16)}${text}`),
    )
    fc.assert(
      fc.property(
        other.filter((text) => !/^0x[0-9a-fA-F]+$/.test(text)),
        (text) => {
          expect(() => decodeQuantity(text)).toThrow(CodecError)
          expect(() => decodeNumber(text)).toThrow(CodecError)
          expect(() => encodeQuantity(text)).toThrow(CodecError)
        },
      ),
      runs(1000),
    )
  })

  test('is one bad character anywhere in good hex', () => {
    const bad = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => !/^[0-9a-fA-F]/.test(text))
    fc.assert(
      fc.property(fc.bigInt({ min: 16n, max: LARGEST }), bad, fc.nat(), (value, character, at) => {
        const hex = value.toString(16)
        const i = at % hex.length
        const text = `0x${hex.slice(0, i)}${character}${hex.slice(i + 1)}`
        expect(() => decodeQuantity(text)).toThrow(CodecError)
        expect(() => encodeQuantity(text)).toThrow(CodecError)
      }),
      runs(1000),
    )
  })
})

describe('messages', () => {
  test.each<[unknown, string]>([
    ['0x', 'expected a hex quantity, received "0x"'],
    ['1.5', 'expected a hex quantity, received "1.5"'],
    ['21000', 'expected a hex quantity, received "21000"'],
    [1.5, 'expected a hex quantity, received 1.5'],
    [-1, 'expected a hex quantity, received -1'],
    [true, 'expected a hex quantity, received true'],
    [null, 'expected a hex quantity, received null'],
    [undefined, 'expected a hex quantity, received undefined'],
    [{}, 'expected a hex quantity, received an object'],
    [['0x1'], 'expected a hex quantity, received an array of 1'],
    [1n, 'expected a hex quantity, received 1n'],
  ])('of decoding %o', (value, message) => {
    expect(thrownBy(() => decodeQuantity(value)).message).toBe(message)
  })

  test.each<[unknown, string]>([
    ['0x', '"0x"'],
    ['21000', '"21000"'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [-1n, '-1n'],
    [2 ** 53, '9007199254740992'],
    [null, 'null'],
    [undefined, 'undefined'],
    [new Date(0), 'a Date'],
    [2n ** 256n, '115792089237316195423570985008687907853269984665640564039457584007913129639936n'],
    [2n ** 300n, 'a bigint of more than 80 digits'],
  ])('of encoding %o', (value, received) => {
    expect(thrownBy(() => encodeQuantity(value)).message).toBe(
      `expected a quantity (a bigint, a safe integer or a hex string) from 0 to 2^256 - 1, received ${received}`,
    )
  })
})

describe('a malformed quantity in a result', () => {
  const H = `0x${'11'.repeat(32)}`
  const A = `0x${'22'.repeat(20)}`
  const transaction = {
    hash: H,
    blockHash: H,
    blockNumber: '0x1',
    blockTimestamp: '0x1',
    transactionIndex: '0x0',
    from: A,
    to: null,
    type: '0x4',
    nonce: '0x0',
    gas: '0x5208',
    value: '0x0',
    input: '0x',
    chainId: '0x1',
    gasPrice: '0x1',
    maxFeePerGas: '0x1',
    maxPriorityFeePerGas: '0x1',
    maxFeePerBlobGas: '0x1',
    authorizationList: [
      { chainId: '0x1', address: A, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' },
      { chainId: '0x1', address: A, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' },
    ],
    v: '0x0',
    yParity: '0x0',
    r: '0x1',
    s: '0x1',
  }
  const log = {
    address: A,
    topics: [],
    data: '0x',
    blockHash: H,
    blockNumber: '0x1',
    blockTimestamp: '0x1',
    transactionHash: H,
    transactionIndex: '0x0',
    logIndex: '0x0',
    removed: false,
  }
  const receipt = {
    transactionHash: H,
    transactionIndex: '0x0',
    blockHash: H,
    blockNumber: '0x1',
    from: A,
    to: null,
    contractAddress: null,
    cumulativeGasUsed: '0x1',
    gasUsed: '0x1',
    effectiveGasPrice: '0x1',
    logs: [log, log],
    logsBloom: '0x',
    type: '0x0',
    status: '0x1',
    blobGasUsed: '0x1',
    blobGasPrice: '0x1',
    l1Fee: '0x1',
    l1GasPrice: '0x1',
    l1GasUsed: '0x1',
    l1FeeScalar: '0.5',
    l1BlockNumber: '0x1',
    gasUsedForL1: '0x1',
    depositNonce: '0x1',
    depositReceiptVersion: '0x1',
  }
  const header = {
    hash: H,
    parentHash: H,
    sha3Uncles: H,
    miner: A,
    stateRoot: H,
    transactionsRoot: H,
    receiptsRoot: H,
    logsBloom: '0x',
    number: '0x1',
    gasLimit: '0x1',
    gasUsed: '0x1',
    timestamp: '0x1',
    extraData: '0x',
    mixHash: H,
    nonce: '0x0000000000000000',
    size: '0x1',
    uncles: [H],
    difficulty: '0x1',
    totalDifficulty: '0x1',
    baseFeePerGas: '0x1',
    withdrawals: [
      { index: '0x1', validatorIndex: '0x1', address: A, amount: '0x1' },
      { index: '0x2', validatorIndex: '0x1', address: A, amount: '0x1' },
    ],
    blobGasUsed: '0x1',
    excessBlobGas: '0x1',
    slotNumber: '0x1',
  }

  /** The places of quantities in each kind of result. */
  const authorization = ['chainId', 'nonce', 'yParity'].map((key) => `authorizationList[1].${key}`)
  const ofTransaction =
    'blockNumber blockTimestamp transactionIndex type nonce gas value chainId gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas v yParity'
      .split(' ')
      .concat(authorization)
  const ofLog = 'blockNumber blockTimestamp transactionIndex logIndex'.split(' ')
  const ofReceipt =
    'transactionIndex blockNumber cumulativeGasUsed gasUsed effectiveGasPrice type status blobGasUsed blobGasPrice l1Fee l1GasPrice l1GasUsed l1BlockNumber gasUsedForL1 depositNonce depositReceiptVersion'
      .split(' ')
      .concat(ofLog.map((key) => `logs[1].${key}`))
  const ofHeader = 'number gasLimit gasUsed timestamp size difficulty totalDifficulty baseFeePerGas blobGasUsed excessBlobGas slotNumber'
    .split(' ')
    .concat(['index', 'validatorIndex', 'amount'].map((key) => `withdrawals[1].${key}`))

  const results: [MethodName, unknown, readonly unknown[], string[]][] = [
    [
      'eth_getBlockByNumber',
      { ...header, transactions: [0, 1, 2, 3].map(() => transaction) },
      ['0x1', true],
      [...ofHeader, ...ofTransaction.map((path) => `transactions[3].${path}`)],
    ],
    ['eth_getBlockByHash', { ...header, transactions: [H] }, [H, false], ofHeader],
    ['eth_getUncleByBlockNumberAndIndex', header, ['0x1', '0x0'], ofHeader],
    ['eth_getTransactionByHash', transaction, [H], ofTransaction],
    ['eth_getTransactionReceipt', receipt, [H], ofReceipt],
    ['eth_getBlockReceipts', [receipt, receipt, receipt], ['0x1'], ofReceipt.map((path) => `[2].${path}`)],
    ['eth_getLogs', [log, log], [{}], ofLog.map((path) => `[1].${path}`)],
    [
      'eth_getProof',
      { address: A, accountProof: [], balance: '0x0', codeHash: H, nonce: '0x0', storageHash: H, storageProof: [{ key: '0x0', value: '0x0', proof: [] }] },
      [A, ['0x0'], 'latest'],
      ['balance', 'nonce', 'storageProof[0].value'],
    ],
    [
      'eth_feeHistory',
      {
        oldestBlock: '0x1',
        baseFeePerGas: ['0x1', '0x2'],
        gasUsedRatio: [0.5],
        reward: [['0x1'], ['0x1', '0x2', '0x3']],
        baseFeePerBlobGas: ['0x1', '0x1'],
        blobGasUsedRatio: [0],
      },
      ['0x1', 'latest', []],
      ['oldestBlock', 'baseFeePerGas[1]', 'reward[1][2]', 'baseFeePerBlobGas[0]'],
    ],
    ['eth_createAccessList', { accessList: [], gasUsed: '0x1' }, [{}, 'latest'], ['gasUsed']],
    ['eth_getBalance', '0x0', [A, 'latest'], ['result']],
    ['eth_chainId', '0x1', [], ['result']],
  ]

  /** A deep copy without shared parts, since decoding is done in place. */
  const copyOf = (value: unknown) => JSON.parse(JSON.stringify(value))

  /** `value` with the part at `path` replaced. */
  function withAt(value: unknown, path: string, replacement: unknown): unknown {
    if (path === 'result') return replacement
    const copy = copyOf(value)
    const steps = path.match(/[^.[\]]+/g) ?? []
    const last = steps.pop() as string
    const parent = steps.reduce<Record<string, unknown>>((at, step) => at[step] as Record<string, unknown>, copy as Record<string, unknown>)
    if (!(last in parent)) throw new Error(`nothing stands at ${path}`)
    parent[last] = replacement
    return copy
  }

  for (const [method, good, params, paths] of results) {
    test(`${method}: the good one is taken`, () => {
      expect(() => decodeResult(method, copyOf(good), params)).not.toThrow()
    })

    test.each(paths)(`${method}: %s`, (path) => {
      for (const bad of ['0x', '-0x1', '0xzz', '1.5', '21000', 1.5, true, {}]) {
        const thrown = thrownBy(() => decodeResult(method, withAt(good, path, bad), params))
        const received = typeof bad === 'string' ? `"${bad}"` : typeof bad === 'object' ? 'an object' : String(bad)
        expect(thrown.message).toBe(`${path}: expected a hex quantity, received ${received}`)
        expect(thrown).toMatchObject({ path, expected: 'a hex quantity', received, method, kind: 'malformed' })
      }
    })
  }

  test('is reported with its path: transactions[3].value', () => {
    const block = copyOf({ ...header, transactions: [0, 1, 2, 3].map((i) => ({ ...transaction, value: i === 3 ? '0x' : '0x1' })) })
    expect(thrownBy(() => decodeResult('eth_getBlockByNumber', block, ['0x1', true])).message).toBe(
      'transactions[3].value: expected a hex quantity, received "0x"',
    )
  })

  test('that would not fit into a number is reported with its path, too', () => {
    const block = copyOf({ ...header, transactions: [{ ...transaction, nonce: '0x20000000000000' }] })
    expect(thrownBy(() => decodeResult('eth_getBlockByNumber', block, ['0x1', true])).message).toBe(
      'transactions[0].nonce: expected a hex quantity of at most 2^53 - 1, received "0x20000000000000"',
    )
  })

  test('is refused anywhere in a whole block', () => {
    const [method, good, params, paths] = results[0] as (typeof results)[0]
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.constantFrom(...malformed.map(([, value]) => value)), (path, bad) => {
        expect(thrownBy(() => decodeResult(method, withAt(good, path, bad), params)).path).toBe(path)
      }),
    )
  })

  test('null and absence are not quantities, and stay', () => {
    const [method, good, params, paths] = results[0] as (typeof results)[0]
    for (const path of paths) {
      for (const nothing of [null, undefined]) {
        // The fields that identify an object must not be absent.
        if (nothing === undefined && /(?:^|\.)(?:number|index)$/.test(path)) continue
        const decoded = decodeResult(method, withAt(good, path, nothing), params)
        const at = (path.match(/[^.[\]]+/g) ?? []).reduce((value, step) => (value as Record<string, unknown>)[step], decoded)
        expect(at, path).toBe(nothing)
      }
    }
  })
})

describe('the fields that identify an object', () => {
  test.each<[MethodName, unknown, readonly unknown[], string]>([
    ['eth_getBlockByNumber', {}, ['0x1', true], 'hash: expected the hash of a block, received undefined'],
    ['eth_getBlockByNumber', { hash: '0x', number: '0x1' }, ['0x1', true], 'transactions: expected the transactions of a block, received undefined'],
    [
      'eth_getBlockByNumber',
      { hash: '0x', number: '0x1', transactions: [{}] },
      ['0x1', true],
      'transactions[0].hash: expected the hash of a transaction, received undefined',
    ],
    ['eth_getUncleByBlockNumberAndIndex', {}, ['0x1', '0x0'], 'hash: expected the hash of an uncle, received undefined'],
    ['eth_getBlockReceipts', [{}], ['0x1'], '[0].transactionHash: expected the transactionHash of a receipt, received undefined'],
    ['eth_getLogs', [{ address: '0x' }], [{}], '[0].topics: expected the topics of a log, received undefined'],
    ['eth_getLogs', null, [{}], 'result: expected an array, received null'],
    ['eth_getLogs', {}, [{}], 'result: expected an array, received an object'],
    ['eth_getBlockByNumber', 'block', ['0x1', true], 'result: expected a block, received "block"'],
    ['eth_getBlockByNumber', [], ['0x1', true], 'result: expected a block, received an array of 0'],
    ['eth_call', null, [{}], 'result: expected bytes in hex, received null'],
    ['eth_getCode', 'ff', [], 'result: expected bytes in hex, received "ff"'],
    ['eth_feeHistory', {}, [], 'oldestBlock: expected the oldestBlock of a fee history, received undefined'],
    ['eth_createAccessList', {}, [], 'accessList: expected the accessList of an access list result, received undefined'],
  ])('%s %j', (method, value, params, message) => {
    expect(thrownBy(() => decodeResult(method, value, params)).message).toBe(message)
  })
})

describe('an authorization (EIP-7702)', () => {
  const block = (authorization: object) => ({ hash: '0x', number: '0x1', transactions: [{ hash: '0x', authorizationList: [authorization] }] })
  const decoded = (authorization: object) =>
    (decodeResult('eth_getBlockByNumber', block({ address: '0x', ...authorization }), ['0x1', true]) as Block<true>).transactions[0]?.authorizationList?.[0]

  test('has numbers', () => {
    expect(decoded({ chainId: '0x1', nonce: '0x7' })).toEqual({ address: '0x', chainId: 1, nonce: 7 })
  })

  test('may hold absurd values in a valid block, and they are bigints', () => {
    expect(decoded({ chainId: `0x${'f'.repeat(64)}`, nonce: '0xfffffffffffffffe' })).toEqual({ address: '0x', chainId: 2n ** 256n - 1n, nonce: 2n ** 64n - 2n })
  })

  test('has no more than 256 bits', () => {
    expect(() => decoded({ chainId: `0x1${'0'.repeat(64)}` })).toThrow(
      'transactions[0].authorizationList[0].chainId: expected a hex quantity of at most 256 bits',
    )
  })
})
