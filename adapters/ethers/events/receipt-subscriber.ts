import type { JsonRpcProvider, TransactionReceipt } from 'ethers'
import { OnBlockSubscriber } from './on-block-subscriber.ts'
import { report } from './report.ts'

/** Emits the receipt of a transaction at each block, once there is one, as ethers' own does. */
export class ReceiptSubscriber extends OnBlockSubscriber<undefined> {
  readonly #hash: string

  constructor(provider: JsonRpcProvider, hash: string) {
    super(provider)
    this.#hash = hash
  }

  protected override begin(): void {
    this.pollAt(undefined)
  }

  protected override drop(): void {}

  protected override async poll(block: number | undefined): Promise<void> {
    const { provider } = this
    // Block events count from a head requested in this turn. The receipt is requested after that,
    // so that no block falls in between.
    if (block === undefined) await provider.getBlockNumber().catch(() => {})
    const receipt = await provider.getTransactionReceipt(this.#hash)
    if (receipt === null || !this.isRunning) return
    void provider.emit(this.#hash, withConfirmations(provider, receipt))
  }
}

/**
 * ethers' `wait()` asks for the confirmations in a listener that handles no failure, so one would
 * end the process. After a failure, the number is 1: the transaction is in a block.
 */
function withConfirmations(provider: JsonRpcProvider, receipt: TransactionReceipt): TransactionReceipt {
  const ask = receipt.confirmations.bind(receipt)
  const confirmations = async () => {
    try {
      return await ask()
    } catch (error) {
      report(provider, error)
      return 1
    }
  }
  return Object.defineProperty(receipt, 'confirmations', { value: confirmations })
}
