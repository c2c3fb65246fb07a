import fc from 'fast-check'
import { createClient } from 'hexline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeBlocks, makeReceipts } from '../../../bench/made-blocks.ts'
import { decodersOf } from '../../../src/bulk/blocks/fields.ts'
import { blockLines } from '../../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../../src/bulk/get-blocks.ts'
import { createCopier } from '../../../src/eth/codec/reader.ts'
import { hexOf, startChain } from '../../support/chain-server.ts'
import { runs } from '../../support/runs.ts'

/**
 * A few transactions of blocks as nodes send them, some with duplicates of the names that link
 * them.
 */
const samples = makeBlocks().map((block) => ({ ...block, transactions: block.transactions.slice(0, 3) }))
const blocks = fc.nat(samples.length - 1).map((i) => samples[i] as (typeof samples)[number])

const broken = fc.constantFrom('tru', '0x12', '[1,2}', '{"a":1,}', '[1,]', '"\0"', '"\u001b"', '"\\x"', '01', '1.', '-', '1e', '"a\nb"', 'NaN', '')
const unusual = fc.constantFrom('"\\ud800"', '"\\u0041\\""', '"é\u2028"', '1.50', '-0', '1E+2', 'null', ' [ 1 , { } ]', '{"number":"0x1"}')
const linking = fc.constantFrom(
  ...[
    'number',
    '"0x2"',
    'hash',
    '"0x3"',
    'hash',
    'null',
    'parentHash',
    '7',
    'number',
    '7',
    'number',
    '"seven"',
    'transactions',
    '[]',
    '\\u0068ash',
    '"0x4"',
  ].flatMap((name, i, all) => (i % 2 === 0 ? [`"${name}":${all[i + 1]}`] : [])),
)

/** The JSON of a block with a change: another value, a duplicate name, or other bytes. */
const replies = fc
  .tuple(
    blocks,
    fc.constantFrom(0, 0, 0, 1, '\t'),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.oneof(
          broken,
          unusual,
          linking.map((field) => `"x",${field}`),
        ),
      ),
      { maxLength: 1 },
    ),
    fc.array(
      fc.tuple(
        fc.nat(999).map((n) => n / 1000),
        fc.constantFrom(0, 1),
        fc.constantFrom('', '"', ',', '}', '[', '\\', '\0', ' ', '0', 'x'),
      ),
      {
        maxLength: 1,
      },
    ),
  )
  .map(([block, space, values, bytes]) => {
    let json = JSON.stringify(block, undefined, space)
    for (const [nth, value] of values) {
      const places = [...json.matchAll(/(?<=: ?)("0x\w*"|false|null)/g)]
      const { index, 0: old } = places[nth % places.length] as RegExpExecArray
      json = json.slice(0, index) + value + json.slice(index + old.length)
    }
    for (const [at, takes, puts] of bytes) json = json.slice(0, Math.floor(at * json.length)) + puts + json.slice(Math.floor(at * json.length) + takes)
    return json
  })

/** The tokens of JSON, as they were sent. */
const tokensOf = (json: string) => json.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g)?.join('')

const orUndefined = <T>(make: () => T): T | undefined => {
  try {
    return make()
  } catch {
    return undefined
  }
}

describe('the line of a block', () => {
  it('exists only if JSON.parse accepts the reply and getBlocks its links, and keeps every token', () => {
    const decode = decodersOf(['number'], { full: true, receipts: false }).block
    const copy = createCopier(decode)
    let lines = 0
    let refused = 0
    fc.assert(
      fc.property(replies, (json) => {
        const right = orUndefined(() => ({ value: decode(JSON.parse(json)), json: tokensOf(json) }))
        const line = orUndefined(() => copy(Buffer.from(json)))
        expect([json, line && { ...line, json: String(line.json) }]).toEqual([json, right])
        if (line === undefined) refused++
        else lines++
      }),
      runs(1000, 2),
    )
    expect(lines).toBeGreaterThan(250)
    expect(refused).toBeGreaterThan(250)
  })

  it('is valid UTF-8, whatever the node sent', () => {
    const copy = createCopier<unknown>((value) => value)
    const bytes = Buffer.from('{"a":"x","b":["y"]}')
    for (const odd of [8, 15]) {
      const reply = Buffer.from(bytes)
      reply[odd - 2] = 0xff
      const line = orUndefined(() => copy(reply))
      expect(line === undefined || JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line.json))).toEqual(line?.value ?? true)
    }
    expect(String(copy(Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')])).json)).toBe('{"a":"\ufffd"}')
  })
})

describe('lines of a chain', () => {
  const [made] = makeBlocks()
  const hashOf = (number: number) => `0x${number.toString(16).padStart(64, 'b')}`
  const transactions = made?.transactions.slice(0, 4).map((each, i) => ({ ...each, hash: hashOf(1e6 + i) })) ?? []
  let url = ''
  let close = async () => {}
  let spoil: (json: string, times: number) => string = (json) => json
  let asked = 0

  beforeAll(async () => {
    const server = await startChain({
      head: 3,
      answer: ({ method, params }) => {
        const number = Number(params[0])
        const block = { ...made, number: hexOf(number), hash: hashOf(number), parentHash: hashOf(number - 1), transactions }
        if (method === 'eth_getBlockByNumber' && params[0] !== 'latest') return { result: block }
        if (method === 'eth_getBlockReceipts') return { result: makeReceipts({ ...block, hash: hashOf(number), transactions }) }
        return undefined
      },
      body: (json) => spoil(json, asked++),
    })
    ;({ url, close } = server)
  })
  afterAll(() => close())

  const write = async (options: object) => {
    await using client = createClient(url, { retry: { baseDelayMs: 1, maxDelayMs: 2 } })
    asked = 0
    let text = ''
    for await (const pieces of blockLines(client, checkBlockOptions({ from: 2, to: 3, transactions: 'full', ...options }))) text += Buffer.concat(pieces)
    return text
  }

  const faults: [string, (json: string) => string][] = [
    ['an invalid token', (json) => json.replace('"removed":false', '"removed":fals').replace('"uncles":[]', '"uncles":tru')],
    ['a hex number without quotes', (json) => json.replace(/"gasUsed":"(\w+)"/, '"gasUsed":$1')],
    ['another bracket', (json) => json.replace('"uncles":[]', '"uncles":[1,2}').replace('"topics":[', '"topics":[}')],
    ['an extra comma', (json) => json.replace('"uncles":[]', '"uncles":[],').replace('"logs":[', '"logs":[,')],
    ['a control character', (json) => json.replace('"gas":"0x', '"gas":"\u001b0x').replace('"data":"0x', '"data":"\u001b0x')],
    ['an invalid escape', (json) => json.replace('"gas":"0x', '"gas":"\\x0x').replace('"data":"0x', '"data":"\\x0x')],
  ]

  describe.each([false, true])('with receipts: %s', (receipts) => {
    it.each(faults)('%s: requested again, and then refused', async (_, fault) => {
      spoil = (json) => json
      const right = await write({ receipts })
      const lines = right.trimEnd().split('\n')
      expect(lines.map((line) => JSON.parse(line).number)).toEqual(['0x2', '0x3'])
      // The end of the range is requested first.
      const isOfBlocks = (json: string) => json.includes('"transactionHash"') || json.includes('"transactions"')
      let left = 2
      spoil = (json) => (isOfBlocks(json) && left-- > 0 ? fault(json) : json)
      expect(await write({ receipts })).toBe(right)
      spoil = (json) => (isOfBlocks(json) ? fault(json) : json)
      await expect(write({ receipts })).rejects.toMatchObject({ kind: 'malformed', message: 'block 2: received invalid JSON 6 times' })
    })
  })

  it.each([
    ['number', '"0x63"', 'requested block 2, but received block 99'],
    ['hash', 'null', 'block 2 has no hash'],
    ['h\\u0061sh', '7', 'block 2 has no hash'],
  ])('a second %s counts, as it does in JSON.parse', async (name, value, message) => {
    spoil = (json) => json.replace('"transactions":', `"${name}":${value},"transactions":`)
    await expect(write({})).rejects.toMatchObject({ name: 'IntegrityError', message: expect.stringContaining(message) })
  })

  it('receipts of other transactions are refused, also after the right ones under the same name', async () => {
    spoil = (json) => json.replace('"contractAddress":null', `"transactionHash":"${hashOf(7)}","contractAddress":null`)
    await expect(write({ receipts: true })).rejects.toMatchObject({ name: 'IntegrityError', message: 'block 2: receipt 0 is not of transaction 0' })
  })
})
