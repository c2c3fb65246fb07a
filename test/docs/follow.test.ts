import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { nightly } from '../support/runs.ts'
import { serve } from '../support/server.ts'

const root = new URL('../../', import.meta.url)

it('docs/follow.md shows the programs of examples/follow unchanged; they are type-checked', () => {
  const page = readFileSync(new URL('docs/follow.md', root), 'utf8')
  const shown = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string)
  const folder = new URL('examples/follow/', root)
  expect(shown.toSorted()).toEqual(
    readdirSync(folder)
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .toSorted(),
  )
})

it.each(nightly('a reorganisation and a kill'))('its database has each log of the chain once, after %s', async () => {
  const chain = new ForkingChain(60)
  const server = await serve(chain.node())
  const folder = mkdtempSync(join(tmpdir(), 'hexline-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const program = fileURLToPath(new URL('examples/follow/store.ts', root))
  const start = () =>
    spawn(process.execPath, ['--import', import.meta.resolve('tsx'), program], {
      cwd: folder,
      env: { ...process.env, HEXLINE_RPC_URL: server.url },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const kill = async (child: ChildProcess) => {
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await ended
  }
  const looks = () => server.requests.filter(({ entries }) => entries[0]?.params[0] === 'latest').length
  for (let run = 0; run < 2; run++) {
    const child = start()
    const before = looks()
    // Looks again and again when it has stored everything; the first run is killed before that.
    await eventually(() => {
      if (child.exitCode !== null) throw new Error('it has ended by itself')
      if (looks() - before < (run < 1 ? 1 : 3)) throw new Error('it has not caught up')
    })
    await kill(child)
    if (run < 1) chain.reorganise(9, 20)
  }
  const instance = await DuckDBInstance.create(join(folder, 'logs.duckdb'))
  const rows = (await (await instance.connect()).runAndReadAll('SELECT block, log FROM logs ORDER BY block, log')).getRows()
  instance.closeSync()
  const expected = chain.blocks.flatMap(({ hash, logs }) => Array.from({ length: logs }, (_, i): [string, number] => [hash, i]))
  expect(rows).toEqual(expected.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j)))
})
