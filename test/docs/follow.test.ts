import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { query } from '../support/duckdb.ts'
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

it.each(nightly('reorganisations and kills between its transactions'))('its database has each log of the chain once, after %s', async () => {
  // More than the program stores in the second of its first transaction.
  const chain = new ForkingChain(20_000)
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
  const until = (child: ChildProcess, isSo: () => boolean) =>
    eventually(() => {
      if (child.exitCode !== null) throw new Error('it has ended by itself')
      if (!isSo()) throw new Error('not yet')
    })
  /** What DuckDB has committed since it was opened. */
  const committed = () => statSync(join(folder, 'logs.duckdb.wal'), { throwIfNoEntry: false })?.size ?? 0
  const rowsOf = (sql: string) => query(sql, join(folder, 'logs.duckdb'))
  /** Looks at the head since the newest block was requested. */
  const looksAtHead = () => {
    const asked = server.requests.flatMap(({ entries }) => entries.map(({ params }) => params[0]))
    const newest = asked.lastIndexOf(`0x${chain.head.toString(16)}`)
    return newest < 0 ? 0 : asked.slice(newest).filter((block) => block === 'latest').length
  }

  // Killed with the first blocks in the database, of which 100 are then replaced.
  const first = start()
  await until(first, () => committed() > 20_000)
  await kill(first)
  const [saved] = await rowsOf('SELECT cursor FROM place')
  const { number } = JSON.parse(String(saved?.cursor)) as { number: number }
  expect(number).toBeLessThan(20_000)
  chain.reorganise(20_000 - number + 100)

  // Others are replaced while it runs.
  const second = start()
  const before = committed()
  await until(second, () => committed() > before + 20_000)
  chain.reorganise(250)
  // Looks again and again when it has stored everything.
  await until(second, () => looksAtHead() >= 4)
  await kill(second)
  const rows = await rowsOf('SELECT block, log FROM logs ORDER BY block, log')
  const expected = chain.blocks.flatMap(({ hash, logs }) => Array.from({ length: logs }, (_, i) => ({ block: hash, log: i })))
  expect(rows).toEqual(expected.sort((a, b) => (a.block < b.block ? -1 : a.block > b.block ? 1 : a.log - b.log)))
})
