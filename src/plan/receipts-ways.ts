import { goodRange } from '../bulk/logs/range-size.ts'
import type { Client } from '../client/client.ts'
import { type CostTable, costsAt } from '../eth/costs.ts'
import { type Estimate, type Estimator, mean, whole } from './estimate.ts'
import { type Provider, type Units, unitsOf } from './provider.ts'
import type { SampledBlock } from './sample.ts'

/** A way to get the receipts of all blocks, or only their logs. */
export interface ReceiptsWay {
  readonly method: 'eth_getBlockReceipts' | 'eth_getTransactionReceipt' | 'eth_getLogs'
  readonly calls: Estimate
  readonly units: readonly Units[]
  /** The job gets receipts this way, all or some of them. */
  readonly isUsed: boolean
}

/** The ways to get receipts, and which of them each provider charges least for. */
export interface ReceiptsPlan {
  readonly ways: readonly ReceiptsWay[]
  readonly cheapest: Readonly<Partial<Record<Provider, ReceiptsWay['method']>>>
}

/**
 * What receipts cost by each way. `eth_getLogs` is one where only the logs are wanted, in ranges of
 * the size at which hexline aims; nodes that take only shorter ones need more calls.
 */
export function planReceipts(
  client: Client,
  tables: readonly CostTable[],
  blocks: number,
  estimate: Estimator,
  sample: readonly SampledBlock[],
  onlyLogs: boolean,
): ReceiptsPlan {
  const used = new Set(sample.flatMap(({ calls }) => Object.keys(calls)))
  const isPriced = client.endpoints.some((origin) => costsAt(origin) !== undefined)
  const perLogsCall = goodRange(mean(sample.map(({ logs }) => logs.count)), mean(sample.map(({ logs }) => logs.bytes)))
  const ways = [
    // Where no block's receipts came this way, and the price was not the reason, the node does not
    // have the method.
    ...(used.has('eth_getBlockReceipts') || isPriced ? [wayOf('eth_getBlockReceipts', () => 1)] : []),
    wayOf('eth_getTransactionReceipt', ({ header }) => header.transactions),
    ...(onlyLogs ? [wayOf('eth_getLogs', () => Math.max(1 / perLogsCall, 1 / blocks))] : []),
  ]
  const cheapest = Object.fromEntries(
    tables.map((_, i) => {
      const billedBy = (way: ReceiptsWay) => (way.units[i] as Units).billed.value
      const best = ways.reduce((a, b) => (billedBy(b) < billedBy(a) ? b : a))
      return [(best.units[i] as Units).provider, best.method]
    }),
  )
  return { ways, cheapest }

  function wayOf(method: ReceiptsWay['method'], callsOf: (block: SampledBlock) => number): ReceiptsWay {
    const calls = estimate(sample.map(callsOf))
    return { method, calls: whole(calls), units: unitsOf(tables, { [method]: calls }), isUsed: used.has(method) }
  }
}
