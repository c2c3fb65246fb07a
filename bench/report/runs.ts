import { readdirSync, readFileSync } from 'node:fs'
import type { Results } from '../results.ts'
import { root } from '../root.ts'

const folder = new URL('bench/results/', root)

/** The saved runs, oldest Node.js first. */
export function readRuns(): Results[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Results)
}
