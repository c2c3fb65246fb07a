import { type Figures, figureOf, type Measured, type Results, ratioOf, type Spread } from '../results.ts'
import { type ClientName, type WorkloadName, workloads } from '../workloads.ts'

/** A Markdown table. The first columns are text; the others are numbers, aligned right. */
export function markdown(textColumns: number, [head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i < textColumns ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

/**
 * One workload: a row for each client, with medians and, in brackets, the minimum and maximum over
 * the rounds.
 */
export function workloadTable(results: Results, name: WorkloadName): string {
  const { unit, against, figure } = workloads[name]
  const measured = results.workloads[name] ?? {}
  const peers = against.filter((peer) => (measured[peer]?.rounds.length ?? 0) > 0)
  const extra = extras.filter(({ of }) => Object.values(measured).some((each) => of(each) !== undefined))
  return markdown(1, [
    [
      `${name}, per ${unit}`,
      'CPU',
      'wall',
      'peak MB',
      ...extra.map(({ label }) => label),
      ...peers.map((peer) => `${figure === 'peakMb' ? 'peak' : figure === 'cpu' ? 'CPU' : 'wall'} vs. ${peer}`),
    ],
    ...(Object.entries(measured) as [ClientName, Measured][]).map(([client, mine]) => [
      client.startsWith('hexline') ? `**${client}**` : client,
      ...(mine.rounds.length === 0
        ? ['not measured', '', '', ...extra.map(() => '')]
        : [time(figureOf(mine, 'cpu')), time(figureOf(mine, 'wall')), plain(figureOf(mine, 'peakMb')), ...extra.map(({ of }) => plain(of(mine)))]),
      ...peers.map((peer) => (peer === client ? '1' : ratioText(ratioOf(mine, measured[peer], figure)))),
    ]),
  ])
}

/** Figures that only some workloads have. */
const extras: readonly { readonly label: string; readonly of: (measured: Measured) => Spread | undefined }[] = (
  [
    ['MB, middle', 'middleMb'],
    ['MB, end', 'endMb'],
    ['calls refused', 'refused'],
    ['calls failed', 'failures'],
    ['POSTs', 'posts'],
    ['calls', 'calls'],
    ['MB received', 'receivedMb'],
  ] as const
).map(([label, figure]: readonly [string, keyof Figures]) => ({ label, of: (measured) => figureOf(measured, figure) }))

/** The settings of each client for a workload. */
export function settingsTable(results: Results, name: WorkloadName): string {
  const measured = Object.entries(results.workloads[name] ?? {}) as [ClientName, Measured][]
  const leftOut = Object.entries(workloads[name].leftOut ?? {}) as [ClientName, string][]
  return markdown(2, [
    [`${name}: client`, 'settings', `${plural(workloads[name].unit)} a round`],
    ...measured.map(([client, { amount, settings, failure }]) => [client, failure === undefined ? settings : `${settings}; failed: ${failure}`, `${amount}`]),
    ...leftOut.map(([client, why]) => [client, `left out: ${why}`, '']),
  ])
}

function plural(unit: string): string {
  return unit === 'reply' ? 'replies' : `${unit}s`
}

/** A ratio, with its minimum and maximum. */
export function ratioText(spread: Spread | undefined): string {
  if (spread === undefined) return ''
  const { median, min, max } = spread
  return min === max ? digits(median) : `${digits(median)} (${digits(min)}–${digits(max)})`
}

function time(spread: Spread | undefined): string {
  if (spread === undefined) return ''
  const { median, min, max } = spread
  const [unit, factor] = median >= 1000 ? ['ms', 1000] : ['us', 1]
  const text = (value: number) => digits(value / factor)
  return min === max ? `${text(median)} ${unit}` : `${text(median)} ${unit} (${text(min)}–${text(max)})`
}

function plain(spread: Spread | undefined): string {
  if (spread === undefined) return ''
  const { median, min, max } = spread
  return min === max ? `${Math.round(median)}` : `${Math.round(median)} (${Math.round(min)}–${Math.round(max)})`
}

/** Three digits, or two for values below 1, unless the value is very small. */
function digits(value: number): string {
  return value < 0.1 ? value.toFixed(3) : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
