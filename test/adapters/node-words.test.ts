import { expect, it } from 'vitest'
import { nodeWords } from '../../adapters/node-words.ts'
import { RpcError } from '../../src/index.ts'

const error = (transactionHash?: string) => Object.assign(new RpcError({ code: -32000, message: 'nonce too low' }, {}), { transactionHash })

it("are the node's own message", () => {
  expect(nodeWords(error() as RpcError)).toBe('nonce too low')
})

it('warn first that a transaction may have been accepted', () => {
  const hash = `0x${'1b'.repeat(32)}`
  expect(nodeWords(error(hash) as RpcError)).toMatch(new RegExp(`^.*${hash}.*: nonce too low$`))
})
