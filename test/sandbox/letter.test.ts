import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { minedReceipt } from '../support/mined.ts'
import { ask, type Body, pages } from './ask.ts'
import { alice, deploy, mint, tokenCode, type Viem, viemOn } from './contracts.ts'

/*
 * The types of the service specification, "Resources and their fields", compared with the sandbox's
 * replies. `*` is a field whose type is not stated there.
 */
type Type = 'string' | 'number' | 'boolean' | 'array' | 'object' | '*'
type Fields = Readonly<Record<string, Type>>

const of = (type: Type, ...names: string[]): Fields => Object.fromEntries(names.map((name) => [name, type]))
const words = (text: string) => text.split(' ')

const tokenPage: Fields = { cursor: 'string', page: 'number', page_size: 'number', result: 'array' }
const token: Fields = {
  ...of('string', ...words('token_address symbol name logo thumbnail balance balance_formatted')),
  ...of('*', 'decimals', 'possible_spam'),
  ...of('boolean', 'verified_contract', 'native_token'),
  ...of('number', ...words('usd_price usd_price_24hr_percent_change usd_price_24hr_usd_change usd_value usd_value_24hr_usd_change portfolio_percentage')),
}
const transaction: Fields = {
  ...of('string', ...words('hash nonce transaction_index from_address_entity from_address_entity_logo from_address from_address_label')),
  ...of('string', ...words('to_address_entity to_address_entity_logo to_address to_address_label value gas gas_price input')),
  ...of('string', ...words('receipt_cumulative_gas_used receipt_gas_used receipt_contract_address receipt_root receipt_status')),
  ...of('string', ...words('block_timestamp block_number block_hash')),
  ...of('array', 'logs', 'internal_transactions'),
}
const log = of(
  'string',
  ...words('log_index transaction_hash transaction_index address data topic0 topic1 topic2 topic3 block_timestamp block_number block_hash'),
)
const internal: Fields = {
  ...of('string', ...words('transaction_hash block_hash type from to value gas gas_used input output')),
  block_number: 'number',
}
const nftPage: Fields = { cursor: 'string', hasNextPage: 'boolean', result: '*' }
const transfer = of(
  'string',
  ...words('coin_amount coin_type collection_data_id_hash collection_name creator_address event_account_address event_creation_number event_sequence_number'),
  ...words('from_address name property_version to_address token_amount token_data_id_hash transaction_timestamp transaction_version transfer_type'),
)
const nft = of(
  'string',
  ...words('collection_data_id_hash collection_name creator_address default_properties description description_mutable largest_property_version'),
  ...words('last_transaction_timestamp last_transaction_version maximum maximum_mutable metadata_uri name payee_address properties_mutable royalty_mutable'),
  ...words('royalty_points_denominator royalty_points_numerator supply token_data_id_hash uri_mutable'),
)
const collection = of(
  'string',
  ...words('collection_data_id_hash collection_name creator_address description description_mutable last_transaction_timestamp last_transaction_version'),
  ...words('maximum maximum_mutable metadata_uri supply table_handle uri_mutable'),
)
const streamPage: Fields = { result: '*', cursor: 'string', total: 'number' }
const stream: Fields = {
  ...of(
    '*',
    ...words('webhookUrl description tag allAddresses includeNativeTxs includeContractLogs includeInternalTxs includeAllTxLogs demo id status statusMessage'),
  ),
  ...of('array', 'topic0', 'chainIds'),
  ...of('object', 'getNativeBalances', 'abi', 'advancedOptions', 'triggers'),
}

const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
/** The stated type of each field, and its real type if that differs. */
const found = (record: Body, fields: Fields) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fields[name] === '*' ? '*' : typeOf(value)]))
const wallet = `0x${'6c'.repeat(20)}` as const

let sandbox: Sandbox
let production: Sandbox
let viem: Viem
let minted: string
let deployed: string

beforeAll(async () => {
  sandbox = await startSandbox()
  production = await startSandbox({ upstream: sandbox.upstream, likeProduction: true })
  viem = viemOn(sandbox.upstream)
  const silent = await deploy(viem, tokenCode({}))
  minted = await mint(viem, silent, wallet, 5n)
  deployed = await viem.sendTransaction({ data: tokenCode({}), account: alice })
  await minedReceipt(viem, deployed as `0x${string}`)
})
afterAll(async () => {
  await production?.stop()
  await sandbox?.stop()
})

const tokensPath = `api/v2.2/wallets/${wallet}/tokens?limit=1`
const transactionPath = (hash: string) => `api/v2.2/transaction/${hash}?include=internal_transactions`
const lists: Record<string, { path: (sandbox: Sandbox) => string; page: Fields; record: Fields }> = {
  'token balances': { path: () => tokensPath, page: tokenPage, record: token },
  'NFT transfers by collection': {
    path: ({ seed }) => `nfts/transfers/collections/${seed.collections[0]?.collection_data_id_hash}?limit=50`,
    page: nftPage,
    record: transfer,
  },
  NFTs: { path: ({ seed }) => `nfts/collections/${seed.collections[1]?.collection_data_id_hash}/tokens?limit=15`, page: nftPage, record: nft },
  collections: {
    path: ({ seed }) => `collections/creators?limit=1&creator_address=${seed.collections[0]?.creator_address}`,
    page: nftPage,
    record: collection,
  },
  'the other creator’s collections': {
    path: ({ seed }) => `collections/creators?limit=1&creator_address=${seed.collections[1]?.creator_address}`,
    page: nftPage,
    record: collection,
  },
  'NFT transfers by wallets': {
    path: ({ seed }) => `nfts/transfers/wallets?limit=50&wallet_addresses=${seed.transfers[0]?.from_address}`,
    page: nftPage,
    record: transfer,
  },
  streams: { path: () => 'streams/evm?limit=3', page: streamPage, record: stream },
}

describe('every field has its documented type', () => {
  it.each(Object.keys(lists))('of %s, on every page', async (name) => {
    const { path, page, record } = lists[name] as (typeof lists)[string]
    const got = await pages(sandbox, path(sandbox))
    expect(got.length).toBeGreaterThan(name.includes('creator') ? 0 : 1)
    for (const body of got) {
      expect(found(body, page)).toEqual(page)
      for (const each of body.result) expect(found(each, record)).toEqual(record)
    }
  })

  it('of a transaction, its logs and its internal transactions', async () => {
    for (const hash of [minted, deployed]) {
      const { body } = await ask(sandbox, transactionPath(hash))
      expect(found(body, transaction)).toEqual(transaction)
      for (const each of body.logs) expect(found(each, log)).toEqual(log)
      for (const each of body.internal_transactions) expect(found(each, internal)).toEqual(internal)
    }
  })

  it('logos are URLs', async () => {
    const [page] = await pages(sandbox, tokensPath)
    for (const { logo, thumbnail } of page.result) expect([URL.canParse(logo), URL.canParse(thumbnail)]).toEqual([true, true])
  })
})

describe('likeProduction sends what real services send', () => {
  it('null for unknown fields of a token or a transaction', async () => {
    const got = await pages(production, tokensPath)
    expect(got.at(-1).cursor).toBeNull()
    expect(got.at(-1).result[0]).toMatchObject({ symbol: null, name: null, logo: null, thumbnail: null, decimals: null, usd_price: null, usd_value: null })
    const { body } = await ask(production, transactionPath(deployed))
    expect(body).toMatchObject({ to_address: null, to_address_entity: null, receipt_root: null })
    expect((await ask(production, transactionPath(minted))).body.logs[0]).toMatchObject({ topic3: null })
  })

  it('booleans and objects among the strings of the NFT group', () => {
    const { transfers, nfts, collections } = production.seed
    expect(new Set(transfers.map(({ coin_type }) => coin_type))).toEqual(new Set(['0x1::aptos_coin::AptosCoin', null, '']))
    expect(new Set(nfts.map((each) => typeof each.default_properties))).toEqual(new Set(['string', 'object']))
    expect(new Set(nfts.map((each) => typeof each.uri_mutable))).toEqual(new Set(['string', 'boolean']))
    expect(new Set(collections.map((each) => typeof each.maximum_mutable))).toEqual(new Set(['string', 'boolean']))
  })

  it('objects, lists and nulls in streams, and no cursor on the last page', async () => {
    const { body } = await ask(production, 'streams/evm?limit=100')
    expect(body).not.toHaveProperty('cursor')
    expect(new Set(body.result.map(({ abi }: Body) => typeOf(abi)))).toEqual(new Set(['object', 'array', 'null']))
  })
})

it('times have microseconds and a trailing Z', () => {
  for (const { transaction_timestamp } of sandbox.seed.transfers) expect(transaction_timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})
