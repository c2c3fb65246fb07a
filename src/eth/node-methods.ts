import type { Address, Hash, Hex } from './codec/hex.ts'
import { decodeQuantity, type Quantity } from './codec/quantity.ts'
import { arrayOf, orNull } from './codec/schema.ts'
import { hex, latest, params, read, write } from './method.ts'
import {
  booleanOf,
  decodeBlockAccessList,
  decodeBytesList,
  decodeCapabilities,
  decodeConfig,
  decodeFilled,
  decodeFilterChanges,
  decodePoolContent,
  decodePoolContentFrom,
  decodePoolInspection,
  decodePoolStatus,
  decodeSimulation,
  decodeStorageValues,
  decodeSyncing,
  decodeTextMap,
  textOf,
} from './node-objects.ts'
import {
  bundleContext,
  bundles,
  type CallTraceOptions,
  filterId,
  indices,
  type Simulation,
  simulation,
  slotsByAddress,
  type TraceFilter,
  type TraceKind,
  type TraceOptions,
  timeoutMs,
  tracedCalls,
  traceFilter,
  traceKinds,
  traceOptions,
} from './node-params.ts'
import { decodeLogs, decodeReceipt } from './objects.ts'
import {
  address,
  type BlockId,
  type BlockNumber,
  block,
  blockNumber,
  bytes,
  type CallObject,
  call,
  filter,
  hash,
  type Json,
  type LogFilter,
  withoutDefault,
} from './params.ts'
import { decodeTrace, decodeTraceResults, decodeTraces } from './parity-traces.ts'
import { type AnyTrace, type BlockTrace, blockTracesDecoder, traceDecoder } from './trace-objects.ts'

const options = withoutDefault(traceOptions, {})
/** The result of a `debug_trace` method, by the options at this place among its params. */
const traced = (at: number) => (value: unknown, params: readonly unknown[]) => traceDecoder(params[at])(value) as AnyTrace
const tracedBlock = (value: unknown, [, options]: readonly unknown[]) => blockTracesDecoder(options)(value) as BlockTrace<AnyTrace>[]
const traces = orNull(decodeTraces)
const accounts = arrayOf<Address>(hex)
const amountOrNull = orNull(decodeQuantity)

/**
 * What nodes answer beyond the 28 methods of the service, one row each. docs/methods.md is made
 * from it. Each row names its source.
 */
export const nodeMethods = {
  /**
   * Addresses whose keys the node holds.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_accounts
   */
  eth_accounts: read(params<[]>(), accounts),
  /**
   * Base fee of the next block, in wei; null before London.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_baseFee
   */
  eth_baseFee: read(params<[]>(), amountOrNull),
  /**
   * Base fee of the next block for blobs, in wei; null before Cancun.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_blobBaseFee
   */
  eth_blobBaseFee: read(params<[]>(), amountOrNull),
  /**
   * Which history the node has: for each kind of data, its oldest block.
   * @see https://github.com/ethereum/execution-apis/pull/755
   */
  eth_capabilities: read(params<[]>(), decodeCapabilities),
  /**
   * Forks that the node knows: its current one, the next one and the last one (EIP-7910).
   * @see https://eips.ethereum.org/EIPS/eip-7910
   */
  eth_config: read(params<[]>(), decodeConfig),
  /**
   * Fills in what a transaction lacks: nonce, gas, fees, chain id. It signs and sends nothing.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-eth
   */
  eth_fillTransaction: read(params<[transaction: CallObject]>(call), decodeFilled),
  /**
   * Accounts and slots that a block read and changed (EIP-7928). Null if the node does not have the
   * block.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_getBlockAccessList
   */
  eth_getBlockAccessList: read(params<[block: BlockId]>(block), orNull(decodeBlockAccessList)),
  /**
   * What is new since the last call with this filter: logs, or hashes of blocks or transactions. A
   * node gives each change once, so a call is not repeated after a lost reply.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_getFilterChanges
   */
  eth_getFilterChanges: write(params<[filter: Hex]>(filterId), decodeFilterChanges),
  /**
   * All logs that match a filter of `eth_newFilter`.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_getFilterLogs
   */
  eth_getFilterLogs: read(params<[filter: Hex]>(filterId), decodeLogs),
  /**
   * Values of several slots of several accounts.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_getStorageValues
   */
  eth_getStorageValues: read(
    params<[slots: Readonly<Record<Address, readonly Quantity[]>>, block?: BlockId | null]>(slotsByAddress, latest),
    decodeStorageValues,
  ),
  /**
   * Makes a filter for new blocks, and gives its id.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_newBlockFilter
   */
  eth_newBlockFilter: write(params<[]>(), hex),
  /**
   * Makes a filter for logs, and gives its id.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_newFilter
   */
  eth_newFilter: write(params<[filter: LogFilter]>(filter), hex),
  /**
   * Makes a filter for pending transactions, and gives its id.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_newPendingTransactionFilter
   */
  eth_newPendingTransactionFilter: write(params<[]>(), hex),
  /**
   * Sends a signed transaction, and waits for its receipt, at most `timeoutMs`, or as long as the
   * node waits. After a failure that leaves open whether a node has the transaction, its receipt is
   * looked up by its hash, as after `eth_sendRawTransaction` (EIP-7966).
   * @see https://eips.ethereum.org/EIPS/eip-7966
   */
  eth_sendRawTransactionSync: write(params<[transaction: Hex, timeoutMs?: number | Hex | null]>(bytes, withoutDefault(timeoutMs, null)), decodeReceipt),
  /**
   * Runs calls in blocks that do not exist, on top of one that does, and gives these blocks.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_simulateV1
   */
  eth_simulateV1: read(params<[simulation: Simulation, block?: BlockId | null]>(simulation, latest), decodeSimulation),
  /**
   * How far the node is, or false if it has caught up with its chain.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_syncing
   */
  eth_syncing: read(params<[]>(), decodeSyncing),
  /**
   * Ends a filter. False if the node does not have it.
   * @see https://ethereum.github.io/execution-apis/api/methods/eth_uninstallFilter
   */
  eth_uninstallFilter: write(params<[filter: Hex]>(filterId), booleanOf),

  /**
   * True if the node accepts connections of its peers.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-net
   */
  net_listening: read(params<[]>(), booleanOf),
  /**
   * Id of the network, in decimal.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-net
   */
  net_version: read(params<[]>(), textOf),
  /**
   * Namespaces that the endpoint serves, with their versions.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc
   */
  rpc_modules: read(params<[]>(), decodeTextMap),
  /**
   * Name and version of the node.
   * @see https://ethereum.org/developers/docs/apis/json-rpc/#web3_clientversion
   */
  web3_clientVersion: read(params<[]>(), textOf),

  /**
   * All transactions of the node's pool, by sender and nonce.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-txpool
   */
  txpool_content: read(params<[]>(), decodePoolContent),
  /**
   * Transactions of one sender in the node's pool, by nonce.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-txpool
   */
  txpool_contentFrom: read(params<[address: Address]>(address), decodePoolContentFrom),
  /**
   * All transactions of the node's pool, each as a line of text.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-txpool
   */
  txpool_inspect: read(params<[]>(), decodePoolInspection),
  /**
   * Number of transactions in the node's pool.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-txpool
   */
  txpool_status: read(params<[]>(), decodePoolStatus),

  /**
   * A block in RLP.
   * @see https://ethereum.github.io/execution-apis/api/methods/debug_getRawBlock
   */
  debug_getRawBlock: read(params<[block: BlockId]>(block), orNull(hex)),
  /**
   * A header in RLP.
   * @see https://ethereum.github.io/execution-apis/api/methods/debug_getRawHeader
   */
  debug_getRawHeader: read(params<[block: BlockId]>(block), orNull(hex)),
  /**
   * Receipts of a block, each as it is hashed for the receipts root.
   * @see https://ethereum.github.io/execution-apis/api/methods/debug_getRawReceipts
   */
  debug_getRawReceipts: read(params<[block: BlockId]>(block), orNull(decodeBytesList)),
  /**
   * A transaction as it was signed.
   * @see https://ethereum.github.io/execution-apis/api/methods/debug_getRawTransaction
   */
  debug_getRawTransaction: read(params<[transactionHash: Hash]>(hash), orNull(hex)),
  /**
   * Runs the transactions of a block again, by its hash, and gives what the tracer says of each.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-debug
   */
  debug_traceBlockByHash: read(params<[blockHash: Hash, options?: TraceOptions | null]>(hash, options), tracedBlock),
  /**
   * Runs the transactions of a block again, by its number or tag, and gives what the tracer says of
   * each.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-debug
   */
  debug_traceBlockByNumber: read(params<[block: BlockNumber, options?: TraceOptions | null]>(blockNumber, options), tracedBlock),
  /**
   * Runs a call on the state of a block, and gives what the tracer says of it.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-debug
   */
  debug_traceCall: read(params<[call: CallObject, block?: BlockId | null, options?: CallTraceOptions | null]>(call, latest, options), traced(2)),
  /**
   * Runs bundles of calls one after the other, each on the state that the one before it left, and
   * gives what the tracer says of each.
   * @see https://docs.erigon.tech/interacting-with-erigon/debug
   */
  debug_traceCallMany: read(
    params<[bundles: readonly Json[], context: Json, options?: CallTraceOptions | null]>(bundles, bundleContext, options),
    (value, [, , options]) => arrayOf(arrayOf(traceDecoder(options)))(value) as AnyTrace[][],
  ),
  /**
   * Runs a transaction again, and gives what the tracer says of it: `{ tracer: 'callTracer' }` a
   * call frame, no tracer each step of the EVM.
   * @see https://geth.ethereum.org/docs/interacting-with-geth/rpc/ns-debug
   */
  debug_traceTransaction: read(params<[transactionHash: Hash, options?: TraceOptions | null]>(hash, options), traced(1)),

  /**
   * All traces of a block, in the form of Parity. Null if the node does not have the block.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_block: read(params<[block: BlockId]>(block), traces),
  /**
   * Runs a call on the state of a block, and gives what it did, in the form of Parity.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_call: read(params<[call: CallObject, kinds: readonly TraceKind[], block?: BlockId | null]>(call, traceKinds, latest), decodeTraceResults),
  /**
   * Runs calls one after the other, each on the state that the one before it left, and gives what
   * they did, in the form of Parity.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_callMany: read(
    params<[calls: readonly (readonly [call: CallObject, kinds: readonly TraceKind[]])[], block?: BlockId | null]>(tracedCalls, latest),
    arrayOf(decodeTraceResults),
  ),
  /**
   * The traces that match a filter, in the form of Parity.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_filter: read(params<[filter: TraceFilter]>(traceFilter), decodeTraces),
  /**
   * One trace of a transaction, by its trace address. Null if there is none.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_get: read(params<[transactionHash: Hash, traceAddress: readonly Quantity[]]>(hash, indices), orNull(decodeTrace)),
  /**
   * Runs the transactions of a block again, and gives what each did, in the form of Parity. Null if
   * the node does not have the block.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_replayBlockTransactions: read(params<[block: BlockId, kinds: readonly TraceKind[]]>(block, traceKinds), orNull(arrayOf(decodeTraceResults))),
  /**
   * Runs a transaction again, and gives what it did, in the form of Parity. Null if the node does
   * not know it.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_replayTransaction: read(params<[transactionHash: Hash, kinds: readonly TraceKind[]]>(hash, traceKinds), orNull(decodeTraceResults)),
  /**
   * All traces of a transaction, in the form of Parity. Null if the node does not know it.
   * @see https://openethereum.github.io/JSONRPC-trace-module
   */
  trace_transaction: read(params<[transactionHash: Hash]>(hash), traces),
}
