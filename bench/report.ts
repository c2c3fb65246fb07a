import { readFileSync, writeFileSync } from 'node:fs'
import { importPeer, installPeers } from './peers.ts'
import { charts, readmeChart, specOf } from './report/charts.ts'
import { withFigures } from './report/readme.ts'
import { resultsPage } from './report/results-page.ts'
import { readRuns } from './report/runs.ts'
import type { Results } from './results.ts'
import { root } from './root.ts'

/*
 * Writes tables and charts of the saved results to bench/README.md and bench/results: `npm run
 * bench:report`.
 */

/** The parts of Vega and Vega-Lite in use. Their types are not installed with the project. */
interface Vega {
  parse(spec: object): object
  View: new (runtime: object, options: { renderer: 'none' }) => { toSVG(): Promise<string> }
}
interface VegaLite {
  compile(spec: object): { spec: object }
}

const runs = readRuns()
installPeers()
const [vega, vegaLite] = (await Promise.all([importPeer('vega'), importPeer('vega-lite')])) as [Vega, VegaLite]
for (const chart of [...charts, readmeChart]) {
  const view = new vega.View(vega.parse(vegaLite.compile(specOf(runs[0] as Results, chart)).spec), { renderer: 'none' })
  writeFileSync(new URL(`bench/results/${chart.file}`, root), `${await view.toSVG()}\n`)
}
writeFileSync(new URL('bench/results/README.md', root), resultsPage(runs))
const readme = new URL('bench/README.md', root)
writeFileSync(readme, withFigures(readFileSync(readme, 'utf8'), runs))
