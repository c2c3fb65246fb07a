/* The service's fields, one by one, as in the specification, and their decoded values. */

/** As sent -> as decoded. Fields missing from the second are decoded unchanged. */
export interface Sample {
  readonly sent: Readonly<Record<string, unknown>>
  readonly read: Readonly<Record<string, unknown>>
}

const TIME = '2022-10-16T23:07:19.123456Z'
const DATE = new Date('2022-10-16T23:07:19.123Z')
const MILLIS = '2023-01-22T15:00:11.000Z'
const WEI = '340282366920938463463374607431768211455'

const logEntry: Sample = {
  sent: {
    log_index: '3',
    transaction_hash: '0xt1',
    transaction_index: '7',
    address: '0xlog',
    data: '0x00',
    topic0: '0xt0',
    topic1: '',
    topic2: '',
    topic3: '',
    block_timestamp: MILLIS,
    block_number: '12526958',
    block_hash: '0xb',
  },
  read: { log_index: 3n, transaction_index: 7n, block_number: 12526958n, block_timestamp_date: new Date(MILLIS) },
}

const internalTransaction: Sample = {
  sent: {
    transaction_hash: '0xt1',
    block_number: 12526958,
    block_hash: '0xb',
    type: 'CALL',
    from: '0xf',
    to: '0xt',
    value: WEI,
    gas: '6721975',
    gas_used: '6721974',
    input: '0x',
    output: '0x',
  },
  read: { block_number: 12526958n, value: BigInt(WEI), gas: 6721975n, gas_used: 6721974n },
}

const transaction: Sample = {
  sent: {
    hash: '0xt1',
    nonce: '326595425',
    transaction_index: '25',
    from_address_entity: 'Opensea',
    from_address_entity_logo: 'https://logo',
    from_address: '0xFrom',
    from_address_label: 'Binance 1',
    to_address_entity: 'Beaver Build',
    to_address_entity_logo: 'https://logo2',
    to_address: '0xTo',
    to_address_label: 'Binance 2',
    value: WEI,
    gas: '6721975',
    gas_price: '20000000000',
    input: '0x1234',
    receipt_cumulative_gas_used: '1340925',
    receipt_gas_used: '1340924',
    receipt_contract_address: '0xC',
    receipt_root: '',
    receipt_status: '1',
    block_timestamp: MILLIS,
    block_number: '12526958',
    block_hash: '0xb',
    logs: [logEntry.sent],
    internal_transactions: [internalTransaction.sent],
  },
  read: {
    nonce: 326595425n,
    transaction_index: 25n,
    value: BigInt(WEI),
    gas: 6721975n,
    gas_price: 20000000000n,
    receipt_cumulative_gas_used: 1340925n,
    receipt_gas_used: 1340924n,
    receipt_status: 1,
    block_timestamp_date: new Date(MILLIS),
    block_number: 12526958n,
    logs: [{ ...logEntry.sent, ...logEntry.read }],
    internal_transactions: [{ ...internalTransaction.sent, ...internalTransaction.read }],
  },
}

const tokenBalance: Sample = {
  sent: {
    token_address: '0xeeee',
    symbol: 'ETH',
    name: 'Ether',
    logo: 'https://logo',
    thumbnail: 'https://thumb',
    decimals: '18',
    balance: WEI,
    possible_spam: 'false',
    verified_contract: true,
    balance_formatted: '340282366920938463463.374607431768211455',
    usd_price: 2636.2521,
    usd_price_24hr_percent_change: -0.85,
    usd_price_24hr_usd_change: '-21.06',
    usd_value: '1e3',
    usd_value_24hr_usd_change: null,
    native_token: true,
    portfolio_percentage: 12.5,
  },
  read: { decimals: 18, balance: BigInt(WEI), possible_spam: false, usd_price_24hr_usd_change: -21.06, usd_value: 1000 },
}

const nftTransfer: Sample = {
  sent: {
    coin_amount: '250000000',
    coin_type: '',
    collection_data_id_hash: 'ca',
    collection_name: 'Monkeys',
    creator_address: '0xc',
    event_account_address: '0xe',
    event_creation_number: '4',
    event_sequence_number: '0',
    from_address: '0xf',
    name: 'Monkey #1',
    property_version: '0',
    to_address: '0xt',
    token_amount: '1',
    token_data_id_hash: 'ta',
    transaction_timestamp: TIME,
    transaction_version: '13957777',
    transfer_type: '0x3::token::DepositEvent',
  },
  read: {
    coin_amount: 250000000n,
    event_creation_number: 4n,
    event_sequence_number: 0n,
    property_version: 0n,
    token_amount: 1n,
    transaction_version: 13957777n,
    transaction_timestamp_date: DATE,
  },
}

const nft: Sample = {
  sent: {
    collection_data_id_hash: 'ca',
    collection_name: 'Monkeys',
    creator_address: '0xc',
    default_properties: '{"TOKEN_BURNABLE_BY_OWNER":"0x01","deep":{"a":[1]}}',
    description: 'A monkey',
    description_mutable: 'true',
    largest_property_version: '0',
    last_transaction_timestamp: TIME,
    last_transaction_version: '13957777',
    maximum: '1',
    maximum_mutable: 'false',
    metadata_uri: 'https://meta',
    name: 'Monkey #1',
    payee_address: '0xp',
    properties_mutable: 'true',
    royalty_mutable: 'false',
    royalty_points_denominator: '1000',
    royalty_points_numerator: '50',
    supply: '1',
    token_data_id_hash: 'ta',
    uri_mutable: 'true',
  },
  read: {
    default_properties: { TOKEN_BURNABLE_BY_OWNER: '0x01', deep: { a: [1] } },
    description_mutable: true,
    largest_property_version: 0n,
    last_transaction_timestamp_date: DATE,
    last_transaction_version: 13957777n,
    maximum: 1n,
    maximum_mutable: false,
    properties_mutable: true,
    royalty_mutable: false,
    royalty_points_denominator: 1000n,
    royalty_points_numerator: 50n,
    supply: 1n,
    uri_mutable: true,
  },
}

const nftCollection: Sample = {
  sent: {
    collection_data_id_hash: 'ca',
    collection_name: 'Monkeys',
    creator_address: '0xc',
    description: 'Of monkeys',
    description_mutable: 'false',
    last_transaction_timestamp: TIME,
    last_transaction_version: '13957777',
    maximum: '18446744073709551615',
    maximum_mutable: 'false',
    metadata_uri: 'https://meta',
    supply: '4200',
    table_handle: '0xth',
    uri_mutable: 'true',
  },
  read: {
    description_mutable: false,
    last_transaction_timestamp_date: DATE,
    last_transaction_version: 13957777n,
    maximum: 18446744073709551615n,
    maximum_mutable: false,
    supply: 4200n,
    uri_mutable: true,
  },
}

const stream: Sample = {
  sent: {
    webhookUrl: 'https://hook',
    description: 'Transfers',
    tag: 'transfers',
    topic0: ['Transfer(address,address,uint256)'],
    allAddresses: false,
    includeNativeTxs: true,
    includeContractLogs: true,
    includeInternalTxs: false,
    includeAllTxLogs: false,
    getNativeBalances: { selectors: ['$from'], type: 'tx' },
    abi: { anonymous: false, inputs: [{ name: 'from', type: 'address', indexed: true }], name: 'Transfer', type: 'event' },
    advancedOptions: { topic0: 'Transfer(address,address,uint256)', includeNativeTxs: true },
    chainIds: ['0x1', '0x89'],
    demo: false,
    triggers: {
      type: 'erc20transfer',
      contractAddress: '0xc',
      inputs: [],
      functionAbi: {
        anonymous: false,
        constant: true,
        inputs: [{ name: 'to', type: 'tuple', components: [{ name: 'a', type: 'address' }], internalType: 'struct A' }],
        name: 'balanceOf',
        outputs: [{ name: '', type: 'uint256', internalType: 'uint256' }],
        payable: false,
        stateMutability: 'view',
        type: 'function',
        gas: 30_000,
      },
      topic0: '',
      callFrom: '$from',
    },
    id: '3fa85f64',
    status: 'active',
    statusMessage: 'Stream is active',
  },
  read: {},
}

export const samples = { tokenBalance, transaction, nftTransfer, nft, nftCollection, stream } as const satisfies Record<string, Sample>
