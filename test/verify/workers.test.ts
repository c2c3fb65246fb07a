import { createRequire } from 'node:module'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { workerFile } from '../../src/verify/worker-file.ts'
import { type VerifyJob, VerifyWorkers, type WorkerOptions } from '../../src/verify/workers.ts'
import { type MadeBlock, madeJson } from '../support/decoded-blocks.ts'

/*
 * Threads run built files: those of both builds. The sources run in threads where Node.js takes
 * TypeScript, and else in the main thread.
 */

type Module = { readonly VerifyWorkers: typeof VerifyWorkers }

const require = createRequire(import.meta.url)
const builds: readonly [string, () => Promise<Module>][] = [
  ['ES modules', () => import(new URL('../../dist/src/verify/workers.js', import.meta.url).href) as Promise<Module>],
  ['CommonJS', async () => require('../../dist/cjs/src/verify/workers.js') as Module],
]

let made: MadeBlock
beforeAll(async () => {
  made = await madeJson()
})

const options: WorkerOptions = { isFull: true, level: 'full', senders: false, chainId: 1 }
const bufferOf = (value: unknown): ArrayBuffer => new Uint8Array(Buffer.from(JSON.stringify(value))).buffer
const job = ({ block, receipts }: { block: unknown; receipts: unknown } = made): VerifyJob => ({ block: bufferOf(block), receipts: bufferOf(receipts) })

describe.each(builds)('VerifyWorkers of the build as %s', (_, load) => {
  const start = async (count: number, settings: WorkerOptions = options) => {
    const workers = new (await load()).VerifyWorkers(settings, count)
    onTestFinished(() => workers.end())
    return workers
  }

  test('prove a block', async () => {
    const workers = await start(1, { ...options, senders: true })
    const checks = ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size', 'senders']
    expect(await workers.verify(() => job())).toEqual({ checks, skipped: [] })
  })

  test('say nothing of one that is wrong, or cannot be read, and go on', async () => {
    const workers = await start(1)
    expect(await workers.verify(() => job({ ...made, block: { ...made.block, gasLimit: '0x1' } }))).toBeUndefined()
    expect(await workers.verify(() => job({ ...made, block: { ...made.block, gasUsed: 'x' } }))).toBeUndefined()
    expect(await workers.verify(() => job())).toMatchObject({ skipped: [] })
  })

  test('take two blocks each, and give the verdicts to the right ones', async () => {
    const workers = await start(2)
    expect(workers.capacity).toBe(4)
    const wrong = { ...made, block: { ...made.block, gasLimit: '0x1' } }
    const verdicts = [made, wrong, wrong, made].map((each) => workers.verify(() => job(each)))
    expect(workers.verify(() => job())).toBeUndefined()
    expect((await Promise.all(verdicts)).map((verdict) => verdict !== undefined)).toEqual([true, false, false, true])
    expect(await workers.verify(() => job())).toBeDefined()
  })

  test('leave their blocks to the caller when they end', async () => {
    const workers = await start(1)
    const verdict = workers.verify(() => job())
    workers.end()
    expect(await verdict).toBeUndefined()
    expect(workers.verify(() => job())).toBeUndefined()
  })

  test('leave them to the caller when they cannot start', async () => {
    const workers = await start(1, { ...options, isFull: (() => {}) as unknown as boolean })
    expect(workers.verify(() => job())).toBeUndefined()
  })

  test('take no blocks on a machine with one core', async () => {
    const workers = await start(0)
    expect(workers.capacity).toBe(0)
    expect(workers.verify(() => job())).toBeUndefined()
  })
})

test('the sources run in threads where Node.js takes TypeScript', () => {
  const takes = Boolean((process.features as { typescript?: unknown }).typescript)
  expect(workerFile('worker')?.endsWith('/src/verify/worker.ts') ?? false).toBe(takes)
  expect(new VerifyWorkers(options, 0).capacity).toBe(0)
})
