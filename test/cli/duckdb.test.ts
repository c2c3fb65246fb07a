import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as duckDb from '@duckdb/node-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Answer, ask, loadDuckDb } from '../../src/cli/duckdb.ts'

const never = new AbortController().signal

/** All rows of an answer. */
async function rowsOf(query: string, setup: readonly string[] = [], signal = never) {
  const found: unknown[][] = []
  let columns: Answer['columns'] = []
  await ask(duckDb, setup, query, signal, async (answer) => {
    columns = answer.columns
    for await (const some of answer.rows) found.push(...some.map((row) => [...row]))
  })
  return { columns, rows: found }
}

describe('the values of an answer', () => {
  it.each([
    ["blob '\\xAB\\x00'", '0xab00'],
    ["''::blob", '0x'],
    ["[blob '\\xAB', null]", ['0xab', null]],
    ["{a: blob '\\xAB'}", { a: '0xab' }],
    ['99999999999999999999999999999999999999::decimal(38,0)', '99999999999999999999999999999999999999'],
    ['-1.05::decimal(5,2)', '-1.05'],
    ['9007199254740993', '9007199254740993'],
    ['170141183460469231731687303715884105727::hugeint', '170141183460469231731687303715884105727'],
    ['2147483647', 2147483647],
    ['true', true],
    ['1.5::double', 1.5],
    ["timestamptz '2024-07-01 01:02:03.000004+05'", '2024-06-30 20:02:03.000004+00'],
    ["timestamptz 'infinity'", 'infinity'],
    ["date '2024-02-29'", '2024-02-29'],
    ['null', null],
  ])('%s is %j', async (sql, value) => {
    // As on a machine in New York, which the module looks up when it is loaded.
    const { timezoneOffsetInMinutes } = duckDb.DuckDBTimestampTZValue
    duckDb.DuckDBTimestampTZValue.timezoneOffsetInMinutes = -300
    onTestFinished(() => {
      duckDb.DuckDBTimestampTZValue.timezoneOffsetInMinutes = timezoneOffsetInMinutes
    })
    expect((await rowsOf(`select ${sql}`, ["SET TimeZone = 'America/New_York'"])).rows).toEqual([[value]])
  })

  it('have names that differ, and columns of numbers are known', async () => {
    const { columns } = await rowsOf("select 1 as a, 'x' as a, 1.5 as b, blob 'x' as c, 1::hugeint as d")
    expect(columns.map(({ isNumber }) => isNumber)).toEqual([true, false, true, false, true])
    expect(new Set(columns.map(({ name }) => name)).size).toBe(5)
  })

  it('are all there or none: a failure after many rows is one', async () => {
    let rows = 0
    const late = "select case when range = 500000 then ('x' || range)::int else 1 end from range(1000000)"
    const asked = ask(duckDb, [], late, never, async (answer) => {
      for await (const some of answer.rows) rows += some.length
    })
    await expect(asked).rejects.toThrow(new Error("Conversion Error: Could not convert string 'x500000' to INT32"))
    expect(rows).toBe(0)
  })

  it('come in parts', async () => {
    let parts = 0
    await ask(duckDb, [], 'select range from range(10000)', never, async ({ rows }) => {
      for await (const _ of rows) parts++
    })
    expect(parts).toBeGreaterThan(2)
  })
})

describe('a query', () => {
  it.each(['select 1', 'select 1;', '-- one\nselect 1 -- two', 'with a as (select 1) from a', 'values (1)', 'from range(1)', 'describe select 1'])(
    'may be %j',
    async (query) => {
      expect((await rowsOf(query)).rows).toHaveLength(1)
    },
  )

  it.each([
    ['', 'expected one query, received none'],
    ['-- nothing', 'expected one query, received none'],
    ['select 1; select 2', 'expected one query, received 2'],
    ["copy (select 1) to 'FILE'", 'expected a query that only reads, received a statement of type COPY'],
    ["explain analyze copy (select 1) to 'FILE'", 'a statement of type EXPLAIN'],
    ["attach 'FILE'", 'a statement of type ATTACH'],
    ['create table a as select 1', 'a statement of type CREATE'],
    ["set memory_limit = '1GB'", 'a statement of type SET'],
    ['install httpfs', 'a statement of type LOAD'],
  ])('may not be %j', async (query, message) => {
    const folder = await mkdtemp(join(tmpdir(), 'hexline-ask-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await expect(rowsOf(query.replace('FILE', join(folder, 'file')))).rejects.toMatchObject({ message: expect.stringContaining(message), kind: 'invalid' })
    expect(await readdir(folder)).toEqual([])
  })

  it.each([
    ['selec 1', 'Parser Error: syntax error at or near "selec"'],
    ['select 1\n\nfrom range(3)\nwhre range > 1', 'Parser Error: syntax error at or near "range" (line 4 of the query)'],
    ['select a from (select 1 as b)', 'Binder Error: Referenced column "a" not found in FROM clause! Candidate bindings: "b"'],
    ["select 'x'::int", "Conversion Error: Could not convert string 'x' to INT32"],
  ])("of %j fails with DuckDB's message in one line", async (query, message) => {
    await expect(rowsOf(query)).rejects.toThrow(new Error(message))
  })
})

describe('an abort', () => {
  const endless = 'select count(*) from range(100000000000) a, range(100000000000) b where a.range % 7 = b.range % 3'

  it.each([0, 1, 2, 3, 5, 8, 13, 21, 34, 55])('ends a query that would take years, %i turns after its start', async (turns) => {
    const stop = new AbortController()
    const asked = rowsOf(endless, [], stop.signal)
    const after = async () => {
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
      stop.abort('enough')
    }
    await expect(Promise.all([asked, after()])).rejects.toBe('enough')
  })
})

describe('an abort that DuckDB has not noticed', () => {
  it('is repeated: an interrupt before the work has begun is forgotten', async () => {
    const stop = new AbortController()
    const { signal } = stop
    let looks = 0
    // The second look is the last thing before the query is handed over.
    const look = signal.throwIfAborted.bind(signal)
    signal.throwIfAborted = () => {
      look()
      if (++looks === 2) stop.abort('enough')
    }
    await expect(rowsOf('select sum(range) from range(3000000000)', [], signal)).rejects.toBe('enough')
  })
})

describe('loadDuckDb', () => {
  /** A folder with this code as its DuckDB. */
  async function installed(code?: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'hexline-duckdb-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const place = join(folder, 'node_modules/@duckdb/node-api')
    if (code !== undefined) {
      await mkdir(place, { recursive: true })
      await writeFile(join(place, 'index.js'), code)
    }
    return join(folder, 'package.json')
  }

  it('is undefined where it is not installed', async () => {
    expect(await loadDuckDb([await installed()])).toBeUndefined()
  })

  it('takes the first place that has it', async () => {
    const second = await installed('exports.which = 2')
    expect(await loadDuckDb([await installed(), second, await installed('exports.which = 3')])).toMatchObject({ which: 2 })
  })

  it('says why it cannot be loaded', async () => {
    const broken = await installed("throw new Error('no binary for this platform')")
    await expect(loadDuckDb([broken])).rejects.toThrow('@duckdb/node-api cannot be loaded: no binary for this platform')
  })
})
