import fc from 'fast-check'
import * as viemChains from 'viem/chains'
import { describe, expect, test } from 'vitest'
import { chains, type NodeAddress, nodeUrl, OptionError } from '../../src/index.ts'

/**
 * Slug, id, and the name under which viem exports the chain; by name, since viem has several chains
 * with one id.
 */
const table: [slug: string, id: number, name: keyof typeof viemChains][] = [
  ['eth', 1, 'mainnet'],
  ['sepolia', 11155111, 'sepolia'],
  ['holesky', 17000, 'holesky'],
  ['base', 8453, 'base'],
  ['base-sepolia', 84532, 'baseSepolia'],
  ['polygon', 137, 'polygon'],
  ['amoy', 80002, 'polygonAmoy'],
  ['bsc', 56, 'bsc'],
  ['bsc-testnet', 97, 'bscTestnet'],
  ['arbitrum', 42161, 'arbitrum'],
  ['arbitrum-sepolia', 421614, 'arbitrumSepolia'],
  ['optimism', 10, 'optimism'],
  ['optimism-sepolia', 11155420, 'optimismSepolia'],
  ['gnosis', 100, 'gnosis'],
  ['gnosis-testnet', 10200, 'gnosisChiado'],
  ['linea', 59144, 'linea'],
  ['linea-sepolia', 59141, 'lineaSepolia'],
  ['avalanche', 43114, 'avalanche'],
  ['moonbeam', 1284, 'moonbeam'],
  ['moonriver', 1285, 'moonriver'],
  ['moonbase', 1287, 'moonbaseAlpha'],
  ['blast', 81457, 'blast'],
  ['blast-sepolia', 168587773, 'blastSepolia'],
  ['mantle', 5000, 'mantle'],
  ['mantle-sepolia', 5003, 'mantleSepoliaTestnet'],
  ['polygon-zkevm', 1101, 'polygonZkEvm'],
  ['polygon-zkevm-cardona', 2442, 'polygonZkEvmCardona'],
  ['zksync', 324, 'zksync'],
  ['zksync-sepolia', 300, 'zksyncSepoliaTestnet'],
  ['zetachain', 7000, 'zetachain'],
  ['zetachain-testnet', 7001, 'zetachainAthensTestnet'],
  ['fantom', 250, 'fantom'],
  ['opbnb', 204, 'opBNB'],
]

const ofViem = new Map<string, { id: number }>(Object.entries(viemChains))

describe('chains', () => {
  test('are the 33 of the service, in its order, with their ids', () => {
    expect(Object.entries(chains)).toEqual(table.map(([slug, id]) => [slug, id]))
    expect(table).toHaveLength(33)
    expect(new Set(Object.values(chains)).size).toBe(33)
  })

  test.each(table)('%s has the id %i, as in viem', (slug, id, name) => {
    expect(ofViem.get(name)?.id).toBe(id)
    expect(chains[slug as keyof typeof chains]).toBe(id)
  })
})

describe('nodeUrl', () => {
  const url = (given: Partial<Record<keyof NodeAddress, unknown>>) =>
    nodeUrl({ baseUrl: 'https://rpc.example.com', chain: 'eth', apiKey: 'KEY', ...given } as NodeAddress)

  test.each([
    ['https://rpc.example.com', 'https://rpc.example.com/eth/KEY'],
    ['https://rpc.example.com/', 'https://rpc.example.com/eth/KEY'],
    ['https://rpc.example.com//', 'https://rpc.example.com/eth/KEY'],
    ['https://rpc.example.com/v2/nodes', 'https://rpc.example.com/v2/nodes/eth/KEY'],
    ['https://rpc.example.com/v2/nodes/', 'https://rpc.example.com/v2/nodes/eth/KEY'],
    ['http://127.0.0.1:8545', 'http://127.0.0.1:8545/eth/KEY'],
    ['HTTPS://RPC.Example.com', 'https://rpc.example.com/eth/KEY'],
    ['https://rpc.example.com?region=eu', 'https://rpc.example.com/eth/KEY?region=eu'],
  ])('of the base %s is %s', (baseUrl, expected) => {
    expect(url({ baseUrl })).toBe(expected)
  })

  test('may be that of a WebSocket', () => {
    expect(url({ baseUrl: 'wss://rpc.example.com' })).toBe('wss://rpc.example.com/eth/KEY')
  })

  test.each(table)('has the chain as it is: %s', (chain) => {
    expect(url({ chain })).toBe(`https://rpc.example.com/${chain}/KEY`)
  })

  test('escapes a key, whatever is in it', () => {
    expect(url({ apiKey: 'a/b?c#d e%' })).toBe('https://rpc.example.com/eth/a%2Fb%3Fc%23d%20e%25')
    const key = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== '' && text !== '.' && text !== '..')
    fc.assert(
      fc.property(key, (apiKey) => {
        const { pathname, search, hash } = new URL(url({ apiKey }))
        const [empty, chain, last, ...rest] = pathname.split('/')
        expect([empty, chain, decodeURIComponent(last as string), rest, search, hash]).toEqual(['', 'eth', apiKey, [], '', ''])
      }),
    )
  })

  test.each(['mainnet', 'ETH', '', 'toString', '__proto__', 1, null, undefined, ['eth'], Symbol('eth')])('refuses the chain %o', (chain) => {
    expect(() => url({ chain })).toThrow(OptionError)
    expect(() => url({ chain })).toThrow(/^chain: expected one of eth, sepolia, .*, opbnb, received /)
  })

  test.each([
    ['etth', 'received "etth" (did you mean `eth`?)'],
    ['optimsim-sepolia', 'received "optimsim-sepolia" (did you mean `optimism-sepolia`?)'],
    ['ethereum', 'received "ethereum"'],
  ])('names the chain nearest to %j', (chain, end) => {
    expect(() => url({ chain })).toThrow(new RegExp(`opbnb, ${end.replace(/[()?]/g, '\\$&')}$`))
  })

  test.each([
    ['', 'apiKey: expected a key, received an empty string'],
    ['  ', 'apiKey: expected a key, received an empty string'],
    [undefined, 'apiKey: expected a key, received undefined'],
    [null, 'apiKey: expected a key, received null'],
    [5, 'apiKey: expected a key, received 5'],
  ])('refuses the key %o', (apiKey, message) => {
    expect(() => url({ apiKey })).toThrow(new OptionError('apiKey', 'a key', message.replace(/.*received /, '')))
    expect(() => url({ apiKey })).toThrow(message)
  })

  test.each(['', 'rpc.example.com', '/v2', undefined, null, 8545, {}])('refuses the base %o', (baseUrl) => {
    expect(() => url({ baseUrl })).toThrow(OptionError)
    expect(() => url({ baseUrl })).toThrow(/^baseUrl: expected an http, https, ws or wss URL, such as https:\/\/rpc\.example\.com, received /)
  })

  // Without its scheme, `localhost:8545` is a URL with the scheme `localhost:`, which has no path
  // to put chain and key in.
  test.each(['localhost:8545', 'ftp://rpc.example.com', 'file:///etc', 'mailto:someone@example.com'])(
    'refuses a base that is not the URL of a node: %s',
    (baseUrl) => {
      expect(() => url({ baseUrl })).toThrow(OptionError)
      expect(() => url({ baseUrl })).toThrow(/^baseUrl: expected an http, https, ws or wss URL, such as https:\/\/rpc\.example\.com, received /)
    },
  )

  // These would remove the chain from the path.
  test.each(['.', '..'])('refuses a key that is a path segment such as "..": %s', (apiKey) => {
    expect(() => url({ apiKey })).toThrow(OptionError)
  })

  test.each([
    [undefined, 'address: expected an object, received undefined'],
    ['https://rpc.example.com/eth/KEY', 'address: expected an object, received a string'],
  ])('refuses what is not an address: %s', (given, message) => {
    expect(() => nodeUrl(given as never)).toThrow(expect.objectContaining({ name: 'OptionError', message }))
  })

  test('never shows the key, nor a base that may hold one', () => {
    const secret = 'k3y-that-nobody-may-see'
    for (const given of [
      { chain: 'nope', apiKey: secret },
      { chain: secret, apiKey: 'eth' },
      { baseUrl: `https://[${secret}` },
      { baseUrl: `${secret}` },
      { baseUrl: `ftp://h/${secret}` },
    ]) {
      const message = (() => {
        try {
          return url(given)
        } catch (caught) {
          return String(caught)
        }
      })()
      expect(message).toMatch(/^OptionError/)
      expect(message).not.toContain(secret)
    }
  })
})
