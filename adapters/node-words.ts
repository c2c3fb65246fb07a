import type { RpcError } from '../src/errors.ts'
import { mayBeAccepted } from '../src/eth/send-raw-transaction.ts'

/**
 * The node's message for viem and ethers. They add the method and the address themselves, but not
 * the warning that a transaction may have been accepted.
 */
export function nodeWords({ said, transactionHash }: RpcError): string {
  return transactionHash === undefined ? said : `${mayBeAccepted(transactionHash)}: ${said}`
}
