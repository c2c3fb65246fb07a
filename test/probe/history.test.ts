import { describe, expect, it } from 'vitest'
import { type EndpointReport, probe } from '../../src/index.ts'
import { type LimitedNode, type NodeLimits, startLimited } from '../support/limited-node.ts'
import { clientOf } from '../support/server.ts'

async function probed(limits: NodeLimits, maxCalls = 500): Promise<EndpointReport & { node: LimitedNode; calls: (method: string) => number }> {
  const node = await startLimited(limits)
  const { endpoints } = await probe(clientOf(node.url), { rateCalls: false, maxCalls })
  return { ...(endpoints[0] as EndpointReport), node, calls: (name) => node.methods.filter((method) => method === name).length }
}

const pruned = { code: 4444, message: 'pruned history unavailable' }
const sender = `0x${'5e'.repeat(20)}`

describe('the history of a node', () => {
  it('that has everything begins at block 1', async () => {
    const { history, archiveDepth } = await probed({ hasTransactions: true })
    const first = { known: 'exactly', value: 1, refused: null, how: 'it answers for block 1' }
    expect(history).toEqual({
      blocks: first,
      receipts: first,
      logs: first,
      state: { ...first, how: 'the state of block 1 is there' },
      oldState: { isRight: true, how: `the nonce of ${sender} at block 50000 is 50001, as its transaction in block 50001 says` },
    })
    expect(archiveDepth.value).toBe(99_999)
  })

  it.each([
    ['an error', pruned],
    ['null', null],
  ])('that has dropped old blocks and answers %s for them is found, for each kind', async (_, says) => {
    const { history, calls } = await probed({ history: { blocks: 60_000, receipts: 60_000, logs: 70_000, says: says ?? null }, stateDepth: 128 })
    expect(history).toMatchObject({
      blocks: { known: 'exactly', value: 60_000, refused: 59_999, how: `block 59999 was refused: ${says?.message ?? 'it answers null'}` },
      receipts: { known: 'exactly', value: 60_000, refused: 59_999 },
      state: { known: 'exactly', value: 99_872, refused: 99_871 },
    })
    expect(history.logs).toMatchObject({ known: 'exactly', value: 70_000, refused: 69_999 })
    // Receipts most likely went with the blocks: three calls, and the one that tries the method.
    expect(calls('eth_getBlockReceipts')).toBe(4)
  })

  it('is what its refusal says, if that is so', async () => {
    const says = { code: 4444, message: 'pruned history unavailable: requested block 1, earliest available 61234' }
    const { history, calls } = await probed({ history: { blocks: 61_234, receipts: 61_234, says } })
    expect([history.blocks, history.receipts]).toMatchObject(Array(2).fill({ known: 'exactly', value: 61_234, refused: 61_233 }))
    expect(calls('eth_getBlockReceipts')).toBe(4)
  })

  it('is what eth_capabilities says, without further calls for old blocks', async () => {
    const has = (block: string) => ({ disabled: false, oldestBlock: block })
    const capabilities = {
      head: { number: '0x186a0', hash: '0x1' },
      blocks: has('0xc350'),
      receipts: has('0xea60'),
      logs: { disabled: true },
      state: has('0x0'),
    }
    const { history, calls } = await probed({ capabilities })
    const told = (value: number) => ({ known: 'exactly', value, refused: null, how: 'reported by eth_capabilities' })
    expect(history).toMatchObject({
      blocks: told(50_000),
      receipts: told(60_000),
      logs: { known: 'unknown', value: null, how: 'eth_capabilities reports that it has none' },
      state: told(0),
    })
    expect([calls('eth_capabilities'), calls('eth_getBlockReceipts')]).toEqual([1, 1])
  })

  it('is unknown for receipts without the method', async () => {
    const { history } = await probed({ without: ['eth_getBlockReceipts'] })
    expect(history.receipts).toMatchObject({ known: 'unknown', how: 'the method eth_getBlockReceipts does not exist/is not available' })
  })

  it('is found as far as the calls reach', async () => {
    const { history, cost } = await probed({ history: { blocks: 60_000, says: pruned } }, 60)
    expect(cost.calls).toBeLessThanOrEqual(60)
    expect(history).toMatchObject({
      logs: { known: 'unknown', how: expect.stringContaining('it would exceed the limit of 60 calls') },
      oldState: { isRight: null },
    })
  })
})

describe('an old value of the state', () => {
  it('shows a node that answers for old blocks with the newest state, and has no archive', async () => {
    const { history, archiveDepth } = await probed({ hasTransactions: true, newestState: true })
    const how = `the nonce of ${sender} at block 50000 is 50001, as its transaction in block 50001 says, but the endpoint gives 100001: it answers with a newer state`
    expect(history.oldState).toEqual({ isRight: false, how })
    expect([history.state, archiveDepth]).toMatchObject(Array(2).fill({ known: 'unknown', value: null, how }))
  })

  it('is looked for where the node has the state', async () => {
    const { history } = await probed({ hasTransactions: true, stateDepth: 128 })
    expect(history.oldState).toEqual({ isRight: true, how: `the nonce of ${sender} at block 99935 is 99936, as its transaction in block 99936 says` })
  })

  it('is not compared without a transaction to compare it with', async () => {
    expect((await probed({})).history.oldState).toEqual({ isRight: null, how: 'found no transaction to compare with' })
  })
})
