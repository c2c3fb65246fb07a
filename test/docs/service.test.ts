import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(fileURLToPath(new URL(path, root)), 'utf8')
const table = read('docs/service.md')

/** The cells of the rows under a heading. */
function rowsUnder(heading: string): string[][] {
  const [, part = ''] = table.split(`\n## ${heading}\n`)
  return [...(part.split('\n## ')[0] as string).matchAll(/^\| (.*) \|$/gm)]
    .map(([, row]) => (row as string).split(' | '))
    .filter((cells) => cells[0] !== '---' && !cells.every((cell) => /^-+$/.test(cell)))
    .slice(1)
}

const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)

describe('docs/service.md', () => {
  it('names files that there are', () => {
    const paths = namesIn(table).filter((name) => /^(?:src|test|docs)\/\S+\.\w+$/.test(name))
    expect(paths.length).toBeGreaterThan(20)
    for (const path of paths) expect(existsSync(fileURLToPath(new URL(path, root))), path).toBe(true)
  })

  const parameters = rowsUnder('Parameters').filter(([operation]) => operation !== '8')
  it.each(parameters)('operation %s, parameter %s: is checked, and tested', (_, cell = '') => {
    for (const name of namesIn(cell)) {
      expect(read('src/rest/operations.ts')).toMatch(new RegExp(`\\b${name}\\b`))
      expect(read('test/rest/params.test.ts') + read('test/support/rest-operations.ts')).toMatch(new RegExp(`\\b${name}\\b`))
    }
  })

  const fields = rowsUnder('Fields')
  it('has the fields of all records', () => expect(fields.length).toBeGreaterThan(120))
  it.each(fields)('%s, field %s: is read, tested, and in the OpenAPI document', (_, cell = '') => {
    for (const name of namesIn(cell)) {
      const word = new RegExp(`\\b${name}\\b`)
      expect(read('src/rest/records.ts') + read('src/rest/operations.ts')).toMatch(word)
      expect(read('test/rest/decode.test.ts') + read('test/rest/pages.test.ts') + read('test/support/rest-records.ts')).toMatch(word)
      expect(read('docs/api/openapi.yaml')).toMatch(word)
    }
  })
})
