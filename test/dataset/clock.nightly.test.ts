import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hexline, spawnHexline, startHexline } from '../support/command.ts'
import { startDatasetChain } from '../support/dataset-chain.ts'
import { digestsOf } from '../support/dataset-kills.ts'

/** Options of Node.js for a process whose clock shows this time, and an hour less at each look. */
function clockGoingBack(from: string): Record<string, string> {
  const code = `
    const Real = Date
    let now = Real.parse('${from}')
    globalThis.Date = class extends Real {
      static now() { return (now -= 3_600_000) }
      constructor(...args) { super(...(args.length === 0 ? [Date.now()] : args)) }
    }`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` }
}

it('a clock that goes back, before and after a kill, changes no byte of the folder', async () => {
  let onPost = () => {}
  const server = await startDatasetChain({ head: 60, gate: () => onPost() })
  const folder = await mkdtemp(join(tmpdir(), 'hexline-clock-'))
  const [right, dir] = [join(folder, 'right'), join(folder, 'back')]
  const argsFor = (out: string, to: number) => [
    ...['export', '--rpc', server.url, '--from', '1', '--to', String(to), '--out', out, '--blocks-per-file', '5', '--batch', '5'],
    ...['--tables', 'blocks,transactions,receipts,logs,withdrawals', '--quiet'],
  ]
  try {
    expect((await hexline(argsFor(right, 40))).code).toBe(0)
    expect((await hexline(argsFor(right, 60))).code).toBe(0)
    expect(execFileSync(process.execPath, ['-p', 'Date.now() > Date.now()'], { env: clockGoingBack('2001-01-01'), encoding: 'utf8' })).toBe('true\n')

    const killed = startHexline(argsFor(dir, 40), { env: clockGoingBack('2100-01-01') })
    let posts = 0
    onPost = () => {
      if (++posts === 8) killed.kill('SIGKILL')
    }
    expect((await killed.ended).code).toBe(null)
    onPost = () => {}
    const none = { code: 0, stdout: '', stderr: '' }
    expect(await spawnHexline(argsFor(dir, 40), { env: clockGoingBack('2001-01-01') })).toEqual(none)
    expect(await spawnHexline(argsFor(dir, 60), { env: clockGoingBack('1980-01-01') })).toEqual(none)
    expect(await digestsOf(dir)).toEqual(await digestsOf(right))
  } finally {
    await server.close()
    await rm(folder, { recursive: true })
  }
})
