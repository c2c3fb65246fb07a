import { describe, expect, it } from 'vitest'
import { costTables } from '../../src/eth/costs.ts'
import { auditPlan, auditsOf } from '../../src/plan/audits.ts'
import { Counts } from '../../src/plan/counting-client.ts'
import { known } from '../../src/plan/estimate.ts'
import type { LogWindow } from '../../src/plan/log-windows.ts'
import type { Part } from '../../src/plan/plan.ts'
import type { Header, Sample, SampledBlock } from '../../src/plan/sample.ts'

const header = (number: number, logsBloom: string | undefined = '0x01'): Header => ({ number, transactions: 1, gasUsed: 1, logsBloom })
const headers = Array.from({ length: 40 }, (_, i) => header(i, i % 4 === 0 ? '0x01' : '0x00'))
const blocks = [0, 8, 16, 24].map(
  (number) =>
    ({
      ...{ number, header: header(number), bytes: 500, block: Buffer.alloc(100), logs: { count: 1, bytes: 1 } },
      calls: { eth_getBlockByNumber: 1, eth_getBlockReceipts: 1 },
    }) as unknown as SampledBlock,
)
const sample: Sample = { blocks, headers, missing: null, counts: new Counts(), headerCounts: new Counts() }
/** A window that saw all, in which this many blocks have logs. */
const windowWith = (blocksWithLogs: number): LogWindow => ({ first: 0, blocks: 40, from: 0, to: 39, logs: 9, bytes: 9, lineBytes: 9, blocksWithLogs })
const logs: Part = { calls: { eth_getLogs: known(7) }, bytes: known(900), counts: new Counts() }

const audits = (options: { chainId?: number; withLogs?: number; range?: number; mayMatch?: (bloom: string) => boolean } = {}) =>
  auditsOf({
    ...{ blocks: options.range ?? 40, chainId: options.chainId ?? 1, sample, windows: [windowWith(options.withLogs ?? 4)], logs },
    mayMatch: options.mayMatch ?? ((bloom) => bloom === '0x01'),
  }).map((audit) => auditPlan(audit, costTables))

describe('an audit', () => {
  it('of no level takes nothing', () => {
    expect(audits()[0]).toMatchObject({ level: 'none', calls: known(0), wireBytes: known(0), receipts: known(0) })
  })

  it('by blooms takes all headers, those of its own sample, and receipts of blocks that match without logs', () => {
    const [, bloom] = audits()
    // 40 headers and 16; the chain and the head; of 10 blocks that match, 4 have logs: 2 calls for
    // each of the others.
    expect(bloom).toMatchObject({ level: 'bloom', calls: known(56 + 2 + 12), receipts: known(6) })
    expect(audits({ range: 400, mayMatch: () => false })[1]?.calls).toEqual(known(400 + 16 + 2))
  })

  it('by blooms never takes fewer receipts than none', () => {
    expect(audits({ withLogs: 30 })[1]).toMatchObject({ calls: known(58), receipts: known(0) })
  })

  it('by blooms takes no receipts where they prove nothing', () => {
    // ZKsync Era had none at first.
    expect(audits({ chainId: 324 })[1]).toMatchObject({ receipts: known(0) })
  })

  it('by receipts takes every block', () => {
    expect(audits()[2]).toMatchObject({ level: 'receipts', receipts: known(40) })
    expect(audits()[2]?.calls.value).toBe(2 * 40 + 2)
  })

  it('by a peer takes the logs once more', () => {
    expect(audits()[3]).toMatchObject({ level: 'peer', calls: known(7), receipts: known(0), wireBytes: known(900) })
  })

  it('has the units of each provider, for all its parts', () => {
    const [, bloom] = audits()
    expect(bloom?.units.map(({ provider }) => provider)).toEqual(['alchemy', 'infura', 'quicknode', 'chainstack'])
    // 56 + 6 blocks and 6 receipts at 20, the head at 10 and the chain at 0.
    expect(bloom?.units[0]?.billed).toEqual(known(20 * 68 + 10))
  })
})
