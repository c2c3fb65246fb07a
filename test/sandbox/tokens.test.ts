import { formatUnits, getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokenCode as demoTokenCode, deployment } from '../../demo/contracts.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { minedReceipt } from '../support/mined.ts'
import { ask, type Body, pages } from './ask.ts'
import { abi, alice, bytes32, deploy, mint, text, tokenCode, type Viem, viemOn, word } from './contracts.ts'

const wallet = `0x${'5a'.repeat(20)}` as const
const NATIVE = `0x${'e'.repeat(40)}`
const FIELDS = [
  'token_address symbol name logo thumbnail decimals balance possible_spam verified_contract balance_formatted usd_price usd_price_24hr_percent_change',
  'usd_price_24hr_usd_change usd_value usd_value_24hr_usd_change native_token portfolio_percentage',
]

/** The return values of each token, and the metadata expected from them. */
const kinds = {
  plain: { says: { name: text('Plain Dollar'), symbol: text('PD'), decimals: word(6) }, name: 'Plain Dollar', symbol: 'PD', decimals: 6 },
  old: { says: { name: bytes32('Maker'), symbol: bytes32('MKR'), decimals: word(18) }, name: 'Maker', symbol: 'MKR', decimals: 18 },
  silent: { says: {}, name: '', symbol: '', decimals: 0 },
  long: { says: { name: text('ü'.repeat(50)), symbol: text(''), decimals: word(0) }, name: 'ü'.repeat(50), symbol: '', decimals: 0 },
  broken: { says: { name: word(32) + word(2n ** 255n), symbol: `${'ff'.repeat(31)}00`, decimals: word(256) }, name: '', symbol: '', decimals: 0 },
} as const
type Kind = keyof typeof kinds

let node: Sandbox
let viem: Viem
const tokens = {} as Record<Kind, `0x${string}`>
let refuses: string
let collectible: `0x${string}`
let demoToken: `0x${string}`
/** The block after which the wallet has one unit of each token, and nothing else. */
let early: bigint
let sandbox: Sandbox

const path = `api/v2.2/wallets/${wallet}/tokens`
const addressesOf = (body: Body) => body.result.map((each: Body) => each.token_address)

beforeAll(async () => {
  node = await startSandbox()
  viem = viemOn(node.upstream)
  for (const [kind, { says }] of Object.entries(kinds)) tokens[kind as Kind] = await deploy(viem, tokenCode(says))
  for (const token of Object.values(tokens)) await mint(viem, token, wallet, 1n)
  // viem would return a number up to four seconds old.
  early = await viem.getBlockNumber({ cacheTime: 0 })
  await mint(viem, tokens.plain, wallet, 1_234_567n)
  await mint(viem, tokens.plain, alice, 500n)
  await minedReceipt(viem, await viem.writeContract({ abi, address: tokens.plain, functionName: 'transfer', args: [wallet, 500n] }))
  await mint(viem, tokens.old, wallet, 10n ** 18n - 1n)
  refuses = await deploy(viem, tokenCode({ name: text('No balance'), balanceOf: 'revert' }))
  await mint(viem, refuses as `0x${string}`, wallet, 5n)
  collectible = await deploy(viem, tokenCode({ isCollectible: true }))
  await mint(viem, collectible, wallet, 1n)
  // It logs transfers and keeps no balances.
  demoToken = await deploy(viem, deployment(demoTokenCode))
  await minedReceipt(viem, await viem.writeContract({ abi, address: demoToken, functionName: 'transfer', args: [wallet, 5n] }))
  await minedReceipt(viem, await viem.sendTransaction({ to: wallet, value: 3n * 10n ** 18n }))
  sandbox = await startSandbox({
    upstream: node.upstream,
    prices: { native: { usd: 2000, usd24hAgo: 1600 }, [getAddress(tokens.plain)]: { usd: 1 } },
    tokens: { [tokens.old]: { verifiedContract: true, logo: 'https://img.example.com/mkr.png' }, [tokens.silent]: { possibleSpam: true } },
  })
})
afterAll(async () => {
  await sandbox?.stop()
  await node?.stop()
})

describe('the balances of a wallet', () => {
  it('are those that viem reads from the same node', async () => {
    const { body } = await ask(sandbox, path)
    expect(addressesOf(body)).toEqual([NATIVE, ...Object.values(tokens).sort()])
    for (const entry of body.result) {
      expect(Object.keys(entry)).toEqual(FIELDS.join(' ').split(' '))
      const amount = entry.native_token
        ? await viem.getBalance({ address: wallet })
        : await viem.readContract({ abi, address: entry.token_address, functionName: 'balanceOf', args: [wallet] })
      expect(entry).toMatchObject({ balance: amount.toString(), balance_formatted: formatUnits(amount, entry.decimals ?? 0) })
    }
    const plain = body.result.find((each: Body) => each.token_address === tokens.plain)
    const read = (functionName: 'name' | 'symbol' | 'decimals') => viem.readContract({ abi, address: tokens.plain, functionName })
    expect([plain.name, plain.symbol, plain.decimals]).toEqual([await read('name'), await read('symbol'), await read('decimals')])
    expect(plain).toMatchObject({ balance: '1235068', balance_formatted: '1.235068' })
  })

  it('have metadata in all forms that tokens use, and none if it is broken', async () => {
    const { body } = await ask(sandbox, path)
    const found = (address: string) => body.result.find((each: Body) => each.token_address === address)
    for (const [kind, { name, symbol, decimals }] of Object.entries(kinds)) expect(found(tokens[kind as Kind])).toMatchObject({ name, symbol, decimals })
    expect(found(tokens.old).balance_formatted).toBe('1')
    expect(found(NATIVE)).toMatchObject({ symbol: 'ETH', decimals: 18, balance_formatted: '3', native_token: true, verified_contract: true })
  })

  it('leave out contracts without balances and NFTs', async () => {
    const { body } = await ask(sandbox, path)
    expect(await viem.readContract({ abi, address: collectible, functionName: 'balanceOf', args: [wallet] })).toBe(1n)
    for (const address of [collectible, refuses, demoToken]) expect(addressesOf(body)).not.toContain(address)
    expect(body.result).toHaveLength(6)
  })

  it('have prices, values and shares from the table, and 0 without', async () => {
    const { body } = await ask(sandbox, path)
    const found = (address: string) => body.result.find((each: Body) => each.token_address === address)
    const total = 6000 + 1.235068
    expect(found(NATIVE)).toMatchObject({ usd_price: 2000, usd_price_24hr_usd_change: 400, usd_value: 6000, usd_value_24hr_usd_change: 1200 })
    expect(found(NATIVE).usd_price_24hr_percent_change).toBeCloseTo(25, 9)
    expect(found(NATIVE).portfolio_percentage).toBeCloseTo((6000 / total) * 100, 9)
    expect(found(tokens.plain)).toMatchObject({ usd_price: 1, usd_value: 1.235068, usd_price_24hr_percent_change: 0, usd_value_24hr_usd_change: 0 })
    expect(found(tokens.old)).toMatchObject({ usd_price: 0, usd_value: 0, portfolio_percentage: 0, logo: 'https://img.example.com/mkr.png' })
    // A share is that of all the wallet's holdings, whatever is listed.
    const { body: alone } = await ask(sandbox, `${path}?token_addresses[0]=${tokens.plain}`)
    expect(alone.result[0].portfolio_percentage).toBeCloseTo((1.235068 / total) * 100, 9)
  })
})

describe('its parameters', () => {
  it('to_block gives the balances after that block', async () => {
    const { body } = await ask(sandbox, `${path}?to_block=${early}`)
    expect(body.result.map((each: Body) => each.balance)).toEqual(['0', '1', '1', '1', '1', '1'])
    const before = await ask(sandbox, `${path}?to_block=0`)
    expect(addressesOf(before.body)).toEqual([NATIVE])
  })

  it('token_addresses, exclude_native, exclude_spam and exclude_unverified_contracts choose', async () => {
    const of = async (query: string) => addressesOf((await ask(sandbox, `${path}?${query}`)).body)
    const all = Object.values(tokens).sort()
    expect(await of('exclude_native=true')).toEqual(all)
    expect(await of('exclude_native=false')).toEqual([NATIVE, ...all])
    expect(await of('exclude_spam=true')).toEqual([NATIVE, ...all.filter((each) => each !== tokens.silent)])
    expect(await of('exclude_unverified_contracts=true')).toEqual([NATIVE, tokens.old])
    expect(await of(`token_addresses[0]=${getAddress(tokens.long)}&token_addresses[1]=${tokens.old}`)).toEqual([tokens.long, tokens.old].sort())
    expect(await of(`token_addresses=${NATIVE}`)).toEqual([NATIVE])
  })

  it.each(['eth', '0x1'])('chain %s is the chain that is served', async (chain) => {
    expect((await ask(sandbox, `${path}?chain=${chain}`)).status).toBe(200)
  })

  it.each([
    ['chain=base', 400, 'this sandbox serves only eth'],
    ['chain=palm', 400, 'this sandbox serves only eth'],
    ['chain=ethereum', 400, 'chain must be the name or hex id of a chain of the data group, such as eth or 0x1'],
    ['limit=0', 400, 'limit must be a whole number from 1 to 100'],
    ['limit=101', 400, 'limit must be a whole number from 1 to 100'],
    ['limit=5&limit=6', 400, 'limit must be a whole number from 1 to 100'],
    ['exclude_spam=yes', 400, 'exclude_spam must be true or false'],
    ['token_addresses[0]=0x12', 400, 'token_addresses must be a list, each entry an address'],
    ['to_block=1e9', 400, 'to_block must be a whole number of at least 0'],
    ['to_block=999999999', 400, expect.stringMatching(/^to_block must not be above the newest block, \d+$/)],
    ['cursor=abc', 400, 'cursor must come from an earlier page'],
    ['cursor=', 400, 'cursor must be the cursor of a page'],
    [
      'exclude_spm=true',
      400,
      expect.stringMatching(/^"exclude_spm" is not a parameter of this operation; it takes chain, to_block, token_addresses, exclude_spam,/),
    ],
  ])('%s is refused with %d', async (query, status, message) => {
    expect(await ask(sandbox, `${path}?${query}`)).toMatchObject({ status, body: { message } })
  })

  it('an invalid address is refused', async () => {
    expect(await ask(sandbox, 'api/v2.2/wallets/0x12/tokens')).toMatchObject({ status: 400, body: { message: 'address must be 20 bytes in hex' } })
  })

  it('cursor and limit page through one state, even if the chain changes', async () => {
    const rich = `0x${'77'.repeat(20)}` as const
    await viem.setAutomine(false)
    const made: `0x${string}`[] = []
    for (let i = 0; i < 7; i++) made.push(await viem.sendTransaction({ data: tokenCode({ symbol: text(`T${i}`) }) }))
    await viem.mine({ blocks: 1 })
    const addresses = await Promise.all(made.map(async (hash) => (await viem.getTransactionReceipt({ hash })).contractAddress as `0x${string}`))
    for (const address of addresses) await viem.writeContract({ abi, address, functionName: 'mint', args: [rich, 9n], gas: 100_000n })
    await viem.mine({ blocks: 1 })
    await viem.setAutomine(true)
    const got = await pages(sandbox, `api/v2.2/wallets/${rich}/tokens?limit=3`, async () => {
      const later = await deploy(viem, tokenCode({}))
      await mint(viem, later, rich, 1n)
      await mint(viem, addresses[6] as `0x${string}`, rich, 1n)
    })
    expect(got.map(({ page, page_size, result }) => [page, page_size, result.length])).toEqual([
      [0, 3, 3],
      [1, 3, 3],
      [2, 3, 2],
    ])
    expect(got.flatMap(addressesOf)).toEqual([NATIVE, ...addresses.map((each) => each.toLowerCase()).sort()])
    expect(got.flatMap(({ result }) => result.slice(0).map((each: Body) => each.balance))).toEqual(['0', ...Array(7).fill('9')])
    expect(await ask(sandbox, `${path}?cursor=${got[0].cursor}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/from the same wallet/) },
    })
  })
})

it.each([
  ['optimism-sepolia', ['optimism sepolia', '0xaa37d', '0xaa37dc', '0xAA37DC'], 'ETH'],
  ['amoy', ['polygon amoy', '0x13882'], 'POL'],
] as const)('%s goes by %j', async (chain, selectors, symbol) => {
  await using other = await startSandbox({ upstream: node.upstream, chain })
  for (const selector of selectors) {
    const { status, body } = await ask(other, `${path}?exclude_unverified_contracts=true&chain=${encodeURIComponent(selector)}`)
    expect([status, body.result[0].symbol]).toEqual([200, symbol])
  }
})
