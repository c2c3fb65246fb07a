import { parseArgs } from 'node:util'
import { type WorkloadName, workloads } from './workloads.ts'

export interface Options {
  readonly isQuick: boolean
  readonly rounds: number
  readonly workloads: readonly WorkloadName[]
  /** Whether to save the results in `bench/results`. */
  readonly isSaved: boolean
  /**
   * Node.js for the clients: a path, `24` for the one of the tests, or the running one if
   * undefined.
   */
  readonly node: { readonly path: string } | '24' | undefined
}

const names = Object.keys(workloads) as WorkloadName[]

export const usage = `usage: npm run bench -- [--quick] [--rounds N] [--save] [--node24 | --node PATH] [part of a workload's name ...]

  --quick      one round, and less in it
  --rounds N   rounds of each client (default 3; 1 with --quick)
  --save       keep the results in bench/results, from which npm run bench:report makes the tables of bench/README.md; for all workloads only
  --node24     clients run on the Node.js 24 of .ci/node24, installed if it is missing
  --node PATH  clients run on this Node.js

workloads: ${names.join('; ')}`

/** Throws an Error that says which option is invalid. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      save: { type: 'boolean', default: false },
      node24: { type: 'boolean', default: false },
      node: { type: 'string' },
    },
  })
  const rounds = values.rounds === undefined ? (values.quick ? 1 : 3) : Number(values.rounds)
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds: expected a positive whole number, received ${JSON.stringify(values.rounds)}`)
  const unknown = positionals.find((part) => !names.some((name) => name.includes(part)))
  if (unknown !== undefined) throw new Error(`no workload's name contains ${JSON.stringify(unknown)}`)
  if (values.node24 && values.node !== undefined) throw new Error('expected either --node24 or --node, received both')
  if (values.save && positionals.length > 0) throw new Error('--save saves complete runs only: omit the workloads')
  return {
    isQuick: values.quick,
    rounds,
    workloads: names.filter((name) => positionals.length === 0 || positionals.some((part) => isSelected(name, part))),
    isSaved: values.save,
    node: values.node24 ? '24' : values.node === undefined ? undefined : { path: values.node },
  }
}

/** The full name of a workload selects that workload only. */
function isSelected(name: WorkloadName, part: string): boolean {
  return part in workloads ? name === part : name.includes(part)
}
