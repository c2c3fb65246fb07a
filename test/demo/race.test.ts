import { describe, expect, it, onTestFinished } from 'vitest'
import { CALLERS, newRunner, runHexline, runViem, stuck } from '../../demo/race.ts'
import { startChain } from '../support/chain-server.ts'

async function chain(options: Partial<Parameters<typeof startChain>[0]> = {}) {
  const server = await startChain({ head: 100, ...options })
  onTestFinished(() => server.close())
  return server
}

const never = new AbortController().signal

describe.each([
  ['hexline', runHexline],
  ['viem', runViem],
])('%s', (_, run) => {
  it('fetches every block of the range once', async () => {
    const [a, b] = [await chain(), await chain()]
    const runner = newRunner()
    await run(runner, [a.url, b.url], 20, never)
    expect(runner).toMatchObject({ done: 20, failed: 0, waiting: new Set() })
    const asked = [...a.calls, ...b.calls].filter(({ method }) => method === 'eth_getBlockByNumber').map(({ params }) => Number(params[0]))
    expect([...new Set(asked)].sort((x, y) => x - y)).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('ends when it is aborted, though its calls have no reply', async () => {
    const stop = new AbortController()
    const gate = () => new Promise<void>(() => stop.abort())
    const [a, b] = [await chain({ gate }), await chain({ gate })]
    const runner = newRunner()
    await run(runner, [a.url, b.url], 20, stop.signal).catch((error) => expect(error).toBe(stop.signal.reason))
    expect(runner).toMatchObject({ done: 0, failed: 0 })
  })
})

it('viem counts blocks that fail on both endpoints', async () => {
  const refused = { error: { code: 3, message: 'execution reverted' } }
  const [a, b] = [await chain({ answer: () => refused }), await chain({ answer: () => refused })]
  const runner = newRunner()
  await runViem(runner, [a.url, b.url], CALLERS + 1, never)
  expect(runner).toMatchObject({ done: 0, failed: CALLERS + 1 })
})

it('a call counts as stuck after three seconds', () => {
  const now = performance.now()
  expect(stuck({ done: 0, failed: 0, waiting: new Set([now - 60_000, now - 3001, now + 600_000]) })).toBe(2)
})
