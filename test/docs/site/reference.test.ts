import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { type Reference, referenceOf } from '../../../docs/site/reference.ts'

const index = `/** hexline: a client. */
/**
 * Opens a line:
 *
 *     const line = open('a', { ms: 1 })
 */
export declare function open(to: Name, options?: Options): Line
/** Options of \`open\`. */
export interface Options extends Base<Name> {
    /** In ms. Default 1. */
    readonly ms?: number
    readonly nested?: {
        /** Not shown in one line. */
        readonly deep: Name | undefined
    }
}
export interface Base<T> {
    readonly of: T
}
/** A name. */
export type Name = 'a' | 'b'
/** A line. */
export declare class Line {
    #private
    private readonly hidden
    /** Its name, as docs/logs.md has it. */
    readonly name: Name
    /** Ends it. */
    close(): Promise<void>
    close(now: boolean): void
    undocumented(): void
}
/** Computed. */
export type Computed = Pick2<typeof fields>
type Pick2<T> = { [K in keyof T]: T[K] }
declare const fields: {
    /** The first one. */
    first: bigint
}
/** Too much of a type. */
export type Opaque<T extends Name> = T extends 'a' ? Pick2<T> : never
/** Names and numbers. */
export declare const numbers: {
    readonly a: 1
}
// Else all of a declaration file is exported.
export {}
`
const other = `/**
 * hexline/other: more, and in
 * two lines.
 */
import type { Line } from './index.d.ts'
export { Line } from './index.d.ts'
/** Takes a line that has a very long list of parameters. */
export declare function take(line: Line, first: string, secondWord: string, thirdWord: string, fourthWord: string): void
`

let reference: Reference
beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'hexline-reference-'))
  writeFileSync(join(folder, 'index.d.ts'), index)
  writeFileSync(join(folder, 'other.d.ts'), other)
  reference = referenceOf(`${folder}/`, { hexline: 'index.d.ts', other: 'other.d.ts' })
  rmSync(folder, { recursive: true })
})

it('says what an entry is, as its file does', () => {
  expect(reference.pages.hexline).toMatch(/^# hexline\n\nA client\.\n\n## /)
  expect(reference.pages.other).toMatch(/^# hexline\/other\n\nMore, and in two lines\.\n\n## /)
})

it('has functions, constants, classes and types, in the order of the exports', () => {
  expect(reference.pages.hexline?.match(/^##?#?#? .*$/gm)).toEqual([
    '# hexline',
    '## Functions',
    '### open',
    '## Constants',
    '### numbers',
    '## Classes',
    '### Line',
    '#### Line.close',
    '## Types',
    '### Options',
    '### Base',
    '### Name',
    '### Computed',
    '### Opaque',
  ])
})

it('shows a function with its docstring, whose code is a block, its signature, and links to its types', () => {
  expect(reference.pages.hexline).toContain(`### open

Opens a line:

\`\`\`ts
const line = open('a', { ms: 1 })
\`\`\`

\`\`\`ts
function open(to: Name, options?: Options): Line
\`\`\`

<p class="named"><code v-pre><a href="#name">Name</a></code> <code v-pre><a href="#options">Options</a></code> <code v-pre><a href="#line">Line</a></code></p>
`)
})

it('shows the members of an interface with linked types, and what it extends', () => {
  expect(reference.pages.hexline).toContain(`### Options

Options of \`open\`.

Extends <code v-pre><a href="#base">Base</a>&lt;<a href="#name">Name</a>&gt;</code>.

- **\`ms?\`** <code v-pre>number</code>

  In ms. Default 1.

- **\`nested?\`** <code v-pre>{ deep: <a href="#name">Name</a> | undefined }</code>
`)
})

it('shows of a class what is public and documented', () => {
  expect(reference.pages.hexline).toContain(`#### Line.close

Ends it.

\`\`\`ts
close(): Promise<void>
close(now: boolean): void
\`\`\`
`)
  expect(reference.pages.hexline).not.toMatch(/hidden|undocumented|private/)
})

it('shows the names of a union, the members of a computed type, and the name alone of one that is made of what is not exported', () => {
  expect(reference.pages.hexline).toContain("\ntype Name = 'a' | 'b'\n")
  expect(reference.pages.hexline).toContain('- **`first`** <code v-pre>bigint</code>\n\n  The first one.')
  expect(reference.pages.hexline).toContain('\ntype Opaque<T extends Name>\n')
})

it('refers to the page that has an export already, and breaks long signatures', () => {
  expect(reference.pages.other).toContain('### Line\n\nThe same as [Line of `hexline`](hexline.md#line).')
  expect(reference.pages.other).toContain(
    'function take(\n  line: Line,\n  first: string,\n  secondWord: string,\n  thirdWord: string,\n  fourthWord: string,\n): void',
  )
  expect(reference.pages.other).toContain('<a href="./hexline.html#line">Line</a>')
})

it('links the pages that a docstring names', () => {
  expect(reference.pages.hexline).toContain('Its name, as [logs.md](../logs.md) has it.')
})

it('names exports without a docstring', () => {
  expect(reference.undocumented).toEqual(['hexline: Base'])
})
