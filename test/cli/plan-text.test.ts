import { describe, expect, it } from 'vitest'
import { planText } from '../../src/cli/plan-text.ts'
import { known } from '../../src/plan/estimate.ts'
import type { BlocksPlan } from '../../src/plan/plan-blocks.ts'
import type { ExportPlan } from '../../src/plan/plan-export.ts'
import type { LogsPlan } from '../../src/plan/plan-logs.ts'

const about = (value: number) => ({ value, low: 0.9 * value, high: 1.1 * value })
const units = [
  { provider: 'alchemy', billed: known(40_020), throttled: known(520_020) },
  { provider: 'infura', billed: known(9), throttled: known(9) },
] as const

const blocks: BlocksPlan = {
  ...{ from: 5n, to: 1004n, blocks: 1000, calls: known(2001), callsByMethod: {}, posts: { value: 23, low: 21, high: 25 }, callsPerPost: 100 },
  ...{ wireBytes: about(2_000_000), bytes: about(9_000_000), diskBytes: known(8_000_000), units, missing: null, cost: { calls: 1, posts: 1, wireBytes: 1 } },
  duration: { seconds: known(20.01), limitedBy: 'rate', rate: { perSecond: 100, of: 'calls' } },
  receipts: {
    ways: [
      { method: 'eth_getBlockReceipts', calls: known(1000), units, isUsed: true },
      { method: 'eth_getLogs', calls: known(3), units: [{ ...units[0], billed: known(60) }, units[1]], isUsed: false },
    ],
    cheapest: { alchemy: 'eth_getLogs', infura: 'eth_getBlockReceipts' },
  },
}

describe('a plan as text', () => {
  it('has a line for each figure, between what it is, and each way to receipts', () => {
    expect(planText(blocks)).toBe(`blocks 5 to 1004 (1,000 blocks)

calls           2,001
POSTs              23  if full; more where the rate sets the pace
over the wire  2.0 MB  1.8 MB to 2.2 MB
decompressed   9.0 MB  8.1 MB to 9.9 MB
on disk        8.0 MB
time             20 s  at 100 calls a second

provider  billed  throttled
alchemy   40,020    520,020
infura         9          9

receipts by            alchemy  infura
eth_getBlockReceipts  40,020       9 *
eth_getLogs               60 *     9

* what the provider charges least for
  eth_getLogs, as in hexline logs, gives the logs alone`)
  })

  it('leaves out what the plan does not have: receipts, compression, a rate, a second block', () => {
    const one = { ...blocks, blocks: 1, receipts: null, bytes: about(2_050_000), duration: { ...blocks.duration, limitedBy: 'node', rate: null } } as const
    const text = planText(one)
    expect(text).toContain('(1 block)')
    expect(text).toMatch(/^time +20 s {2}at the pace of the sample$/m)
    expect(text).not.toMatch(/receipts|decompressed|\*/)
    expect(planText({ ...one, bytes: known(2_100_001) })).toContain('decompressed')
    const [way] = blocks.receipts?.ways ?? []
    const withoutLogs = { ...blocks, receipts: { ways: way === undefined ? [] : [way], cheapest: { alchemy: 'eth_getBlockReceipts' } } } as BlocksPlan
    expect(planText(withoutLogs)).not.toContain('eth_getLogs')
  })

  it.each([40, 60, 80])('fits a terminal of %i columns', (width) => {
    for (const line of planText(blocks, width).split('\n')) expect(line.length, line).toBeLessThanOrEqual(width)
  })

  it('says what bounds the time: a rate of calls or units, or the node in spite of one', () => {
    const timeAt = (duration: object) => /^time.*$/m.exec(planText({ ...blocks, duration: { ...blocks.duration, ...duration } }))?.[0]
    expect(timeAt({ rate: { perSecond: 1234.6, of: 'units' } })).toBe('time             20 s  at 1,235 units a second')
    expect(timeAt({ limitedBy: 'node' })).toBe('time             20 s  at the pace of the sample')
  })

  it('has the tables of an export, and the audits of logs', () => {
    const ofExport = { ...blocks, receipts: null, files: 2, tables: { blocks: { rows: about(999.6), bytes: known(1_000_000) } } } as ExportPlan
    expect(planText(ofExport)).toMatch(/^on disk .*\n {2}blocks +1\.0 MB {2}1,000 rows$/m)
    const none = { rows: about(0), bytes: about(0) }
    expect(planText({ ...ofExport, tables: { ...ofExport.tables, withdrawals: none } })).toMatch(/^ {2}withdrawals +0 B {2}no row in the sample$/m)
    const audits = (['none', 'bloom'] as const).map((level) => ({ level, calls: known(7), wireBytes: about(5000), receipts: about(3), units }))
    const ofLogs = { ...blocks, logs: known(77), blocksPerCall: 1, audit: 'bloom', audits } as unknown as LogsPlan
    const text = planText(ofLogs)
    expect(text).toMatch(/^logs +77$/m)
    expect(text).toMatch(/^none +7 +5\.0 kB +3 blocks$/m)
    expect(text).toMatch(/^bloom \(included\) +7 +5\.0 kB +3 blocks$/m)
  })
})
