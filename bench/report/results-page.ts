import { nameOf, type Results } from '../results.ts'
import { type WorkloadName, workloads } from '../workloads.ts'
import { prefaceOf } from './readme.ts'
import { settingsTable, workloadTable } from './tables.ts'

/** All workloads and clients of the saved runs with their settings, as a Markdown file. */
export function resultsPage(runs: readonly Results[]): string {
  const names = (Object.keys(workloads) as WorkloadName[]).filter((name) => runs.some((run) => run.workloads[name] !== undefined))
  const parts = names.flatMap((name) => [
    `## ${name[0]?.toUpperCase()}${name.slice(1)}`,
    workloads[name].what,
    ...runs.flatMap((run) => [`${nameOf(run)}:`, workloadTable(run, name)]),
    'Clients and their settings:',
    settingsTable(runs[0] as Results, name),
  ])
  return `${['# Results', '<!-- written by npm run bench:report -->', prefaceOf(runs), ...parts].join('\n\n')}\n`
}
