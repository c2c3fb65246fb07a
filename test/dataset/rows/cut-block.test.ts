import fc from 'fast-check'
import { CodecError } from 'hexline'
import { describe, expect, it } from 'vitest'
import { makeBlocks, makeReceipts, type RawBlock } from '../../../bench/made-blocks.ts'
import { wantedForLines } from '../../../src/dataset/ndjson/ndjson-files.ts'
import { blockCutter } from '../../../src/dataset/rows/cut-block.ts'
import { tableNames } from '../../../src/dataset/tables.ts'
import { runs } from '../../support/runs.ts'

const [first] = makeBlocks()
const made = { ...first, transactions: first?.transactions.slice(0, 3) } as RawBlock as RawBlock &
  Record<'number' | 'hash' | 'parentHash' | 'timestamp', string>
const right = JSON.stringify(made)
const receipts = JSON.stringify(makeReceipts(made))

const wanted = Object.fromEntries(tableNames.map((table) => [table, wantedForLines(table, tableNames)]))
const reader = () => blockCutter(wanted, { full: true, receipts: true })

/** The rows of the tables of a block, as JSON. */
function cut(block: string, ofReceipts = receipts, { block: readBlock, receipts: readReceipts, item } = reader()) {
  const read = readBlock(Buffer.from(block))
  const { tables, ...facts } = item(read, readReceipts(Buffer.from(ofReceipts)))
  const rows = Object.fromEntries(
    Object.entries(tables).map(([table, part]) => [
      table,
      Array.from({ length: part.rows.count }, (_, row) => part.bytes.toString('utf8', part.rows.start(row), part.rows.end(row))),
    ]),
  )
  return { linked: read.linked, facts, rows }
}

describe('a block', () => {
  it('is cut into its rows, with what links them', () => {
    const { linked, facts, rows } = cut(right)
    expect(linked).toEqual({
      number: BigInt(made.number),
      hash: made.hash,
      parentHash: made.parentHash,
      transactions: made.transactions.map(({ hash }) => hash),
    })
    expect(facts).toEqual({
      number: Number(made.number),
      hash: made.hash,
      parentHash: made.parentHash,
      timestamp: made.timestamp,
      transactionCount: 3,
    })
    expect(rows.transactions).toEqual(made.transactions.map((each) => JSON.stringify(each)))
    expect(rows.withdrawals).toEqual((made.withdrawals as object[]).map((each) => JSON.stringify(each)))
    expect(rows.blocks).toEqual([right])
    expect(rows.receipts).toEqual((JSON.parse(receipts) as object[]).map((each) => JSON.stringify(each)))
    expect(rows.logs).toEqual((JSON.parse(receipts) as { logs: object[] }[]).flatMap(({ logs }) => logs.map((each) => JSON.stringify(each))))
  })

  it('has a timestamp that is a JSON number in hex, as its rows repeat it', () => {
    const timestampOf = (json: string) => cut(right.replace(`"timestamp":"${made.timestamp}"`, `"timestamp":${json}`)).facts.timestamp
    expect([timestampOf(String(Number(made.timestamp))), timestampOf('0'), timestampOf('1.5'), timestampOf('null')]).toEqual([
      made.timestamp,
      '0x0',
      undefined,
      undefined,
    ])
  })

  it('is the same with white space, and after other blocks', () => {
    const once = reader()
    const spaced = (json: string) => JSON.stringify(JSON.parse(json), undefined, 1)
    cut(spaced(right), receipts, once)
    cut(right.replace('"withdrawals":[', '"withdrawals":[],"x":['), '[]', once)
    expect(cut(spaced(right), spaced(receipts), once)).toEqual(cut(right))
  })

  it('stays as it is while the blocks after it are cut', () => {
    const once = reader()
    const rowsOf = ({ tables }: ReturnType<typeof once.item>) =>
      Object.entries(tables).map(([table, { bytes, rows }]) => [
        table,
        Array.from({ length: rows.count }, (_, row) => bytes.toString('utf8', rows.start(row), rows.end(row))),
      ])
    const withTransactions = (count: number) => {
      const block = { ...made, transactions: made.transactions.slice(0, count) }
      return [Buffer.from(JSON.stringify(block)), Buffer.from(JSON.stringify(makeReceipts(block)))] as const
    }
    const counts = [1, 3, 0, 2, 3, 1]
    // More are ahead at one time than at another, as where blocks are verified meanwhile.
    const ahead: [ReturnType<typeof once.block>, ReturnType<typeof once.receipts>][] = []
    const takeAhead = (count: number) => {
      const [block, receipts] = withTransactions(count)
      ahead.push([once.block(block), once.receipts(receipts)])
    }
    for (const count of counts) takeAhead(count)
    for (const count of [...counts, ...counts]) {
      const [block, receipts] = ahead.shift() as (typeof ahead)[0]
      const item = once.item(block, receipts)
      takeAhead(count)
      const alone = reader()
      const [blockJson, receiptsJson] = withTransactions(count)
      expect(rowsOf(item)).toEqual(rowsOf(alone.item(alone.block(blockJson), alone.receipts(receiptsJson))))
      expect(item.transactionCount).toBe(count)
    }
  })

  it('with escapes and other characters keeps them', () => {
    const odd = right.replace('"input":"', '"not\\u0065":"\\"\u00e9 [","input":"')
    expect(cut(odd).rows.transactions?.[0]).toContain('"not\\u0065":"\\"\u00e9 ["')
  })

  it.each([
    ['a field', '"gasUsed":', '"gasUsed":"0x1",', '', 'gasUsed'],
    ['a field, once with an escape', '"gasUsed":', '"gas\\u0055sed":"0x1",', '', 'gasUsed'],
    ['a list', '"transactions":', '"transactions":[{"hash":"0x1"}],', '', 'transactions'],
    ['a field further in', '"list":[', '{"a":[1,2]},{"address":"0x1","address":"0x2"},', 'transactions[0].list[1]: ', 'address'],
  ])('with a name twice in an object is refused, by its path: %s', (_, before, puts, path, name) => {
    const whole = right.replace('"input":', '"list":[{"address":"0x1"}],"input":')
    const [at, other] = before.endsWith('[') ? [`${before}${puts}`, ''] : [puts, before]
    expect(() => cut(whole)).not.toThrow()
    expect(() => cut(whole.replace(before, `${at}${other}`))).toThrow(
      new RegExp(`^${path.replace(/[[\]]/g, '\\$&')}expected each name once, received "${name}" twice$`),
    )
  })

  it('with a name twice below an odd name is refused by the path up to there', () => {
    for (const [odd, path] of [
      [`{"${'a'.repeat(1000)}":{"b":1,"b":2}}`, 'transactions[0].list: '],
      [`${'['.repeat(30)}{"b":1,"b":2}${']'.repeat(30)}`, `transactions[0].list${'[0]'.repeat(5)}: `],
    ] as const)
      expect(() => cut(right.replace('"input":', `"list":${odd},"input":`))).toThrow(
        expect.objectContaining({ message: `${path}expected each name once, received "b" twice` }),
      )
  })

  it('with a name twice in a receipt or a log is refused', () => {
    for (const [from, to, path] of [
      ['"logs":[', '"logs":[{"a":"0x1"}],"logs":[', /^\[\d+\]: expected each/],
      ['"data":', '"data":"0x1","data":', /^\[\d+\]\.logs\[\d+\]: expected each/],
    ] as const) {
      expect(receipts).toContain(from)
      expect(() => cut(right, receipts.replace(from, to))).toThrow(path)
    }
  })
})

describe('an invalid block', () => {
  it('is refused where JSON.parse refuses it, as a SyntaxError', () => {
    fc.assert(
      fc.property(fc.nat(999), fc.constantFrom('', '"', ',', '}', '[', '\\', '\0', '0', 'x'), fc.boolean(), (at, puts, isOfReceipts) => {
        const json = isOfReceipts ? receipts : right
        const i = Math.floor((at * json.length) / 1000)
        const wrong = json.slice(0, i) + puts + json.slice(i + 1)
        let isJson = true
        try {
          JSON.parse(wrong)
        } catch {
          isJson = false
        }
        const read = () => (isOfReceipts ? cut(right, wrong) : cut(wrong))
        if (!isJson) expect(read).toThrow(SyntaxError)
      }),
      runs(500),
    )
  })

  it.each<[string, string, string]>([
    ['null', 'null', 'expected an array, received undefined'],
    ['a block without transactions', '{"number":"0x1","hash":"0x1"}', 'transactions: expected an array'],
    ['a transaction that is a hash', right.replace('"transactions":[', '"transactions":["0x12",'), 'transactions[0]: expected a transaction'],
    ['transactions that are not a list', right.replace(/"transactions":\[.*\],"withdrawals"/, '"transactions":7,"withdrawals"'), 'expected'],
    ['a hash of another length', right.replace(`"hash":"${made.hash}"`, '"hash":"0x12"'), 'hash: expected a hash of 32 bytes'],
    ['a parent that is null', right.replace(`"parentHash":"${made.parentHash}"`, '"parentHash":null'), 'parentHash: expected a hash of 32 bytes'],
    ['a parent that is absent', right.replace(`"parentHash":"${made.parentHash}",`, ''), 'parentHash: expected a hash of 32 bytes'],
    ['a number that cannot be read', right.replace(`"number":"${made.number}"`, '"number":"seven"'), 'number: expected'],
    ['withdrawals that are not a list', right.replace('"withdrawals":[', '"withdrawals":7,"x":['), 'expected lists of objects'],
  ])('%s is refused as a CodecError', (_, json, message) => {
    let error: unknown
    try {
      cut(json)
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(CodecError)
    expect((error as Error).message).toContain(message)
  })

  it.each(['{}', 'null', '[7]', '["0x1"]', '[{"logs":{}}]'])('receipts that are %s are refused as a CodecError', (json) => {
    expect(() => cut(right, json)).toThrow(CodecError)
  })
})
