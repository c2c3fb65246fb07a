import { getAddress as ethersAddress } from 'ethers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checksumOf, isChecksummed } from '../../../src/eth/codec/checksum.ts'
import { runs } from '../../support/runs.ts'
import { clientOf, errorOf, honest, serve } from '../../support/server.ts'

/** Of EIP-55. */
const right = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
] as const

describe('the checksum of an address', () => {
  test.each(right)('%s', (address) => {
    expect(checksumOf(address.toLowerCase())).toBe(address)
    for (const form of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) expect(isChecksummed(form)).toBe(true)
  })

  test('is right or wrong as in ethers, for any address in any case', () => {
    const isRight = (address: string) => {
      try {
        return ethersAddress(address) !== ''
      } catch {
        return false
      }
    }
    const digits = fc.array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: 40, maxLength: 40 }).map((all) => `0x${all.join('')}`)
    const mistyped = fc.tuple(fc.constantFrom(...right), fc.nat(39), fc.constantFrom(...'0123456789abcdefABCDEF')).map(([address, i, digit]) => {
      return `${address.slice(0, i + 2)}${digit}${address.slice(i + 3)}`
    })
    fc.assert(
      // Twice, since the second answer is remembered.
      fc.property(fc.oneof(digits, mistyped), (address) => {
        for (const _ of [1, 2]) expect(isChecksummed(address)).toBe(isRight(address))
      }),
      runs(500),
    )
  })
})

test('a mistyped address is refused before anything is sent', async () => {
  const server = await serve(honest)
  const mistyped = right[4].replace('5a', '5b') as `0x${string}`
  const error = await errorOf(clientOf(server.url).call('eth_getBalance', mistyped))
  expect(error).toMatchObject({
    name: 'CodecError',
    message: `params[0]: expected an address with a valid EIP-55 checksum, or in lower case, received "${mistyped}"`,
  })
  expect(server.requests).toHaveLength(0)
})
