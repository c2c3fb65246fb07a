import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import { CONTRACT, ForkingChain } from './forking-chain.ts'
import { randomFrom } from './random.ts'
import { itemOf, Replay } from './replay.ts'
import { serve } from './server.ts'

const bin = fileURLToPath(new URL('../../dist/src/cli/bin.js', import.meta.url))

/**
 * Runs `hexline follow --cursor FILE >> FILE` against a chain that is reorganised all the time, and
 * kills it this often, at any moment. Gives the lines that are there at the end, replayed.
 */
export async function followWithKills(kills: number, seed: number) {
  const random = randomFrom(seed)
  const chain = new ForkingChain(3000)
  const server = await serve(chain.node())
  const folder = mkdtempSync(join(tmpdir(), 'hexline-follow-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const out = join(folder, 'blocks.ndjson')
  const args = ['follow', '--rpc', server.url, '--from', '7', '--address', CONTRACT, '--cursor', join(folder, 'cursor.json')]
  const start = () => {
    const fd = openSync(out, 'a')
    const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', fd, 'inherit'] })
    closeSync(fd)
    return { child, ended: new Promise<number | null>((resolve) => child.once('close', resolve)) }
  }
  const replayed = () => {
    const replay = new Replay(7)
    const lines = readFileSync(out, 'utf8').split('\n')
    for (const line of lines.slice(0, -1)) replay.apply(itemOf(line))
    return { replay, rest: lines.at(-1) }
  }
  for (let kill = 0; kill < kills; kill++) {
    const run = start()
    const before = readFileSync(out).length
    // Not before it writes, so that each run is killed in the middle of writing.
    await eventually(() => {
      if (run.child.exitCode !== null) throw new Error('it has ended by itself')
      if (readFileSync(out).length <= before) throw new Error('nothing is written')
    })
    await after(Math.floor(random() * 40))
    run.child.kill('SIGKILL')
    await run.ended
    // Without this, one that has caught up would have nothing to write.
    chain.reorganise(1 + Math.floor(random() * 20), 30)
  }
  const last = start()
  await eventually(() => {
    if (!readFileSync(out, 'latin1').includes(`"hash":"${chain.hashes.at(-1)}"`)) throw new Error('it has not caught up')
  })
  last.child.kill('SIGINT')
  const code = await last.ended
  return { ...replayed(), hashes: chain.hashes.slice(7), logs: chain.blocks.slice(7).map(({ logs }) => logs), code }
}
