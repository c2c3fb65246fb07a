import { startSandbox } from 'hexline/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { type Fault, faults } from '../../src/sandbox/faults.ts'
import { hexline } from '../support/command.ts'

const BLOCKS = 1000
const CALLS_PER_SECOND = 200
const SHARE = 0.1
const SEEDS = [1, 2, 3]
/** Longest time of the job, as a multiple of that without faults. */
const MOST = 1.5

const median = (figures: readonly number[]) => [...figures].sort((a, b) => a - b)[figures.length >> 1] as number

/** Seconds that `hexline blocks --receipts` takes; it must not fail. */
async function secondsOf(upstream: string, shares: number | Partial<Record<Fault, number>>, faultSeed: number): Promise<number> {
  await using sandbox = await startSandbox({ upstream, callsPerSecond: CALLS_PER_SECOND, faults: shares, faultSeed })
  const begun = performance.now()
  const { code, stdout, stderr } = await hexline(['blocks', '--from', '0', '--to', String(BLOCKS - 1), '--receipts', '--quiet'], {
    env: { HEXLINE_RPC_URL: sandbox.nodeUrl() },
  })
  expect(stderr).toBe('')
  expect(code).toBe(0)
  const numbers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => Number((JSON.parse(line) as { number: string }).number))
  expect(numbers).toEqual(Array.from({ length: BLOCKS }, (_, number) => number))
  return (performance.now() - begun) / 1000
}

test(`${BLOCKS} blocks at ${CALLS_PER_SECOND} calls per second, ${SHARE * 100} % of the POSTs faulty: never fails, and takes at most ${MOST} times as long`, {
  timeout: 900_000,
}, async () => {
  const base = await startSandbox()
  onTestFinished(() => base.stop())
  await fetch(base.upstream, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_mine', params: [`0x${BLOCKS.toString(16)}`] }),
  })
  const kinds = ['none', 'each of them', ...faults] as const
  const seconds = new Map<(typeof kinds)[number], number[]>(kinds.map((kind) => [kind, []]))
  for (const kind of kinds) {
    // Several at a time: most of it is waiting.
    const shares = kind === 'none' ? 0 : kind === 'each of them' ? SHARE : { [kind]: SHARE }
    seconds.set(kind, await Promise.all(SEEDS.map((seed) => secondsOf(base.upstream, shares, seed))))
  }
  const without = median(seconds.get('none') as number[])
  const rows = kinds.map((kind) => {
    const figures = seconds.get(kind) as number[]
    return `${kind.padEnd(13)} ${figures.map((figure) => figure.toFixed(1)).join(', ')} s, ${(median(figures) / without).toFixed(2)} of what it takes without`
  })
  console.log(['bulk faults', ...rows].join('\n  '))
  for (const kind of kinds) expect(median(seconds.get(kind) as number[]) / without, kind).toBeLessThanOrEqual(MOST)
})
