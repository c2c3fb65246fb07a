import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { chains } from '../../src/eth/chains.ts'
import { methods } from '../../src/eth/methods.ts'
import { dataChains } from '../../src/rest/params.ts'

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
  it('names files that exist and are in the package', () => {
    const paths = namesIn(table).filter((name) => /^(?:src|test|docs)\/\S+\.\w+$/.test(name))
    expect(paths.length).toBeGreaterThan(20)
    expect(table).not.toMatch(/\btest\//)
    for (const path of paths) expect(existsSync(fileURLToPath(new URL(path, root))), path).toBe(true)
  })

  const parameters = rowsUnder('Parameters').filter(([operation]) => operation !== '8')
  it.each(parameters)('operation %s, parameter %s: is checked, and tested', (_, cell = '') => {
    for (const name of namesIn(cell)) {
      expect(read('src/rest/operations.ts')).toMatch(new RegExp(`\\b${name}\\b`))
      expect(read('test/rest/params.test.ts') + read('test/support/rest-operations.ts')).toMatch(new RegExp(`\\b${name}\\b`))
    }
  })

  const methodRows = rowsUnder('Operation 8: methods').filter(([name]) => name?.startsWith('`eth_'))
  it('has the 28 methods, with the parameters of the OpenRPC document', () => {
    const { methods: documented } = JSON.parse(read('docs/api/openrpc.json')) as { methods: { name: string; params: { name: string; required?: boolean }[] }[] }
    expect(methodRows.map(([name]) => name)).toHaveLength(28)
    expect(methodRows.map(([name, params]) => [namesIn(name as string)[0], params === 'none' ? 0 : params?.split(', ').length]).sort()).toEqual(
      documented.map(({ name, params }) => [name, params.length]).sort(),
    )
    expect(methodRows.map(([name]) => namesIn(name as string)[0]).sort()).toEqual(Object.keys(methods).sort())
  })

  const objectRows = rowsUnder('Operation 8: methods').filter(([object, cell]) => !object?.startsWith('`') && /^`\w+`$/.test(cell ?? ''))
  it('has the objects of operation 8', () => expect(objectRows).toHaveLength(36))
  it.each(objectRows)('%s, field %s: is read or sent, and tested', (_, cell = '') => {
    const word = new RegExp(`\\b${namesIn(cell)[0]}\\b`)
    expect(read('src/eth/objects.ts') + read('src/eth/params.ts')).toMatch(word)
    expect(read('test/eth/methods.test.ts') + read('test/eth/corpus.test.ts') + read('test/eth/params.test.ts')).toMatch(word)
    expect(read('docs/api/openrpc.json')).toMatch(word)
  })

  it('has the chains of both groups', () => {
    const [, part = ''] = table.split('\n## Chains\n')
    const [data = '', rpc = ''] = part.split('\nJSON-RPC group')
    expect(namesIn(rpc.split('\n## ')[0] as string).filter((name) => !name.includes('/'))).toEqual(Object.keys(chains))
    expect([...data.matchAll(/([a-z ]+) `(0x\w+)`[,.]/g)].map(([, name, id]) => [name?.trim(), id])).toEqual(Object.entries(dataChains))
  })

  const fields = rowsUnder('Fields')
  it('has the fields of all records', () => expect(fields.length).toBeGreaterThan(160))
  it.each(fields)('%s, field %s: is read, tested, and in the OpenAPI document', (_, cell = '') => {
    for (const name of namesIn(cell)) {
      const word = new RegExp(`\\b${name}\\b`)
      expect(read('src/rest/records.ts') + read('src/rest/operations.ts')).toMatch(word)
      expect(read('test/rest/record.test.ts') + read('test/rest/pages.test.ts') + read('test/support/rest-records.ts')).toMatch(word)
      expect(read('docs/api/openapi.yaml')).toMatch(word)
    }
  })
})
