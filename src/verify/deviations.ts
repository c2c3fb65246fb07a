import type { Block, Receipt, Transaction } from '../eth/objects.ts'
import { hasGap, headerFields } from './header.ts'
import { hasRoot, type RootedReceipt } from './receipt.ts'
import { hasOtherFields, isUnsigned, transactionTypes } from './transaction.ts'

/*
 * When a hash or root does not fit, the block is wrong, or its chain computes it in another way.
 * This file says by which signs a mismatch is taken for the second. No sign counts before there is
 * a mismatch: what fits is proven. A sign that a liar could add to a block of Ethereum counts only
 * for the hash of the header; what a proven header holds cannot be made up.
 */

/** A chain whose headers are hashed in another way. */
interface OtherHeaders {
  readonly chains: readonly number[]
  readonly why: string
}

/** Each with the file of a node, or else the page, that shows it. */
const otherHeaders: readonly OtherHeaders[] = [
  // evmos/ethermint, rpc/types/utils.go: the hash is the one of CometBFT's header.
  { chains: [25, 338, 777, 7000, 7001, 9001, 9000, 7700, 2222, 2221, 1776], why: 'its blocks have the hashes of CometBFT' },
  // matter-labs/zksync-era, core/lib/types/src/block.rs
  { chains: [324, 300, 388, 232, 2741, 11124], why: 'ZK Stack hashes its headers in another way' },
  // ava-labs/coreth, core/types/block.go: `extDataHash`, `extDataGasUsed`, `blockGasCost`.
  { chains: [43113, 43114], why: 'Avalanche has more fields in its headers' },
  // No source of the hash was found.
  { chains: [1101, 2442], why: 'Polygon zkEVM hashes its headers in another way' },
  // celo-org/celo-blockchain, core/types/block.go: no uncles, difficulty or gas limit.
  { chains: [42220, 44787], why: 'Celo had other headers before it became a layer 2' },
  // rsksmart/rskj, rskj-core/src/main/java/org/ethereum/core/BlockHeader.java: merged mining.
  { chains: [30, 31], why: 'Rootstock has other headers' },
  // No source of the hash was found: it is shortened from a hash of 48 bytes.
  { chains: [295, 296, 297], why: 'Hedera has no Ethereum headers' },
  // filecoin-project/lotus, chain/types/ethtypes/eth_types.go: the hash is the one of a tipset's
  // key.
  { chains: [314, 314159], why: 'Filecoin has no Ethereum headers' },
  // Fantom-foundation/go-opera, evmcore/dummy_block.go: the hash is the one of the event.
  { chains: [250, 4002, 146], why: 'the hashes of blocks are those of Lachesis events' },
  // polkadot-evm/frontier, frame/ethereum/src/lib.rs
  { chains: [1284, 1285, 1287], why: 'Frontier fills in headers for blocks of Substrate' },
  // aurora-is-near/borealis-engine-lib, refiner-types/src/aurora_block.rs
  { chains: [1313161554], why: 'Aurora makes up headers for blocks of NEAR' },
  // klaytn/klaytn, blockchain/types/block.go: `reward`, `governanceData`, `voteData`.
  { chains: [8217, 1001], why: 'Kaia has other headers' },
  // sei-protocol/sei-chain, evmrpc/block.go
  { chains: [1329, 1328], why: 'Sei has the hashes of CometBFT' },
  // tempoxyz/tempo, crates/primitives/src/header.rs
  { chains: [4217, 42431], why: 'Tempo has more fields in its headers' },
  // harmony-one/harmony, block/header.go
  { chains: [1666600000], why: 'Harmony has other headers' },
]

/**
 * System transactions that no root holds are part of a block at some nodes:
 * https://docs.chainstack.com/reference/hyperliquid-evm-eth-get-system-txs-by-block-hash
 */
const HYPERLIQUID: readonly number[] = [998, 999]
/**
 * A transaction for state sync, in no root (maticnetwork/bor, core/types/bor_receipt.go), until
 * PIP-74 gave it the type 0x7f and a place in the roots. Its content is not in a node's replies.
 */
const POLYGON: readonly number[] = [137, 80001, 80002]
/**
 * BNB Smart Chain has blobs, and a `parentBeaconBlockRoot` of zero (bnb-chain/bsc,
 * consensus/parlia/parlia.go).
 */
const WITHOUT_BEACON: readonly number[] = [56, 97]
/**
 * Deposits (0x7e) that the fields of a node's reply do not always tell from those of the OP Stack.
 */
const OTHER_DEPOSITS: readonly number[] = [
  // Mantle has more fields, which nodes leave out where they are empty (mantlenetworkio/op-geth,
  // core/types/deposit_tx.go and internal/ethapi/api.go).
  ...[5000, 5003],
  // Kroma had no `isSystemTx` (kroma-network/kroma-geth, core/types/deposit_tx.go).
  ...[255, 2358],
]
/** Arbitrum One, Nova and Sepolia, whose own types are those that hexline knows. */
const ARBITRUM: readonly number[] = [42161, 42170, 421614]
/** Ethereum, Gnosis and their test networks, whose validators withdraw. */
const WITH_WITHDRAWALS: readonly number[] = [1, 5, 11155111, 17000, 560048, 100, 10200]
/** First block of Byzantium on Ethereum (https://eips.ethereum.org/EIPS/eip-609). */
const BYZANTIUM = 4_370_000n
/**
 * First block of Bedrock on OP Mainnet (paradigmxyz/reth, `OpHardfork::op_mainnet`). Before it,
 * messages from Ethereum were legacy transactions without a signature.
 */
const BEDROCK = 105_235_063n
/**
 * Least difficulty of such a block on Ethereum, whose first one has 17,171,480,576. Blocks of test
 * networks that take its chain id have far less.
 */
const LEAST_DIFFICULTY = 10_000_000_000n
/** What local nodes call their chains. */
const LOCAL: readonly number[] = [31337, 1337]

/**
 * Fields that some nodes add to a header, and that its hash does not cover. OpenEthereum's author
 * and seal, Arbitrum's copies of what `extraData` and `mixHash` hold, and copies of the timestamp.
 */
const addedFields: ReadonlySet<string> = new Set(['author', 'sealFields', 'l1BlockNumber', 'sendCount', 'sendRoot', 'milliTimestamp', 'blockTimestamp'])
/** Fields beside the header. */
const besideHeader: ReadonlySet<string> = new Set(['hash', 'size', 'totalDifficulty', 'uncles', 'transactions', 'withdrawals', 'receipts'])

/** `mixHash` of IBFT (EIP-650) and QBFT, whose block hashes leave out the seals in `extraData`. */
const IBFT = '0x63746963616c2062797a616e74696e65206661756c7420746f6c6572616e6365'

/**
 * Why the hash of this header may be computed in another way; undefined if there is no sign of
 * that.
 */
export function otherHash(block: Block, chainId: number | undefined): string | undefined {
  const unknown = Object.entries(block)
    .filter(([name, value]) => value !== null && value !== undefined && !headerFields.has(name) && !besideHeader.has(name) && !addedFields.has(name))
    .map(([name]) => name)
  if (unknown.length > 0) return `the header has fields that hexline does not know (${unknown.slice(0, 5).join(', ')})`
  if (block.mixHash === IBFT) return 'IBFT and QBFT leave seals out of the hash of a block'
  const { why } = chainHeaders(chainId) ?? {}
  if (why !== undefined) return why
  return chainId !== undefined && !isPlain(chainId) && hasGap(block) ? 'the header has fields of a later fork without those of an earlier one' : undefined
}

function chainHeaders(chainId: number | undefined): OtherHeaders | undefined {
  return chainId === undefined ? undefined : otherHeaders.find(({ chains }) => chains.includes(chainId))
}

/**
 * Whether hexline may not know how to encode a transaction whose hash does not fit: chains have
 * given the same number to different types. Ethereum's own types are the same everywhere.
 */
export function mayBeUnknown(transaction: Transaction, chainId: number | undefined): boolean {
  if (!transactionTypes.includes(transaction.type)) return true
  const { type } = transaction
  if (type <= 4 || isPlain(chainId) || (chainId !== undefined && ARBITRUM.includes(chainId) && isOfArbitrum(type))) return false
  return (type === 0x7e && chainId !== undefined && OTHER_DEPOSITS.includes(chainId)) || hasOtherFields(transaction)
}

/** Whether this is a type of Arbitrum's: 0x64 to 0x6a. */
function isOfArbitrum(type: number): boolean {
  return type >= 0x64 && type <= 0x6a
}

/**
 * Whether a transaction of a block with a proven header may be one of an account that anvil
 * impersonates. It has no signature, and its hash covers the sender, too (foundry-rs/foundry,
 * `impersonated_hash`).
 */
export function mayBeImpersonated(block: Block, transaction: Transaction, chainId: number | undefined): boolean {
  return isUnsigned(transaction) && isLocal(block, chainId)
}

/**
 * Whether a transaction without a signature may be part of a block with a proven header. On
 * Ethereum and other chains that follow its rules, and where the chain is not known, it may not.
 */
export function mayBeUnsigned(block: Block, transaction: Transaction, chainId: number | undefined): boolean {
  if (!isUnsigned(transaction)) return false
  if (isLocal(block, chainId)) return true
  if (chainId === undefined || transaction.type !== 0 || transaction.v !== 0n) return false
  return chainId === 10 ? block.number < BEDROCK : !isPlain(chainId)
}

/**
 * Why the transactions root of a block with a proven header may not be the one of its transactions.
 */
export function otherTransactionsRoot(block: Block, transactions: readonly Transaction[], chainId: number | undefined): string | undefined {
  if (isOfLocalNode(block, chainId) && transactions.some(({ type }) => type === 3)) return 'anvil computes the root over the sidecars of blobs'
  return otherReceiptsRoot(chainId)
}

/** Why the size of a block with a proven header may be another one. */
export function otherSize(block: Block, chainId: number | undefined): string | undefined {
  if (isLocal(block, chainId) && typeof block.withdrawalsRoot === 'string') return 'anvil leaves the list of withdrawals out of the size'
  return isPlain(chainId) ? undefined : 'this chain may count the size of a block in another way'
}

/** Whether the chain is one of anvil. Before Cancun, its id is the only sign of that. */
function isLocal(block: Block, chainId: number | undefined): boolean {
  return isOfLocalNode(block, chainId) || (chainId !== undefined && LOCAL.includes(chainId))
}

/** The proven header has no parent in a beacon chain, as a block of a real chain with blobs has. */
function isOfLocalNode({ parentBeaconBlockRoot }: Block, chainId: number | undefined): boolean {
  return /^0x0+$/.test(parentBeaconBlockRoot ?? '') && !(chainId !== undefined && WITHOUT_BEACON.includes(chainId))
}

/**
 * Why the receipts root, or the bloom, of a block with a proven header may not be the one of its
 * receipts.
 */
export function otherReceiptsRoot(chainId: number | undefined): string | undefined {
  return chainId !== undefined && HYPERLIQUID.includes(chainId) ? 'Hyperliquid has system transactions that no root holds' : undefined
}

/** What tells a block of Ethereum from before Byzantium. */
export type EarlyHeader = Pick<Block, 'number' | 'difficulty'>

/**
 * Why the receipts root of a block, whose number is proven or was asked for, is not the one of its
 * receipts: reth does not keep the state roots of Ethereum's receipts before Byzantium. Receipts of
 * a type are of a later block.
 */
export function lacksStateRoots(
  { number, difficulty = 0n }: EarlyHeader,
  receipts: readonly Pick<RootedReceipt, 'root' | 'type'>[],
  chainId: number | undefined,
): string | undefined {
  if (chainId !== 1 || number >= BYZANTIUM || difficulty < LEAST_DIFFICULTY) return undefined
  if (receipts.every(hasRoot) || receipts.some(({ type }) => (type ?? 0) !== 0)) return undefined
  return 'the node gives a receipt from before Byzantium without its state root'
}

/**
 * Whether the logs of a block may leave indexes out: system logs have indexes of their own, and on
 * Cronos, those after a failed transaction are missing.
 */
export function mayLeaveOutIndexes(chainId: number): boolean {
  return otherReceiptsRoot(chainId) !== undefined || chainHeaders(chainId) !== undefined
}

/**
 * Whether a receipts root that does not fit says nothing, although it is not known whether the
 * header is proven. A type that hexline does not know is not a sign on chains that follow Ethereum,
 * where a liar could have added it.
 */
export function isOtherReceiptsRoot(header: EarlyHeader, receipts: readonly Pick<Receipt, 'root' | 'type'>[], chainId: number | undefined): boolean {
  if (otherReceiptsRoot(chainId) !== undefined || hasStateSync(chainId) || chainHeaders(chainId) !== undefined) return true
  if (lacksStateRoots(header, receipts, chainId) !== undefined) return true
  return !isPlain(chainId) && receipts.some(({ type }) => type === undefined || !transactionTypes.includes(type))
}

/**
 * Why the withdrawals root of a block with a proven header may not be the one of its withdrawals.
 */
export function otherWithdrawalsRoot({ extraData, withdrawals }: Block, chainId: number | undefined): string | undefined {
  // On these, the proposer of a block chooses its extra data.
  if (chainId !== undefined && WITH_WITHDRAWALS.includes(chainId)) return undefined
  // Since Holocene, the extra data of the OP Stack is a version (0 or 1) and parameters of the fee
  // market, of 9 or 17 bytes. Since Isthmus, the root is that of a contract's storage:
  // https://specs.optimism.io/protocol/isthmus/exec-engine.html
  const isOptimism = /^0x00.{16}$|^0x01.{32}$/.test(extraData)
  return isOptimism && withdrawals?.length === 0 ? 'the OP Stack keeps the storage root of a contract there' : undefined
}

/** Whether the chain has transactions for state sync that no root holds. */
export function hasStateSync(chainId: number | undefined): boolean {
  return chainId !== undefined && POLYGON.includes(chainId)
}

/**
 * Chains where the price of gas and the size of a block follow the rules of Ethereum: Ethereum and
 * its test networks, Gnosis, Polygon, BNB Smart Chain, OP Mainnet, Base, and local nodes. Others
 * may have their own rules, and no root covers the two.
 */
const plain: ReadonlySet<number> = new Set([1, 5, 11155111, 17000, 560048, 100, 10200, 137, 80002, 56, 97, 10, 11155420, 8453, 84531, 84532, 31337, 1337])

/**
 * Whether prices and sizes follow the rules of Ethereum on this chain; false if it is not known.
 */
function isPlain(chainId: number | undefined): boolean {
  return chainId !== undefined && plain.has(chainId)
}

/**
 * Whether each transaction of this chain that is signed for a chain is signed for this one: not on
 * a local node, which may continue another chain, nor on chains that began as a copy of another.
 */
export function hasOwnTransactions(chainId: number): boolean {
  return isPlain(chainId) && !LOCAL.includes(chainId)
}

/** Why gas may cost something else than the rules of Ethereum make it. */
export function otherPrices(chainId: number | undefined): string | undefined {
  return isPlain(chainId) ? undefined : 'this chain may have other prices than Ethereum'
}
