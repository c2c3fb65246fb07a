import * as rest from '../../src/rest/index.ts'

type Call = (service: rest.Service, params: object, options?: rest.RestOptions) => Promise<unknown> | PromiseLike<unknown>

export const ADDRESS = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
export const HASH = `0x${'Cd'.repeat(32)}`
export const COLLECTION = '00ff'.repeat(16)
export const CREATOR = `0x${'0e'.repeat(32)}`

/** An operation of the service: how to call it, its required parameters, and the URL they make. */
export interface Row {
  readonly call: Call
  readonly group: 'dataUrl' | 'nftUrl' | 'streamsUrl'
  /** The required parameters only. */
  readonly params: Readonly<Record<string, unknown>>
  /** The URL for these parameters. */
  readonly url: string
}

/** All seven: service specification, "Endpoints" 1 to 7. */
export const operations = {
  getWalletTokens: {
    call: rest.getWalletTokens as Call,
    group: 'dataUrl',
    params: { address: ADDRESS },
    url: `/api/v2.2/wallets/${ADDRESS}/tokens`,
  },
  getTransaction: {
    call: rest.getTransaction as Call,
    group: 'dataUrl',
    params: { transaction_hash: HASH },
    url: `/api/v2.2/transaction/${HASH}`,
  },
  getNftTransfersByCollection: {
    call: rest.getNftTransfersByCollection as Call,
    group: 'nftUrl',
    params: { collection_data_id_hash: COLLECTION, limit: 5 },
    url: `/nfts/transfers/collections/${COLLECTION}?limit=5`,
  },
  getNftsByCollection: {
    call: rest.getNftsByCollection as Call,
    group: 'nftUrl',
    params: { collection_data_id_hash: COLLECTION, limit: 5 },
    url: `/nfts/collections/${COLLECTION}/tokens?limit=5`,
  },
  getCollectionsByCreator: {
    call: rest.getCollectionsByCreator as Call,
    group: 'nftUrl',
    params: { creator_address: CREATOR, limit: 5 },
    url: `/collections/creators?limit=5&creator_address=${CREATOR}`,
  },
  getNftTransfersByWallets: {
    call: rest.getNftTransfersByWallets as Call,
    group: 'nftUrl',
    params: { wallet_addresses: [CREATOR], limit: 5 },
    url: `/nfts/transfers/wallets?limit=5&wallet_addresses%5B0%5D=${CREATOR}`,
  },
  getStreams: { call: rest.getStreams as Call, group: 'streamsUrl', params: { limit: 5 }, url: '/streams/evm?limit=5' },
} as const satisfies Record<string, Row>

export type Name = keyof typeof operations
export const names = Object.keys(operations) as Name[]
