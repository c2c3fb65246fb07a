import { describe, expect, it } from 'vitest'
import { type AuditLevel, getLogs } from '../../../src/index-bulk.ts'
import { clientOf } from '../../support/server.ts'
import { FIRST, startValidChain } from '../../support/valid-chain.ts'

const COUNT = 12
const NONE = `0x${'00'.repeat(256)}`

/** What the node says of the blocks that this is true for: that they have no logs. */
async function audit(level: AuditLevel, isLie: (number: number) => boolean) {
  const chain = await startValidChain(COUNT, {
    answer({ method, params }) {
      if (method === 'eth_getLogs') {
        const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
        const asked = [...chain.blocks].filter(([number]) => number >= Number(fromBlock) && number <= Number(toBlock) && !isLie(number))
        return { result: asked.flatMap(([, { receipts }]) => receipts.flatMap(({ logs }) => logs)) }
      }
      if (method !== 'eth_getBlockByNumber' || !isLie(Number(params[0]))) return undefined
      const block = chain.blocks.get(Number(params[0]))?.block
      return { result: { ...block, transactions: block?.transactions.map(({ hash }) => hash), logsBloom: NONE } }
    },
  })
  const logs = getLogs(clientOf(chain.url), { from: FIRST, to: FIRST + COUNT - 1, audit: level })
  const numbers = new Map<number, number>()
  for await (const { blockNumber } of logs) numbers.set(Number(blockNumber), (numbers.get(Number(blockNumber)) ?? 0) + 1)
  const ofChain = [...chain.blocks].map(([number, { receipts }]) => [number, receipts.flatMap(({ logs }) => logs).length])
  return { numbers: [...numbers], ofChain, audit: logs.audit }
}

describe('a header that does not have the hash of its fields', () => {
  it.each([
    ['bloom', 5],
    ['bloom', 0],
    ['receipts', 5],
    ['receipts', 0],
  ] as const)('proves nothing, and hides no logs: %s, block %i', async (level, nth) => {
    const { numbers, ofChain, audit: report } = await audit(level, (number) => number === FIRST + nth)
    expect(numbers).toEqual(ofChain)
    expect(report).toMatchObject({ unproven: 1, reasons: { 'the header does not have the hash of its fields': 1 } })
  })

  it('is as good as any on a chain that may hash headers in another way', async () => {
    const { numbers, audit: report } = await audit('bloom', () => true)
    expect(numbers).toEqual([])
    expect(report.reasons).not.toHaveProperty('the header does not have the hash of its fields')
  })
})
