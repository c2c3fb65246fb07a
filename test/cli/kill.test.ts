import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ChainServer, startChain } from '../support/chain-server.ts'
import { bin, spawnHexline, startHexline } from '../support/command.ts'
import { seeds } from '../support/runs.ts'

let folder: string
let server: ChainServer
const BLOCKS = 3000

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-kill-'))
  server = await startChain({ head: BLOCKS, inputBytes: 200 })
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** The same moments every time, since process timing is random enough. */
function* moments(): Generator<number> {
  let state = 1
  for (;;) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    yield 50 + (state % 700)
  }
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('%s at any moment leaves a whole file or none, and no process', async (signal) => {
  const moment = moments()
  for (const run of seeds(2, 12)) {
    const out = join(folder, `${signal}-${run}.ndjson`)
    const child = startHexline(['blocks', '--rpc', server.url, '--from', '0', '--to', String(BLOCKS), '--out', out])
    await Promise.race([after(moment.next().value as number), child.ended])
    child.kill(signal)
    // It has ended and its pipes are closed: nothing of it still runs.
    const { code } = await child.ended
    const text = await readFile(out, 'utf8').catch(() => undefined)
    if (text !== undefined) {
      expect(text.endsWith('\n')).toBe(true)
      expect(text.split('\n')).toHaveLength(BLOCKS + 2)
    } else {
      // Before the command has set its own handlers, the signal ends it as it ends any process.
      expect({ SIGINT: [130, null], SIGTERM: [143, null], SIGHUP: [129, null], SIGKILL: [null] }[signal]).toContain(code)
    }
    if (signal !== 'SIGKILL') expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).toEqual([])
  }
})

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s leaves no lock and no temporary file in a dataset', async (signal) => {
  const out = join(folder, `dataset-${signal}`)
  const child = startHexline(['export', '--rpc', server.url, '--from', '0', '--to', String(BLOCKS), '--out', out, '--rate', '300'])
  const names = async () => await readdir(out, { recursive: true }).catch(() => [])
  while (!(await names()).some((name) => name.endsWith(`.parquet.${child.pid}.partial`))) await after(20)
  child.kill(signal)
  const { name, code } = { SIGINT: { name: 'Ctrl-C', code: 130 }, SIGTERM: { name: 'SIGTERM', code: 143 }, SIGHUP: { name: 'SIGHUP', code: 129 } }[signal]
  const ended = await child.ended
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code, stderr: `hexline: ended by ${name}; the same command continues ${out}\n` })
  expect((await names()).filter((each) => /partial|\.lock/.test(each))).toEqual([])
})

it('the next run removes what a killed process left beside its file', async () => {
  const out = join(folder, 'again.ndjson')
  const gone = startHexline(['--version'])
  await gone.ended
  await writeFile(`${out}.${gone.pid}.partial`, 'half')
  await writeFile(`${out}.${process.pid}.partial`, 'of a process that runs')
  await spawnHexline(['blocks', '--rpc', server.url, '--from', '0', '--to', '3', '--out', out])
  expect((await readdir(folder)).filter((name) => name.startsWith('again'))).toEqual(['again.ndjson', `again.ndjson.${process.pid}.partial`])
})

it('the next run removes what a killed process of its own number left, as in a container', async () => {
  const out = join(folder, 'container.ndjson')
  const args = ['blocks', '--rpc', server.url, '--from', '0', '--to', '3', '--out', out]
  // `exec` keeps the number.
  const script = 'echo half >"$0.$$.partial"; exec "$@"'
  await promisify(execFile)('sh', ['-c', script, out, process.execPath, bin, ...args])
  expect((await readdir(folder)).filter((name) => name.startsWith('container'))).toEqual(['container.ndjson'])
})
