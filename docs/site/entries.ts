import { readFileSync } from 'node:fs'

/** An entry point of the package, as `exports` of its package.json declares it. */
interface Declared {
  readonly import?: { readonly types: string }
}

/**
 * The declaration file of each entry point in a build, by the entry point's name without
 * `hexline/`: `{ hexline: 'src/index.d.ts', rest: 'src/rest/index.d.ts' }`.
 */
export function entriesOfPackage(): Readonly<Record<string, string>> {
  const { name, exports: all } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, Declared>>
  }
  const entries = Object.entries(all).flatMap(([path, { import: { types } = {} }]): [string, string][] =>
    types === undefined ? [] : [[path === '.' ? name : path.slice(2), types.replace('./dist/', '')]],
  )
  return Object.fromEntries(entries)
}
