import { expect, it } from 'vitest'
import { getLogs } from '../../src/index-bulk.ts'
import { chainAnswer } from '../support/chain-server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf } = virtualWorld()

const LAST = 300

/** A node that takes 3 calls a second, and at most this many blocks in a range of logs. */
async function startNode(most: number): Promise<string> {
  let [tokens, at] = [3, clock.now()]
  const isTaken = () => {
    tokens = Math.min(3, tokens + ((clock.now() - at) / 1000) * 3)
    at = clock.now()
    return tokens >= 1 && tokens-- >= 1
  }
  const { url } = await serve(
    chainAnswer({
      head: LAST,
      transactions: () => 1,
      answer({ method, params }) {
        if (!isTaken()) return { error: { code: -32005, message: 'rate limit exceeded' } }
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
        return Number(toBlock) - Number(fromBlock) >= most ? { error: { code: -32602, message: `exceed maximum block range: ${most}` } } : { result: [] }
      },
    }),
  )
  return url
}

it.each([1, 2, 5])('an audit ends, however long its calls wait for their turn; %d blocks in a range', async (most) => {
  const client = clientOf([await startNode(most), await startNode(most)], {
    deadlineMs: 15_000,
    timeoutMs: 5_000,
    retry: { attempts: 4, baseDelayMs: 100, maxDelayMs: 10_000 },
  })
  let last = -1n
  for await (const { to } of getLogs(client, { address: `0x${'a'.repeat(40)}`, from: 0, to: LAST, audit: 'receipts' }).pages()) last = to
  expect(last).toBe(BigInt(LAST))
})
