/** hexline/rest: the service's data, NFT and streams groups. */
export {
  CodecError,
  type ErrorKind,
  HexlineError,
  LimitError,
  MalformedReplyError,
  NetworkError,
  OptionError,
  ServiceError,
  TimeoutError,
} from '../errors.ts'
export {
  type CollectionsByCreatorParams,
  getCollectionsByCreator,
  getNftsByCollection,
  getNftTransfersByCollection,
  getNftTransfersByWallets,
  getStreams,
  getTransaction,
  getWalletTokens,
  type NftListParams,
  type NftPage,
  type NftsByCollectionParams,
  type NftTransfersByCollectionParams,
  type NftTransfersByWalletsParams,
  type StreamPage,
  type StreamsParams,
  type TokenPage,
  type TransactionParams,
  type WalletTokensParams,
} from './operations.ts'
export type { Page, Paged } from './pages.ts'
export { type DataChain, dataChains } from './params.ts'
export type { InternalTransaction, LogEntry, Nft, NftCollection, NftTransfer, Stream, TokenBalance, Transaction } from './records.ts'
export type { Arrays, RestOptions, Service } from './service.ts'
