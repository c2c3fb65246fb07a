import type { RpcError } from '../src/errors.ts'
import { mayBeAccepted } from '../src/eth/send-raw-transaction.ts'

/** The node's message as viem and ethers read it: they add method and address themselves, but not what may have become of a transaction. */
export function nodeWords({ said, transactionHash }: RpcError): string {
  return transactionHash === undefined ? said : `${mayBeAccepted(transactionHash)}: ${said}`
}
