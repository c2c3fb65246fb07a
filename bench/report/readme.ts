import { nameOf, type Results } from '../results.ts'
import { charts } from './charts.ts'
import { targetsTable } from './targets.ts'

const BEGIN = '<!-- bench:begin: written by npm run bench:report from bench/results -->'
const END = '<!-- bench:end -->'

/** The README with the figures of these runs: what stands between the marks is replaced. The first run is the one that the charts show. Throws where a mark is missing. */
export function withFigures(readme: string, runs: readonly Results[]): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`README.md: expected the lines ${BEGIN} and ${END}, in this order`)
  return `${readme.slice(0, from)}${BEGIN}\n${figuresOf(runs)}\n${readme.slice(to)}`
}

/** All that is said in figures, as Markdown. */
export function figuresOf(runs: readonly Results[]): string {
  const [run] = runs
  if (run === undefined) throw new RangeError('no run to report')
  const parts = [
    prefaceOf(runs),
    ...charts.map(({ file, title }) => `![${title}](bench/results/${file})`),
    'Red is hexline, orange what stands on it, grey undici by hand, which checks nothing; `x` is how many times as long as hexline. undici and @subsquid/rpc-client give raw JSON, the others decode it.',
    'What hexline wants to reach, and what it does reach:',
    targetsTable(runs),
    '[bench/results](bench/results/README.md) has all workloads and clients, with CPU and wall time, memory and settings of each.',
  ]
  return `\n${parts.join('\n\n')}\n`
}

/** Where, when and with what it was measured. */
export function prefaceOf(runs: readonly Results[]): string {
  const [{ blocks, versions }] = runs as [Results]
  const kb = (bytes: number) => `${Math.round(bytes / 1000)} kB`
  const packages = Object.entries(versions)
    .filter(([name]) => name !== 'node')
    .map(([name, version]) => `${name} ${version}`)
  const isQuick = runs.some((run) => run.isQuick)
  return [
    isQuick ? '**Preliminary: a quick run, with too little work for figures to rely on.** ' : '',
    `${runs.map((each) => `${nameOf(each)}, ${each.machine.cores} cores: ${each.rounds} rounds, ${each.date}`).join('; ')}. ${packages.join(', ')}. `,
    `Blocks: ${blocks.source}, on average ${kb(blocks.full)} with transactions, ${kb(blocks.hashes)} with hashes, ${kb(blocks.receipts)} their receipts. `,
    'Medians of the rounds, in brackets the least and the greatest of them.',
  ].join('')
}
