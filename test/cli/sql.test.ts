import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { appendFile, chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { shellCommand } from '../../src/cli/sql.ts'
import { readCheckedManifest } from '../../src/dataset/folder/check-manifest.ts'
import { ManifestFile } from '../../src/dataset/folder/manifest.ts'
import { hexline, hexlineOnTerminal, inShell, spawnHexline, startHexline } from '../support/command.ts'
import { datasetBlock, hashOf, startDatasetChain } from '../support/dataset-chain.ts'
import { nightly } from '../support/runs.ts'

const HEAD = 30
const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string
let dir: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-sql-'))
  dir = join(folder, "it's a dataset")
  const server = await startDatasetChain({ head: HEAD })
  const client = createClient(server.url)
  await exportDataset(client, { from: 1, to: HEAD, dir, tables: ['blocks', 'transactions', 'logs'], blocksPerFile: 10 })
  await client.close()
  await server.close()
})
afterAll(() => rm(folder, { recursive: true }))

const run = (query: string, ...flags: string[]) => hexline(['sql', dir, query, ...flags])

/** Every file of a folder with its digest. */
async function digests(of: string): Promise<string[]> {
  const entries = await readdir(of, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(
    files.sort().map(
      async (file) =>
        `${file} ${createHash('sha256')
          .update(await readFile(file))
          .digest('hex')}`,
    ),
  )
}

const firstBlocks = 'select number, hash, timestamp from blocks order by number limit 2'

describe('hexline sql', () => {
  it('prints a table with bytes as hex, and says how many rows there are', async () => {
    const { code, stdout, stderr } = await run(firstBlocks)
    expect(stdout.split('\n')).toEqual([
      `number  hash${' '.repeat(62)}  timestamp`,
      `     1  ${hashOf(1)}  2023-11-14 22:13:32+00`,
      `     2  ${hashOf(2)}  2023-11-14 22:13:44+00`,
      '',
    ])
    expect([code, stderr.replace(/[\d.]+ s/, '… s')]).toEqual([0, '2 rows in … s\n'])
  })

  it('prints lines of JSON', async () => {
    const { stdout, stderr } = await run(firstBlocks, '--json')
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { number: '1', hash: hashOf(1), timestamp: '2023-11-14 22:13:32+00' },
      { number: '2', hash: hashOf(2), timestamp: '2023-11-14 22:13:44+00' },
    ])
    expect(JSON.parse(stderr)).toMatchObject({ type: 'done', rows: 2, isCut: false })
  })

  it('prints CSV', async () => {
    const { stdout, stderr } = await run(firstBlocks, '--csv', '--quiet')
    expect(stdout).toBe(`number,hash,timestamp\n1,${hashOf(1)},2023-11-14 22:13:32+00\n2,${hashOf(2)},2023-11-14 22:13:44+00\n`)
    expect(stderr).toBe('')
  })

  it('has all rows in CSV and JSON, and says that a table has not', async () => {
    const query = 'select range from range(2500)'
    const table = await run(query)
    expect(table.stdout.split('\n')).toHaveLength(1 + 1000 + 1)
    expect(table.stderr).toBe('the first 1,000 rows; --json and --csv print all\n')
    expect((await run(query, '--csv')).stdout.split('\n')).toHaveLength(1 + 2500 + 1)
    expect((await run(query, '--json')).stdout.split('\n')).toHaveLength(2500 + 1)
  })

  it('warns of a hash or an address as text, which no row has', async () => {
    const hash = hashOf(3).slice(2)
    const { stdout, stderr } = await run(`select count(*) as n from blocks where hash = '0x${hash}'`, '--csv')
    expect(stdout).toBe('n\n0\n')
    expect(stderr).toContain(`is text, which never equals a hash or address in bytes: to compare with one, write unhex('${hash}')\n`)
    const right = await run(`select count(*) as n from blocks where hash = unhex('${hash}')`, '--csv')
    expect([right.stdout, right.stderr.split('\n')]).toEqual(['n\n1\n', [expect.stringMatching(/^1 row in /), '']])
    for (const query of [`select 1 -- '0x${hash}'`, `select 1 /* it's\n'0x${hash}' */`, `select 1 as "'0x${hash}'"`])
      expect((await run(query, '--csv')).stderr).not.toContain('warning')
  })

  it('warns of a folder that has no blocks yet, as a merge that was cut off leaves it', async () => {
    const empty = join(folder, 'empty')
    await cp(dir, empty, { recursive: true })
    await new ManifestFile(empty, { ...(await readCheckedManifest(dir)), ranges: [] }).write()
    const { stdout, stderr } = await hexline(['sql', empty, 'select count(*) as n from blocks', '--csv'])
    expect(stdout).toBe('n\n0\n')
    expect(stderr).toMatch(/^hexline: warning: .*empty has no blocks yet: an export or merge into it is running, or has to be run again\n/)
  })

  it('joins tables, and knows what the node sent', async () => {
    const { stdout } = await run(
      'select b.number, count(t.hash) as n from blocks b left join transactions t on t."blockNumber" = b.number group by 1 order by 1',
      '--csv',
    )
    const counts = Array.from({ length: HEAD }, (_, i) => `${i + 1},${datasetBlock(i + 1).transactions.length}\n`)
    expect(stdout).toBe(`number,n\n${counts.join('')}`)
  })

  it('reads the query from standard input', async () => {
    await writeFile(join(folder, 'query.sql'), '-- a comment\nselect max(number) as last\nfrom blocks;\n')
    expect(await inShell(`$hexline sql "${dir}" - --csv --quiet < '${folder}/query.sql'`)).toEqual({ code: 0, stdout: `last\n${HEAD}\n`, stderr: '' })
  })

  it('fits a terminal', async () => {
    const { stdout } = await hexlineOnTerminal(['sql', dir, 'select hash, "parentHash", "stateRoot" from blocks order by number limit 2'])
    const lines = stdout.trimEnd().split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines[1]).toMatch(/^0xbbbbbb\w*…\w+ {2}0x\w+…\w+ {2}0x\w+…\w+$/)
    expect((await hexlineOnTerminal(['sql', dir, 'select * from blocks limit 1'])).stdout).toMatch(/^row 1\nnumber +\d+\nhash +0x/)
  })

  it('leaves the folder as it is, also when it is the working directory', async () => {
    const before = await digests(dir)
    for (const query of [
      ...nightly(firstBlocks, 'select nothing', 'create table blocks2 as from blocks'),
      `copy blocks to 'copied.csv'`,
      `copy (select 1) to '${join(dir, 'blocks/000000001-000000009.parquet').replaceAll("'", "''")}'`,
      `export database 'exported'`,
    ])
      await spawnHexline(['sql', '.', query], { cwd: dir })
    expect(await digests(dir)).toEqual(before)
    expect((await readdir(dir)).sort()).toEqual(['blocks', 'logs', 'manifest.json', 'transactions'])
  })

  it('ends at Ctrl-C', async () => {
    const query = 'select count(*) from range(100000000000) a, range(100000000000) b where a.range % 7 = b.range % 3'
    const child = startHexline(['sql', dir, query])
    await expect.poll(() => readFileSync(`/proc/${child.pid}/maps`, 'utf8')).toContain('duckdb.node')
    child.kill('SIGINT')
    expect(await child.ended).toEqual({ code: 130, stdout: '', stderr: 'hexline: ended by Ctrl-C\n' })
  })

  it('ends quietly when its reader has enough', async () => {
    expect(await inShell(`$hexline sql "${dir}" 'select range from range(1000000)' --csv | head -1`)).toEqual({
      code: 0,
      stdout: 'range\n',
      stderr: '',
    })
  })
})

describe('hexline sql refuses', () => {
  it.each<[string, string[], number, string]>([
    ['a table that the dataset does not have', ['select * from receipts'], 1, 'there is no table receipts: DIR has blocks, transactions, logs'],
    ['a missing table', ['select * from block'], 1, 'there is no table block: DIR has blocks, transactions, logs'],
    [
      'arithmetic with the bytes of a number',
      ['select sum(value) from transactions'],
      1,
      'there is no sum(BLOB): value is stored as bytes; to calculate with it, write "valueDecimal"',
    ],
    ['what is no SQL', ['selec 1'], 1, 'Parser Error: syntax error at or near "selec"'],
    [
      'other files',
      [`select * from read_csv('/etc/passwd')`],
      1,
      'Permission Error: Cannot access file "/etc/passwd" - file system operations are disabled by configuration',
    ],
    ['two queries', ['select 1; select 2'], 2, '<query>: expected one query, received 2'],
    ['other statements', ["set memory_limit = '1GB'"], 2, '<query>: expected a query that only reads, received a statement of type SET'],
    ['two formats', ['select 1', '--json', '--csv'], 2, "option '--csv' cannot be used with option '--json'"],
  ])('%s', async (_, args, code, message) => {
    const { stderr, ...ended } = await hexline(['sql', dir, ...args])
    expect(ended).toEqual({ code, stdout: '' })
    expect(stderr).toContain(message.replace('DIR', dir))
  })

  it('what is not a folder, and a folder that is not a dataset', async () => {
    const file = join(dir, 'manifest.json')
    const nowhere = join(folder, 'nowhere')
    expect((await hexline(['sql', nowhere, 'x'])).stderr).toBe(`hexline: <folder>: expected a folder, received "${nowhere}", which does not exist\n`)
    expect((await hexline(['sql', file, 'x'])).stderr).toBe(`hexline: <folder>: expected a folder, received "${file}", which is a file\n`)
    expect(await hexline(['sql', folder, 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'hexline: <folder>: expected a folder that hexline export wrote, received one without manifest.json\n',
    })
  })

  it('a folder with parts of shards, which are to be merged first', async () => {
    const shards = await mkdtemp(join(tmpdir(), 'hexline-shards-'))
    onTestFinished(() => rm(shards, { recursive: true }))
    await mkdir(join(shards, 'parts', 'dataset'), { recursive: true })
    await writeFile(join(shards, 'parts', 'dataset', 'manifest.json'), '{}')
    const stderr = `hexline: ${shards} has parts of shards that are not merged: run \`hexline merge ${shards}\` first\n`
    expect(await hexline(['sql', shards, 'select 1'])).toEqual({ code: 1, stdout: '', stderr })
  })

  it('a dataset with a damaged manifest, a missing file or one of another size', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'hexline-damaged-'))
    onTestFinished(() => rm(copy, { recursive: true }))
    await cp(dir, copy, { recursive: true })
    const [name = ''] = await readdir(join(copy, 'logs'))
    await appendFile(join(copy, 'logs', name), 'x')
    expect((await hexline(['sql', copy, 'select 1'])).stderr).toMatch(/logs\/\d+-\d+\.parquet has \d+ bytes, not \d+: the dataset is damaged/)
    await rm(join(copy, 'logs', name))
    expect((await hexline(['sql', copy, 'select 1'])).stderr).toMatch(/logs\/\d+-\d+\.parquet is missing: the dataset is damaged/)
    await appendFile(join(copy, 'manifest.json'), ' ')
    expect(await hexline(['sql', copy, 'select 1'])).toMatchObject({ code: 1, stderr: expect.stringContaining('manifest.json is damaged') })
  })
})

describe('without @duckdb/node-api', () => {
  /**
   * The command, built, with all packages beside it but DuckDB's; and a duckdb program that is its
   * engine.
   */
  async function install(): Promise<{ readonly bin: string; readonly cwd: string; readonly path: string }> {
    const place = await mkdtemp(join(tmpdir(), 'hexline-alone-'))
    onTestFinished(() => rm(place, { recursive: true }))
    await cp(join(root, 'dist'), join(place, 'dist'), { recursive: true, filter: (path) => !/\.(map|d\.ts)$|\/cjs$/.test(path) })
    await cp(join(root, 'package.json'), join(place, 'package.json'))
    await mkdir(join(place, 'node_modules'))
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@duckdb') await symlink(join(root, 'node_modules', name), join(place, 'node_modules', name))
    await mkdir(join(place, 'bin'))
    const program = join(place, 'bin/duckdb')
    const engine = JSON.stringify(join(root, 'node_modules/@duckdb/node-api/lib/index.js'))
    await writeFile(
      program,
      `#!${process.execPath}
import { readFileSync } from 'node:fs'
import { DuckDBInstance } from ${engine}
const connection = await (await DuckDBInstance.create()).connect()
const reader = await connection.runAndReadAll(readFileSync(0, 'utf8'))
console.log(JSON.stringify([process.argv.slice(2), reader.getRowObjectsJson()]))
`,
    )
    await chmod(program, 0o755)
    return { bin: join(place, 'dist/src/cli/bin.js'), cwd: place, path: `${join(place, 'bin')}:${process.env.PATH}` }
  }

  it('prints a command that runs the same query', async () => {
    const { bin, cwd, path } = await install()
    const query = `select number, 'a ''quote'', $HOME and \`date\`' as text from blocks order by number limit 1;`
    await writeFile(join(cwd, 'query.sql'), query)
    const { code, stdout, stderr } = await inShell(`cd ${cwd} && ${process.execPath} ${bin} sql "${dir}" --csv - < query.sql`)
    expect(code).toBe(1)
    expect(stderr).toBe(
      'hexline: @duckdb/node-api is not installed (npm install @duckdb/node-api); the command on standard output runs the same query with the duckdb program\n',
    )
    await writeFile(join(cwd, 'command.sh'), stdout)
    const asked = await inShell(`PATH="${path}" sh ${cwd}/command.sh`)
    expect(asked).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(asked.stdout)).toEqual([['-bail', '-csv'], [{ number: '1', text: "a 'quote', $HOME and `date`" }]])
  })

  it('no line of a query ends the heredoc of that command', () => {
    expect(shellCommand(['SET a = 1'], 'select 1 -- b\nSQL\nSQL_', {})).toBe("duckdb -bail <<'SQL__'\nSET a = 1\n;\nselect 1 -- b\nSQL\nSQL_\n;\nSQL__\n")
    expect(shellCommand([], 'select 1;', { json: true })).toBe("duckdb -bail -jsonlines <<'SQL'\nselect 1\n;\nSQL\n")
  })
})
