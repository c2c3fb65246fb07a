import { InvalidArgumentError } from 'commander'
import { describe, expect, it, test } from 'vitest'
import { arrayOptions, restOptions, type ServiceFlags, serviceFrom, whole } from '../../src/cli/service.ts'

const KEY = 'Zk3yQ0123456789abcdefXYZ'

/** The service, or the refusal, and the warnings. */
function from(flags: ServiceFlags, env: Record<string, string> = {}) {
  const warnings: string[] = []
  const messages = { tell() {}, fail() {}, explain: String, warn: (sentence: string) => void warnings.push(sentence) }
  try {
    return { service: serviceFrom(flags, 'nftUrl', env, messages), warnings }
  } catch (error) {
    return { refused: (error as Error).message, warnings }
  }
}

describe('the service', () => {
  const url = 'http://a.example'
  it.each<[ServiceFlags, Record<string, string>, object, number]>([
    [{}, { HEXLINE_NFT_URL: url, HEXLINE_API_KEY: KEY }, { service: { nftUrl: url, apiKey: KEY } }, 0],
    [{ nftUrl: url }, { HEXLINE_NFT_URL: 'http://b.example', HEXLINE_API_KEY: KEY }, { service: { nftUrl: url, apiKey: KEY } }, 0],
    [{ nftUrl: `${url}/${KEY}`, apiKey: KEY }, {}, { service: { nftUrl: `${url}/${KEY}`, apiKey: KEY } }, 2],
    [
      { dataUrl: url },
      { HEXLINE_API_KEY: KEY },
      { refused: '--nft-url: expected the address of the NFT group, here or in HEXLINE_NFT_URL, received nothing' },
      0,
    ],
    [{ nftUrl: url }, { HEXLINE_API_KEY: '' }, { refused: '--api-key: expected the key, here or in HEXLINE_API_KEY, received nothing' }, 0],
  ])('of %o, with %o', (flags, env, expected, warned) => {
    const { warnings, ...rest } = from(flags, env)
    expect(rest).toEqual(expected)
    expect(warnings).toHaveLength(warned)
    expect(warnings.join()).not.toContain(KEY)
  })
})

test('only given flags become options', () => {
  expect([arrayOptions({}), arrayOptions({ arrays: 'repeat', maxArray: 5 })]).toEqual([{}, { arrays: 'repeat', maxArrayLength: 5 }])
  expect([restOptions({}), restOptions({ lenient: true })]).toEqual([{}, { lenient: true }])
})

test.each(['', ' ', '-1', '1.5', 'x', '9007199254740992'])('%j is not a whole number', (text) => {
  expect(() => whole(text)).toThrow(InvalidArgumentError)
  expect([whole('0'), whole('20')]).toEqual([0, 20])
})
