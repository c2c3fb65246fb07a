import type { Client } from '../client/client.ts'
import { HexlineError } from '../errors.ts'
import type { Address, Hash, Hex } from '../eth/codec/hex.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'
import type { Log } from '../eth/objects.ts'
import { absentValues } from './absent.ts'
import { readQuery, text } from './query.ts'
import { json, Refusal, type Reply } from './reply.ts'

const parameters = { chain: text('the name or hex id of a chain'), include: text('internal_transactions', /^internal_transactions$/) }

/**
 * A mined transaction with its receipt and logs, assembled from the node's replies. Throws
 * `Refusal` with 404 when it is unknown or not mined yet, with 501 when the node cannot trace, and
 * what the client throws. Service specification, operation 2.
 */
export async function transactionByHash(client: Client, hash: Hash, search: URLSearchParams, likeProduction: boolean): Promise<Reply> {
  const { include } = readQuery(search, parameters)
  const none = absentValues(likeProduction).text
  const [transaction, receipt] = await Promise.all([client.call('eth_getTransactionByHash', hash), client.call('eth_getTransactionReceipt', hash)])
  if (transaction === null || receipt === null) throw new Refusal(404, 'no transaction with this hash is in a block')
  const [block, internal] = await Promise.all([
    client.call('eth_getBlockByHash', receipt.blockHash, false),
    include === undefined ? undefined : internalTransactions(client, hash, none),
  ])
  if (block === null) throw new Refusal(404, 'the block of this transaction is no longer part of the chain')

  const place = {
    block_timestamp: new Date(Number(block.timestamp) * 1000).toISOString(),
    block_number: receipt.blockNumber.toString(),
    block_hash: receipt.blockHash,
  }
  return json(200, {
    hash: transaction.hash,
    nonce: String(transaction.nonce),
    transaction_index: String(receipt.transactionIndex),
    from_address_entity: none,
    from_address_entity_logo: none,
    from_address: transaction.from,
    from_address_label: none,
    to_address_entity: none,
    to_address_entity_logo: none,
    to_address: transaction.to ?? none,
    to_address_label: none,
    value: transaction.value.toString(),
    gas: transaction.gas.toString(),
    gas_price: (transaction.gasPrice ?? receipt.effectiveGasPrice ?? 0n).toString(),
    input: transaction.input,
    receipt_cumulative_gas_used: receipt.cumulativeGasUsed.toString(),
    receipt_gas_used: receipt.gasUsed.toString(),
    receipt_contract_address: receipt.contractAddress ?? none,
    receipt_root: receipt.root ?? none,
    receipt_status: receipt.status === undefined ? none : String(receipt.status),
    ...place,
    logs: receipt.logs.map((log) => logOf(log, place, none)),
    ...(internal && { internal_transactions: internal.map((call) => ({ ...call, block_number: Number(receipt.blockNumber), block_hash: receipt.blockHash })) }),
  })
}

function logOf({ logIndex, transactionHash, transactionIndex, address, data, topics }: Log, place: object, none: string | null): object {
  return {
    log_index: String(logIndex),
    transaction_hash: transactionHash,
    transaction_index: String(transactionIndex),
    address,
    data,
    topic0: topics[0] ?? none,
    topic1: topics[1] ?? none,
    topic2: topics[2] ?? none,
    topic3: topics[3] ?? none,
    ...place,
  }
}

/**
 * A call as `callTracer` returns it.
 * https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers#call-tracer
 */
interface TracedCall {
  readonly type: string
  readonly from: Address
  readonly to?: Address
  readonly value?: Hex
  readonly gas: Hex
  readonly gasUsed: Hex
  readonly input: Hex
  readonly output?: Hex
  readonly calls?: readonly TracedCall[]
}

/**
 * The calls that the transaction made, in the order in which they began, without the transaction
 * itself.
 */
async function internalTransactions(client: Client, hash: Hash, none: string | null): Promise<object[]> {
  let top: TracedCall
  try {
    top = (await client.request({ method: 'debug_traceTransaction', params: [hash, { tracer: 'callTracer' }] })) as TracedCall
  } catch (error) {
    if (error instanceof HexlineError && error.kind === 'unsupported') throw new Refusal(501, 'the node behind this sandbox cannot trace transactions')
    throw error
  }
  const found: object[] = []
  const add = (calls: readonly TracedCall[] = []) => {
    for (const { type, from, to, value = '0x0', gas, gasUsed, input, output = '0x', calls: inner } of calls) {
      const amounts = { value: decimal(value), gas: decimal(gas), gas_used: decimal(gasUsed) }
      found.push({ transaction_hash: hash, type, from, to: to ?? none, ...amounts, input, output })
      add(inner)
    }
  }
  add(top.calls)
  return found
}

function decimal(quantity: Hex): string {
  return decodeQuantity(quantity).toString()
}
