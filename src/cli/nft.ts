import { Command } from 'commander'
import type { Nft, NftCollection, NftTransfer, Stream } from '../rest/index.ts'
import { UsageError } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { messagesFor } from './output/messages.ts'
import { printList } from './output/records.ts'
import type { Column } from './output/table.ts'
import { type ArrayFlags, addArrayFlags, addListFlags, addServiceFlags, arrayOptions, restOptions, type ServiceFlags, serviceFrom, whole } from './service.ts'

interface ListFlags extends ServiceFlags {
  readonly offset?: number
}

interface TransfersFlags extends ListFlags, ArrayFlags {
  readonly collection?: string
  readonly wallet?: readonly string[]
  readonly only?: readonly string[]
  readonly without?: readonly string[]
}

const PAGE = 100

const transferColumns: readonly Column<NftTransfer>[] = [
  { title: 'TIME', of: ({ transaction_timestamp }) => transaction_timestamp },
  { title: 'NFT', of: ({ name }) => name },
  { title: 'COLLECTION', of: ({ collection_name }) => collection_name },
  { title: 'FROM', of: ({ from_address }) => from_address },
  { title: 'TO', of: ({ to_address }) => to_address },
  { title: 'AMOUNT', of: ({ token_amount }) => token_amount, right: true },
]

const nftColumns: readonly Column<Nft>[] = [
  { title: 'NFT', of: ({ name }) => name },
  { title: 'SUPPLY', of: ({ supply }) => supply, right: true },
  { title: 'ID', of: ({ token_data_id_hash }) => token_data_id_hash },
  { title: 'METADATA', of: ({ metadata_uri }) => metadata_uri },
]

const collectionColumns: readonly Column<NftCollection>[] = [
  { title: 'COLLECTION', of: ({ collection_name }) => collection_name },
  { title: 'SUPPLY', of: ({ supply }) => supply, right: true },
  { title: 'ID', of: ({ collection_data_id_hash }) => collection_data_id_hash },
  { title: 'METADATA', of: ({ metadata_uri }) => metadata_uri },
]

const streamColumns: readonly Column<Stream>[] = [
  { title: 'STREAM', of: ({ tag }) => tag },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'CHAINS', of: ({ chainIds }) => (Array.isArray(chainIds) ? chainIds.join(' ') : chainIds) },
  { title: 'WEBHOOK', of: ({ webhookUrl }) => webhookUrl },
  { title: 'ID', of: ({ id }) => id },
]

/** `hexline nft`: the NFT group's four lists. */
export function nftCommand(io: Io): Command {
  const nft = new Command('nft')
    .description('NFTs of a move-based chain: transfers, tokens, collections.')
    .summary('NFTs, their transfers and collections')
    .addHelpText(
      'after',
      `
Examples:
  hexline nft collections 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa
  hexline nft transfers --collection 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --json`,
    )
  const list = (name: string, description: string) =>
    addListFlags(addServiceFlags(nft.command(name).description(description).summary(description), 'nftUrl')).option('--offset <n>', 'records to skip', whole)

  addArrayFlags(list('transfers', 'transfers of a collection, or of wallets'))
    .option('--collection <id>', 'transfers of this collection')
    .option('--wallet <address...>', 'transfers of these wallets')
    .option('--only <id...>', 'with --collection: only these wallets; with --wallet: only these collections')
    .option('--without <id...>', 'with --collection: without these wallets; with --wallet: without these collections')
    .addHelpText(
      'after',
      `
Examples:
  hexline nft transfers --collection 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --limit 20
  HEXLINE_NFT_URL=https://nft.example.com HEXLINE_API_KEY=… hexline nft transfers --wallet 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --without 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --all --json`,
    )
    .action(async (flags: TransfersFlags) => {
      const messages = messagesFor(flags, io)
      const { collection, wallet, only, without, limit = PAGE, offset, cursor } = flags
      if ((collection === undefined) === (wallet === undefined))
        throw new UsageError(collection === undefined ? 'either --collection or --wallet is required' : '--collection and --wallet cannot be combined')
      const service = serviceFrom(flags, 'nftUrl', io.env, messages)
      const options = { ...restOptions(flags), ...arrayOptions(flags) }
      const paging = { limit, offset, cursor }
      const { getNftTransfersByCollection, getNftTransfersByWallets } = await import('../rest/index.ts')
      const transfers =
        collection !== undefined
          ? getNftTransfersByCollection(service, { collection_data_id_hash: collection, ...paging, wallet_whitelist: only, wallet_blacklist: without }, options)
          : getNftTransfersByWallets(
              service,
              { wallet_addresses: wallet as string[], ...paging, collection_whitelist: only, collection_blacklist: without },
              options,
            )
      await printList(io.stdout, transfers, transferColumns, flags, messages)
    })

  list('tokens', "a collection's NFTs")
    .argument('<collection>', 'id of the collection')
    .addHelpText(
      'after',
      `
Examples:
  hexline nft tokens 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa
  HEXLINE_NFT_URL=https://nft.example.com HEXLINE_API_KEY=… hexline nft tokens 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --all --json | jq .name`,
    )
    .action(async (collection: string, flags: ListFlags) => {
      const messages = messagesFor(flags, io)
      const service = serviceFrom(flags, 'nftUrl', io.env, messages)
      const { limit = PAGE, offset, cursor } = flags
      const { getNftsByCollection } = await import('../rest/index.ts')
      await printList(
        io.stdout,
        getNftsByCollection(service, { collection_data_id_hash: collection, limit, offset, cursor }, restOptions(flags)),
        nftColumns,
        flags,
        messages,
      )
    })

  list('collections', 'collections of a creator')
    .argument('<creator>', 'address of the creator')
    .addHelpText(
      'after',
      `
Examples:
  hexline nft collections 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa
  HEXLINE_NFT_URL=https://nft.example.com HEXLINE_API_KEY=… hexline nft collections 0x217c03c4fd63cc4bcaf6cd9f51e5f940bd5b46600ae0608dd4afb1f69f117daa --offset 100 --json`,
    )
    .action(async (creator: string, flags: ListFlags) => {
      const messages = messagesFor(flags, io)
      const service = serviceFrom(flags, 'nftUrl', io.env, messages)
      const { limit = PAGE, offset, cursor } = flags
      const { getCollectionsByCreator } = await import('../rest/index.ts')
      await printList(
        io.stdout,
        getCollectionsByCreator(service, { creator_address: creator, limit, offset, cursor }, restOptions(flags)),
        collectionColumns,
        flags,
        messages,
      )
    })
  return nft
}

/** `hexline streams`: the streams of the key's project. */
export function streamsCommand(io: Io): Command {
  return addListFlags(
    addServiceFlags(new Command('streams').description("The streams of the key's project.").summary('the streams of a project'), 'streamsUrl'),
    PAGE,
  )
    .addHelpText(
      'after',
      `
Examples:
  hexline streams --limit 10
  HEXLINE_STREAMS_URL=https://streams.example.com HEXLINE_API_KEY=… hexline streams --all --json | jq .tag`,
    )
    .action(async (flags: ServiceFlags) => {
      const messages = messagesFor(flags, io)
      const service = serviceFrom(flags, 'streamsUrl', io.env, messages)
      const { limit = PAGE, cursor } = flags
      const { getStreams } = await import('../rest/index.ts')
      await printList(io.stdout, getStreams(service, { limit, cursor }, restOptions(flags)), streamColumns, flags, messages)
    })
}
