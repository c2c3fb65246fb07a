import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { openRpc } from '../../../docs/site/openrpc.ts'
import { nodeMethods } from '../../../src/eth/node-methods.ts'
import { hasCorpus, noCorpus, readNodePairs } from '../../support/corpus.ts'

interface Document {
  readonly methods: readonly {
    readonly name: string
    readonly description: string
    readonly params: readonly { readonly name: string; readonly required: boolean; readonly schema: object }[]
    readonly result: { readonly schema: object }
  }[]
}

const document = openRpc(fileURLToPath(new URL('../../../dist/src/eth', import.meta.url))) as Document

// `npm run build && npx vitest run --project hexline test/docs/site/openrpc.test.ts --update`
// writes the document.
it('docs/api/openrpc-nodes.json is made from the table of methods', async () => {
  await expect(`${JSON.stringify(document, undefined, 2)}\n`).toMatchFileSnapshot('../../../docs/api/openrpc-nodes.json')
})

it('has each method of the table, with its words and the names of its parameters', () => {
  expect(document.methods.map(({ name }) => name)).toEqual(Object.keys(nodeMethods))
  for (const { name, description, params } of document.methods) {
    expect(description, name).not.toBe('')
    for (const each of params) expect(each.name, name).not.toMatch(/^param\d/)
  }
  const traced = document.methods.find(({ name }) => name === 'debug_traceCall')
  expect(traced?.params.map(({ name, required }) => [name, required])).toEqual([
    ['call', true],
    ['block', false],
    ['options', false],
  ])
})

describe.skipIf(!hasCorpus)(`replies of real nodes fit it${hasCorpus ? '' : ` (${noCorpus})`}`, () => {
  const ajv = new Ajv({ strict: false })
  const good = readNodePairs().filter(({ name, response }) => 'result' in response && name !== 'gnosis/trace_transaction/test_01')

  it.each(document.methods.filter(({ name }) => good.some(({ method }) => method === name)))('$name', ({ name, result }) => {
    const fits = ajv.compile(result.schema)
    for (const { response } of good.filter(({ method }) => method === name)) {
      fits(response.result)
      expect(fits.errors).toBeNull()
    }
    // A schema of any value fits all.
    if (Object.keys(result.schema).length > 0) expect(fits(Number.NaN)).toBe(false)
  })
})
