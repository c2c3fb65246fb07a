import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { compiler as ts } from '../docs/site/compiler.ts'

/**
 * The hover text of an editor at each empty comment of a program in this folder: the type and its
 * documentation.
 */
function hovers(program: string): [type: string, words: string][] {
  const file = fileURLToPath(new URL('hovered.ts', import.meta.url))
  const read = (path: string) => (path === file ? program : ts.sys.readFile(path))
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    fileExists: (path: string) => path === file || ts.sys.fileExists(path),
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path: string) => ts.ScriptSnapshot.fromString(read(path) as string),
    readFile: read,
    getCompilationSettings: () => ({
      ...{ strict: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'], types: ['node'], skipLibCheck: true },
      ...{ module: ts.ModuleKind.NodeNext, allowImportingTsExtensions: true, noEmit: true, noErrorTruncation: true },
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  })
  expect(service.getSemanticDiagnostics(file).map(({ messageText }) => messageText)).toEqual([])
  return [...program.matchAll(/\/\*\*\//g)].map(({ index }) => {
    const { displayParts, documentation } = service.getQuickInfoAtPosition(file, index + 4) ?? {}
    return [ts.displayPartsToString(displayParts).replace(/\s+/g, ' '), ts.displayPartsToString(documentation)]
  })
}

it('an editor shows the types of results, and the documentation of their fields', () => {
  const program = `import { createClient } from '../src/index.ts'
const client = createClient('')
const /**/block = await client.call('eth_getBlockByNumber', 1n, true)
const /**/transaction = await client.call('eth_getTransactionByHash', '0x')
const /**/receipt = await client.call('eth_getTransactionReceipt', '0x')
const /**/logs = await client.call('eth_getLogs', {})
const /**/proof = await client.call('eth_getProof', '0x', [])
const /**/fees = await client.call('eth_feeHistory', 1, 'latest')
const /**/authorizations = transaction?.authorizationList
block!./**/gasLimit
block!./**/baseFeePerGas
`
  expect(hovers(program)).toEqual([
    ['const block: Block<true> | null', ''],
    ['const transaction: Transaction | null', ''],
    ['const receipt: Receipt | null', ''],
    ['const logs: Log[]', ''],
    ['const proof: Proof', ''],
    ['const fees: FeeHistory', ''],
    ['const authorizations: Authorization[] | undefined', ''],
    ['(property) gasLimit: bigint', 'In gas.'],
    ['(property) baseFeePerGas?: bigint | undefined', 'In wei.'],
  ])
})

it('and the parts of the blocks of a range', () => {
  const program = `import { createClient } from '../src/index.ts'
import { getBlocks } from '../src/index-bulk.ts'
const client = createClient('')
for await (const /**/block of getBlocks(client, { from: 0, to: 1 })) void block
for await (const /**/block of getBlocks(client, { from: 0, to: 1, transactions: 'full', receipts: true })) void block
for await (const /**/block of getBlocks(client, { from: 0, to: 1, fields: ['timestamp'] })) void block./**/timestamp
`
  expect(hovers(program)).toEqual([
    ['const block: Block<false>', ''],
    ['const block: Block<true> & { receipts: Receipt[]; }', ''],
    [expect.stringMatching(/^const block: \{ number: bigint; hash: \S+; parentHash: \S+; timestamp: bigint; \}$/), ''],
    ['(property) timestamp: bigint', 'In seconds.'],
  ])
})
