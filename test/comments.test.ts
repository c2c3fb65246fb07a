import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const WIDTH = 100

/** Files of the project's own, without what is installed or built. */
function files(folder: string): string[] {
  const place = fileURLToPath(new URL(`../${folder}`, import.meta.url))
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
    .map((name) => `${place}/${name}`)
}

/** Comment lines, without the indented programs in them. */
function comments(text: string): [line: string, at: number][] {
  return text.split('\n').flatMap((line, i): [string, number][] => (/^\s*(?:\/\/|\/\*|\*(?! {5}))/.test(line) ? [[line, i + 1]] : []))
}

it(`comments are at most ${WIDTH} columns wide`, () => {
  const all = ['src', 'adapters', 'test', 'bench', 'demo', 'docs/site'].flatMap(files)
  expect(all.length).toBeGreaterThan(500)
  const wide = all.flatMap((file) => {
    // A rule for the linter is one line.
    const lines = comments(readFileSync(file, 'utf8')).filter(([line]) => line.length > WIDTH && !line.includes('biome-ignore'))
    return lines.map(([, at]) => `${file}:${at}`)
  })
  expect(wide).toEqual([])
})
