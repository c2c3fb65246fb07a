import { describe, expect, it, test } from 'vitest'
import { logRangeRows } from '../../../src/eth/errors/log-range.ts'
import { messageRows } from '../../../src/eth/errors/messages.ts'
import { matches } from '../../../src/eth/errors/rule.ts'

/** The kind by the message alone: code and status have no meaning. */
function kindOf(message: string, method = 'eth_call', code = -32000): string | undefined {
  return messageRows.find((row) => matches(row, { method, status: 200, code, message, retryAfterMs: undefined }))?.kind
}

describe('the first row that matches decides', () => {
  it.each([
    // A contract may revert with any message.
    ['execution reverted: rate limit exceeded', 'eth_call', 'execution'],
    ['execution reverted: too many requests in batch', 'eth_call', 'execution'],
    ['rpc error: code = InvalidArgument desc = execution reverted: unauthorized', 'eth_call', 'execution'],
    ['failed to estimate gas: message execution failed (exit=[33], revert reason=[Error(already pruned)], vm error=[])', 'eth_estimateGas', 'execution'],
    // Texts that are part of those of another kind.
    ['Too many requests in batch', 'eth_call', 'batch-too-large'],
    ['Too many requests', 'eth_call', 'rate-limit'],
    ['daily request limit reached', 'eth_call', 'quota'],
    ['request limit reached', 'eth_call', 'rate-limit'],
    ['missing trie node: state is only kept by an archive node', 'eth_call', 'pruned'],
    ['missing trie node', 'eth_call', 'lagging'],
    ['query exceeds max block range 2000', 'eth_getLogs', 'range-too-large'],
    // "already known", but only for the method that sends.
    ['already known', 'eth_sendRawTransaction', 'execution'],
    ['already known', 'eth_call', undefined],
    ['hello', 'eth_call', undefined],
  ])('%s, from %s: %s', (message, method, kind) => {
    expect(kindOf(message, method)).toBe(kind)
  })

  it('the code of a revert takes precedence over any message', () => {
    expect(kindOf('too many requests', 'eth_call', 3)).toBe('execution')
  })
})

test('the limits on ranges of blocks are among the rows, in their order', () => {
  const first = messageRows.indexOf(logRangeRows[0] as (typeof logRangeRows)[number])
  expect(messageRows.slice(first, first + logRangeRows.length)).toEqual(logRangeRows)
})

test('each row has a pattern, or the code of a revert, and its source', () => {
  for (const row of messageRows) {
    expect(row.message !== undefined || row.data !== undefined || row.code !== undefined, row.source).toBe(true)
    expect(row.source).toMatch(/\S/)
    // A stateful pattern would match every second time.
    expect(row.message?.global ?? false).toBe(false)
    expect(row.message?.sticky ?? false).toBe(false)
  }
})
