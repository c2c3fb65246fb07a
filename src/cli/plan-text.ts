import type { Estimate } from '../plan/estimate.ts'
import type { BlocksPlan } from '../plan/plan-blocks.ts'
import type { ExportPlan } from '../plan/plan-export.ts'
import type { LogsPlan } from '../plan/plan-logs.ts'
import type { Units } from '../plan/provider.ts'
import { aligned, table, wrapped } from './output/table.ts'
import { count, countOf, durationOf, sizeOf } from './output/units.ts'

type AnyPlan = ExportPlan | BlocksPlan | LogsPlan

/** A line of the plan: what, how much, and between what. */
interface Row {
  readonly name: string
  readonly about: string
  readonly between?: string
}

/** A plan as text, at most `width` columns wide. Without a width, nothing is wrapped. */
export function planText(plan: AnyPlan, width?: number): string {
  const parts = [
    `blocks ${plan.from} to ${plan.to} (${countOf(plan.blocks, 'block')})`,
    shown(rowsOf(plan), width),
    unitsText(plan.units, width),
    ...('audits' in plan ? [auditsText(plan, width)] : plan.receipts === null ? [] : [receiptsText(plan.receipts, width)]),
  ]
  return parts.join('\n\n')
}

function rowsOf(plan: AnyPlan): Row[] {
  const { calls, posts, wireBytes, bytes, diskBytes, duration } = plan
  const { seconds, limitedBy, rate } = duration
  const isCompressed = bytes.value > 1.05 * wireBytes.value
  const why = limitedBy === 'rate' && rate !== null ? `at ${count(Math.round(rate.perSecond))} ${rate.of} a second` : 'at the pace of the sample'
  return [
    rowOf('calls', calls, count),
    { ...rowOf('POSTs', posts, count), between: 'if full; more where the rate sets the pace' },
    rowOf('over the wire', wireBytes, sizeOf),
    ...(isCompressed ? [rowOf('decompressed', bytes, sizeOf)] : []),
    ...('logs' in plan ? [rowOf('logs', plan.logs, count)] : []),
    rowOf('on disk', diskBytes, sizeOf),
    ...('files' in plan
      ? Object.entries(plan.tables).map(([name, each]) => ({ ...rowOf(`  ${name}`, each.bytes, sizeOf), between: rowsText(each.rows) }))
      : []),
    { name: 'time', about: durationOf(1000 * seconds.value), between: why },
  ]
}

function rowsText(rows: Estimate): string {
  return rows.value === 0 ? 'no row in the sample' : countOf(Math.round(rows.value), 'row')
}

function rowOf(name: string, { value, low, high }: Estimate, show: (value: number) => string): Row {
  const [about, least, most] = [value, low, high].map(show) as [string, string, string]
  return { name, about, ...(least !== most && { between: `${least} to ${most}` }) }
}

function shown(rows: readonly Row[], width: number | undefined): string {
  return aligned(
    rows.map(({ name, about, between = '' }) => [name, about, between]),
    [false, true, false],
    width,
  )
}

const units = (each: Estimate) => count(each.value)

function unitsText(all: readonly Units[], width: number | undefined): string {
  return table(
    [
      { title: 'provider', of: ({ provider }: Units) => provider },
      { title: 'billed', of: ({ billed }: Units) => units(billed), right: true },
      { title: 'throttled', of: ({ throttled }: Units) => units(throttled), right: true },
    ],
    all,
    width,
  )
}

/** The columns of providers: what each bills. */
function providerColumns<T extends { readonly units: readonly Units[] }>(all: readonly Units[], cheapest: (provider: string, record: T) => boolean) {
  return all.map(({ provider }, i) => ({
    title: provider,
    of: (record: T) => `${units((record.units[i] as Units).billed)}${cheapest(provider, record) ? ' *' : '  '}`,
    right: true,
  }))
}

function receiptsText({ ways, cheapest }: NonNullable<BlocksPlan['receipts']>, width: number | undefined): string {
  const columns = providerColumns<(typeof ways)[number]>(ways[0]?.units ?? [], (provider, { method }) =>
    Object.entries(cheapest).some(([name, best]) => name === provider && best === method),
  )
  const text = table([{ title: 'receipts by', of: ({ method }) => method }, ...columns], ways, width)
  const logsAlone = ways.some(({ method }) => method === 'eth_getLogs')
    ? ['', ...wrapped('eth_getLogs, as in hexline logs, gives the logs alone', (width ?? Infinity) - 2)].join('\n  ')
    : ''
  return `${text}\n\n* what the provider charges least for${logsAlone}`
}

function auditsText({ audits, audit }: LogsPlan, width: number | undefined): string {
  return table(
    [
      { title: 'audit', of: ({ level }) => `${level}${level === audit ? ' (included)' : ''}` },
      { title: 'calls', of: ({ calls }) => units(calls), right: true },
      { title: 'over the wire', of: ({ wireBytes }) => sizeOf(wireBytes.value), right: true },
      { title: 'receipts of', of: ({ receipts }) => `${count(receipts.value)} blocks`, right: true },
    ],
    audits,
    width,
  )
}
