import { address, layout, quantity, record } from './encode.ts'

/** A withdrawal, as it stands in the trie of `withdrawalsRoot` (EIP-4895). */
export const writeWithdrawal = record(layout(['index', quantity], ['validatorIndex', quantity], ['address', address], ['amount', quantity]))
