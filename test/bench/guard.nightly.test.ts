import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerNews } from '../../bench/server.ts'

/*
 * The same fixed work by hexline and by hand, in one process, in turn; the least CPU time of
 * several rounds. Neither the machine nor what else runs on it changes the ratio much, and the
 * limits are about twice what is normal: what fails is a large regression, such as one more pass
 * over every block. `npm run bench` is for the small ones.
 */
describe('a guard against large regressions of speed', () => {
  const children: ChildProcess[] = []
  let least: Record<string, { hexline: number; byHand: number }>

  beforeAll(async () => {
    const { url } = await first<ServerNews>('../../bench/server.ts', 'made')
    least = await first('../support/guard-process.ts', url)
  })

  afterAll(() => {
    for (const child of children) child.kill()
  })

  it.each([
    ['full blocks', 2.4],
    ['small calls, 64 in parallel', 5],
  ])('%s: at most %f times the CPU of undici and JSON.parse by hand, which checks nothing', (work, limit) => {
    const { hexline, byHand } = least[work] as { hexline: number; byHand: number }
    expect(hexline / byHand, `hexline ${hexline} us, by hand ${byHand} us`).toBeLessThan(limit)
  })

  /** The first message of a new process. */
  async function first<T>(script: string, ...args: string[]): Promise<T> {
    const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, { execArgv: ['--import', 'tsx'] })
    children.push(child)
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${script} ended with ${code}`)))
    ended.catch(() => {})
    return (await Promise.race([once(child, 'message').then(([message]) => message), ended])) as T
  }
})
