import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSandbox } from '../src/sandbox/index.ts'
import { startAnvil } from '../test/support/anvil.ts'
import { seedChain } from './chain.ts'
import { fewerFrames, framesOf, type Piece } from './recorded-screen.ts'
import { recordingSvg } from './recording-svg.ts'

/*
 * Records docs/export.svg: the command, as built, in a terminal of 80 columns, exports a chain of a
 * real node that answers a limited number of calls a second, and verifies the export.
 *
 *     npm run docs:recording     # needs `script`, of util-linux or the system
 */

const BLOCKS = 1_500
const CALLS_PER_SECOND = 200
const COLUMNS = 80
const COMMANDS = [`hexline export --from 0 --to ${BLOCKS - 1} --out chain --tables blocks,transactions`, 'hexline verify chain']
const TITLE = `A terminal: hexline export fetches ${BLOCKS.toLocaleString('en-US')} blocks from a node that answers ${CALLS_PER_SECOND} calls a second, with a progress bar; hexline verify then proves them.`
/** Before the first command, and after each. */
const PAUSE_MS = 1000

const file = fileURLToPath(new URL('../docs/export.svg', import.meta.url))
const bin = fileURLToPath(new URL('../dist/src/cli/bin.js', import.meta.url))

/** What a command writes to a terminal of its own. */
async function runInTerminal(command: string, cwd: string, url: string, startMs: number): Promise<Piece[]> {
  const pieces: Piece[] = []
  const env = { ...process.env, HEXLINE_RPC_URL: url, PATH: `${cwd}:${process.env.PATH}` }
  const child = spawn('script', ['-qefc', `stty cols ${COLUMNS} rows 40; ${command}`, '/dev/null'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const started = performance.now()
  child.stdout.setEncoding('utf8').on('data', (text: string) => pieces.push({ ms: startMs + performance.now() - started, text }))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command}: exit code ${code}\n${pieces.map(({ text }) => text).join('')}`)
  return pieces
}

const anvil = await startAnvil({ chainId: 1, pruneHistory: true, timestamp: Math.floor(Date.now() / 1000) - 12 * BLOCKS })
const cwd = await mkdtemp(join(tmpdir(), 'hexline-record-'))
try {
  await writeFile(join(cwd, 'hexline'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`, { mode: 0o755 })
  await seedChain(anvil.url, { blocks: BLOCKS - 1, blobs: 0 })
  const sandbox = await startSandbox({ upstream: anvil.url, callsPerSecond: CALLS_PER_SECOND })
  try {
    const pieces: Piece[] = [{ ms: 0, text: '$ ' }]
    for (const command of COMMANDS) {
      const ms = (pieces.at(-1)?.ms ?? 0) + PAUSE_MS
      pieces.push({ ms, text: `${command}\r\n` }, ...(await runInTerminal(command, cwd, sandbox.nodeUrl(), ms)))
      pieces.push({ ms: pieces.at(-1)?.ms ?? 0, text: '\r\n$ ' })
    }
    const svg = recordingSvg(fewerFrames(framesOf(pieces, COLUMNS), 90), { columns: COLUMNS, title: TITLE })
    await writeFile(file, svg)
    console.log(`docs/export.svg: ${svg.length.toLocaleString('en-US')} bytes`)
  } finally {
    await sandbox.stop()
  }
} finally {
  await anvil.stop()
  await rm(cwd, { recursive: true, force: true })
}
