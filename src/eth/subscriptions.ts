import { OptionError } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { fault, under } from './codec/codec-path.ts'
import { decodeSyncNotice } from './node-objects.ts'
import { decodeHash, decodeHeader, decodeLog, decodeReceipts, decodeTransaction } from './objects.ts'
import { each, encodeParams, filter, hash, type Param } from './params.ts'

const receiptFilter: Param<Fields> = { encode: encodeReceiptFilter }

/**
 * What `eth_subscribe` takes (https://geth.ethereum.org/docs/interacting-with-geth/rpc/pubsub,
 * https://github.com/ethereum/execution-apis, src/schemas/subscription.yaml), one row for each kind
 * of event.
 */
const subscriptions = {
  newHeads: { fields: [], params: () => [], decoder: () => decodeHeader },
  logs: {
    fields: ['address', 'topics'],
    params: (fields: Fields) => encodeParams('eth_subscribe', [filter as Param<never>], [fields]),
    decoder: () => decodeLog,
  },
  newPendingTransactions: {
    fields: ['full'],
    params: ({ full }: Fields) => (full === true ? [true] : []),
    // Some nodes send hashes all the same.
    decoder:
      ({ full }: Fields) =>
      (value: unknown) =>
        full === true && typeof value === 'object' ? decodeTransaction(value) : decodeHash(value),
  },
  syncing: { fields: [], params: () => [], decoder: () => decodeSyncNotice },
  transactionReceipts: {
    fields: ['transactionHashes'],
    params: (fields: Fields) => (fields.transactionHashes === undefined ? [] : encodeParams('eth_subscribe', [receiptFilter as Param<never>], [fields])),
    decoder: () => decodeReceipts,
  },
} as const satisfies Record<string, Row>

interface Row {
  readonly fields: readonly string[]
  readonly params: (fields: Fields) => unknown[]
  readonly decoder: (fields: Fields) => (value: unknown) => unknown
}

type Fields = Readonly<Record<string, unknown>>

/** A kind of event of which a node sends notifications. */
type SubscriptionName = keyof typeof subscriptions

/** How to subscribe to events, and how to read them. */
export interface SubscriptionPlan {
  /** Params of `eth_subscribe`. */
  readonly params: readonly unknown[]
  /** Decodes the `result` of a notification in place. Throws `CodecError`. */
  readonly decode: (value: unknown) => unknown
}

/** The names of the fields that a subscription takes. Throws `OptionError` for an unknown kind. */
export function subscriptionFields(name: string): readonly string[] {
  return rowOf(name).fields
}

/** The plan of a subscription. Throws `CodecError` for invalid fields. */
export function planSubscription(name: string, fields: Fields): SubscriptionPlan {
  const row = rowOf(name)
  return { params: [name, ...row.params(fields)], decode: row.decoder(fields) }
}

function rowOf(name: string): Row {
  if (typeof name === 'string' && Object.hasOwn(subscriptions, name)) return subscriptions[name as SubscriptionName]
  const names = Object.keys(subscriptions)
  throw new OptionError('subscribe', `one of ${names.join(', ')}`, show(name) + (typeof name === 'string' ? didYouMean(name, names) : ''))
}

/** No hashes would mean all transactions to the node. */
function encodeReceiptFilter({ transactionHashes }: Fields): unknown {
  if (Array.isArray(transactionHashes) && transactionHashes.length === 0) throw under(fault('one hash or more', transactionHashes), 'transactionHashes')
  try {
    return { transactionHashes: each(transactionHashes, hash.encode as (item: unknown) => unknown) }
  } catch (caught) {
    throw under(caught, 'transactionHashes')
  }
}
