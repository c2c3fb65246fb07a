import { describe, expect, it, test } from 'vitest'
import { methodFrom, paramFrom, syntaxFault, wireFrom } from '../../src/cli/params.ts'
import { OptionError } from '../../src/errors.ts'
import { methods } from '../../src/eth/methods.ts'

const KEY = 'Zk3yQ0123456789abcdefXYZ'

describe('the name of a method', () => {
  it('may be any valid name', () => {
    const others = [
      'web3_clientVersion',
      'rpc.discover',
      'engine_newPayloadV4',
      'zks_getL1BatchBlockRange',
      'erigon_getBlockReceiptsByBlockHash',
      'getMinimumBalanceForRentExemption',
    ]
    for (const name of [...Object.keys(methods), ...others, 'nope', 'ots2_getContractCreator']) expect(methodFrom(name)).toBe(name)
  })

  it.each([`https://rpc.example.com/${KEY}`, KEY, '', 'eth getBalance', '{"a":1}'])('is not %j', (text) => {
    expect(() => methodFrom(text)).toThrow(OptionError)
    expect(() => methodFrom(text)).toThrow(expect.toSatisfy((error: Error) => !error.message.includes(KEY)))
  })
})

describe('a parameter', () => {
  it.each<[string, unknown]>([
    ['18446744073709551616', 2n ** 64n],
    ['007', 7n],
    ['-1', '-1'],
    ['0x10', '0x10'],
    ['latest', 'latest'],
    ['truely', 'truely'],
    ['true', true],
    ['null', null],
    ['"5"', '5'],
    ['[1,"a"]', [1, 'a']],
    ['{"fromBlock":1}', { fromBlock: 1 }],
  ])('%s', (text, value) => {
    expect(paramFrom(text, 0)).toEqual(value)
  })

  it('that is invalid JSON is refused with its position, not its text', () => {
    expect(() => paramFrom(`{"url":"http://a/${KEY}"`, 1)).toThrow(
      /^params\[1\]: expected JSON, received a string of 42 characters \(Expected .* at position 42\)$/,
    )
  })
})

test.each([
  [`Unexpected token 'x', ..."${KEY}x" is not valid JSON`, "Unexpected token 'x'"],
  ['Unterminated string in JSON at position 50 (line 1 column 51)', 'Unterminated string in JSON at position 50'],
  [`Unexpected token 'a', "a\n${KEY}" is not valid JSON`, "Unexpected token 'a'"],
])('of %j only %j is shown', (message, told) => {
  expect(syntaxFault(new SyntaxError(message))).toBe(told)
})

test('numbers are sent as quantities to an unknown method', () => {
  expect([wireFrom(255n), wireFrom('255'), wireFrom({ a: 1 })]).toEqual(['0xff', '255', { a: 1 }])
})
