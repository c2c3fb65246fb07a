import { nameOf, type Results } from '../results.ts'
import { charts } from './charts.ts'
import { targetsTable } from './targets.ts'

const BEGIN = '<!-- bench:begin: written by npm run bench:report from bench/results -->'
const END = '<!-- bench:end -->'

/**
 * bench/README.md with the figures of these runs between its marks. The charts show the first run.
 * Throws if a mark is missing.
 */
export function withFigures(readme: string, runs: readonly Results[]): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`bench/README.md: expected the lines ${BEGIN} and ${END}, in this order`)
  return `${readme.slice(0, from)}${BEGIN}\n${figuresOf(runs)}\n${readme.slice(to)}`
}

/** The generated part of the page, as Markdown. */
function figuresOf(runs: readonly Results[]): string {
  const [run] = runs
  if (run === undefined) throw new RangeError('no run to report')
  const parts = [
    prefaceOf(runs),
    ...charts.map(({ file, title }) => `![${title}](results/${file})`),
    'Red is hexline, orange a library on hexline, grey handwritten undici, which checks nothing. `x` is the time relative to hexline. undici and @subsquid/rpc-client return raw JSON; the others decode it.',
    'Targets and measurements:',
    targetsTable(runs),
    '[results/README.md](results/README.md) lists all workloads and clients, with their CPU time, wall time, memory and settings.',
  ]
  return `\n${parts.join('\n\n')}\n`
}

/** When, where and with which versions the figures were measured. */
export function prefaceOf(runs: readonly Results[]): string {
  const [{ blocks, versions }] = runs as [Results]
  const kb = (bytes: number) => `${Math.round(bytes / 1000)} kB`
  const packages = Object.entries(versions)
    .filter(([name]) => name !== 'node')
    .map(([name, version]) => `${name} ${version}`)
  const isQuick = runs.some((run) => run.isQuick)
  return [
    isQuick ? '**Preliminary: a quick run, with too little work for reliable figures.** ' : '',
    `${runs.map((each) => `${nameOf(each)}, ${each.machine.cores} cores: ${each.rounds} rounds, ${each.date}`).join('; ')}. ${packages.join(', ')}. `,
    `Blocks: ${blocks.source}, on average ${kb(blocks.full)} with transactions, ${kb(blocks.hashes)} with hashes; their receipts ${kb(blocks.receipts)}. `,
    'Figures are medians of the rounds, with minimum and maximum in brackets.',
  ].join('')
}
