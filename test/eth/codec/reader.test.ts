import { execFileSync } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/eth/codec/byte-reader.ts'
import { createCopier, createReader, createStrictReader } from '../../../src/eth/codec/reader.ts'
import { type Decode, pick } from '../../../src/eth/codec/schema.ts'
import { methods } from '../../../src/eth/methods.ts'
import { type Block, blockDecoder, decodeLogs, decodeReceipts } from '../../../src/eth/objects.ts'
import { compact } from '../../../src/json/scan.ts'
import { hasCorpus, readBlocks, readPairs } from '../../support/corpus.ts'
import { runs } from '../../support/runs.ts'

const bytesOf = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value), 'utf8')

/** A value with the order of its keys, or the error. */
function outcome(read: () => unknown): string {
  try {
    return JSON.stringify(read(), (_, value) => (typeof value === 'bigint' ? `${value}n` : value)) ?? 'undefined'
  } catch (error) {
    // The messages of JSON.parse differ between versions of Node.js.
    return error instanceof SyntaxError ? 'SyntaxError' : `${(error as Error).name}: ${(error as Error).message}`
  }
}

const theLongWay = (decode: Decode<unknown>, bytes: Buffer) => outcome(() => decode(JSON.parse(bytes.toString('utf8'))))

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((data) => `0x${Buffer.from(data).toString('hex')}`)
const quantity = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 20n }).map((value) => `0x${value.toString(16)}`),
  fc.bigInt({ min: 0n, max: 2n ** 64n + 9n }).map((value) => `0x${value.toString(16)}`),
  fc.bigInt({ min: 0n, max: 2n ** 256n + 9n }).map((value) => `0x${value.toString(16).toUpperCase()}`),
  fc.constantFrom('0x', '0x0', '0x00', '0x0000000000000000000000001', '1', '-0x1', '0xg', '', '0x1fffffffffffff', '0x20000000000000', null, 7, 1.5, true),
)
const odd = fc.oneof(quantity, fc.string(), fc.jsonValue({ maxDepth: 3 }))
const field = (usual: fc.Arbitrary<unknown>) => fc.oneof({ arbitrary: usual, weight: 30 }, { arbitrary: odd, weight: 1 })

const transaction = fc.record(
  {
    hash: field(hex(32)),
    blockHash: field(hex(32)),
    blockNumber: field(quantity),
    from: field(hex(20)),
    to: fc.oneof(hex(20), fc.constant(null)),
    gas: field(quantity),
    value: field(quantity),
    input: field(fc.nat(300).chain(hex)),
    nonce: field(quantity),
    transactionIndex: field(quantity),
    type: field(fc.constantFrom('0x0', '0x2', '0x7e')),
    accessList: field(fc.array(fc.record({ address: hex(20), storageKeys: fc.array(hex(32), { maxLength: 3 }) }), { maxLength: 2 })),
    authorizationList: field(fc.array(fc.record({ address: hex(20), chainId: quantity, nonce: quantity, r: hex(32) }), { maxLength: 2 })),
    odd: fc.jsonValue({ maxDepth: 2 }),
    __proto__: fc.constant(1),
    constructor: fc.constant('0x1'),
    'a b': fc.constant(1),
    '7': fc.constant('0x7'),
  },
  { requiredKeys: ['hash'] },
)
const block = (transactions: fc.Arbitrary<unknown>) =>
  fc.record(
    {
      number: field(quantity),
      hash: field(hex(32)),
      parentHash: field(hex(32)),
      gasUsed: field(quantity),
      withdrawals: field(fc.array(fc.record({ index: quantity, amount: quantity, address: hex(20) }), { maxLength: 3 })),
      transactions: field(fc.array(transactions, { maxLength: 6 })),
      logsBloom: field(hex(256)),
      uncles: field(fc.array(hex(32), { maxLength: 2 })),
    },
    { requiredKeys: ['number', 'transactions', 'hash'] },
  )

/** One change of the bytes: a byte inserted, removed or replaced. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  takes: fc.constantFrom(0, 1),
  puts: fc.constantFrom('', '"', ',', ':', '{', '}', '[', ']', '\\', ' ', '\n', '\u0001', 'x', '0', 'é', 'null', '"a":1,', '\\u0041'),
})

function changed(bytes: Buffer, { at, takes, puts }: { at: number; takes: number; puts: string }): Buffer {
  const place = Math.floor(at * bytes.length)
  return Buffer.concat([bytes.subarray(0, place), Buffer.from(puts), bytes.subarray(place + takes)])
}

const full = blockDecoder(true)
const hashes = blockDecoder(false)
const some = pick(full, ['number', 'hash', 'withdrawals.amount', 'transactions.hash', 'transactions.value', 'transactions.to'])

describe('reading from bytes returns what JSON.parse and the decoder return', () => {
  it.each<[string, Decode<unknown>, fc.Arbitrary<unknown>]>([
    ['blocks with transactions', full, block(transaction)],
    ['blocks with hashes', hashes, block(field(hex(32)))],
    ['blocks with some fields selected', some, block(transaction)],
    ['anything', (value) => value, fc.jsonValue({ maxDepth: 6 })],
  ])('for %s, with any contents', (_, decode, values) => {
    // One reader for all: what it has learnt from one must not affect the next.
    const read = createReader(decode)
    fc.assert(
      fc.property(values, fc.constantFrom(0, 0, 0, 1), fc.option(change), (value, space, odds) => {
        const whole = Buffer.from(JSON.stringify(value, undefined, space))
        const bytes = odds === null ? whole : changed(whole, odds)
        expect(outcome(() => read(bytes))).toEqual(theLongWay(decode, bytes))
      }),
      runs(200, 11),
    )
  })

  it('for repeated values, and for those that only begin or end like the last one', () => {
    const again = fc.constantFrom<unknown>(
      '0x1',
      '0x11',
      '0x111',
      '0x0',
      '0x',
      '',
      '0x1234567890abcdef11',
      '0xab1',
      `0x${'1'.repeat(66)}`,
      null,
      1,
      [],
      'x"',
      'é',
    )
    const record = fc.record(
      { hash: again, value: again, nonce: again, input: again, chainId: again, other: again },
      { requiredKeys: ['hash', 'value', 'nonce'] },
    )
    const read = createReader<unknown>(full)
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (transactions) => {
        const bytes = bytesOf({ number: '0x1', hash: '0x2', transactions })
        expect(outcome(() => read(bytes))).toBe(theLongWay(full, bytes))
      }),
      runs(200, 5),
    )
  })

  it('for the same bytes in one block after another, without traces of the last one', () => {
    const reader = new ByteReader(full)
    for (let i = 0; i < 300; i++) {
      const hash = `0x${i.toString(16).padStart(64, '0')}`
      const transactions = Array.from({ length: 5 }, (_, at) => ({ hash: `0x${at}`, blockHash: hash, blockNumber: `0x${i.toString(16)}`, from: '0xff' }))
      const block = reader.read(bytesOf({ number: '0x1', hash, transactions }))
      expect(block.transactions.map((each) => [each.blockHash, each.blockNumber])).toEqual(Array.from({ length: 5 }, () => [hash, BigInt(i)]))
    }
  })

  it.each([
    '{"number":"0x1","hash":"0x2","transactions":[]',
    '{"number":"0x1","hash":"0x2","transactions":[]}}',
    '{"number":"0x1","hash":"0x2","transactions":[],}',
    '{"number":"0x1","hash":"0x2","transactions":[],"number":"0x2"}',
    '{"number":"0x1","hash":"a\u0001b","transactions":[]}',
    `{"number":"0x1","hash":"${'x'.repeat(200)}\n","transactions":[]}`,
    '{"number":"0x1","hash":"\ud83d\ude00","transactions":[]}',
    '{"number":"0x1","hash":"a\\"b","transactions":["]"]}',
    '{"number":"0x1","hash":"0x2","transactions":["a","]"]}',
    '{"number":"0x1","hash":"0x2","transactions":["a",1]}',
    '{"number":"0x1","hash":"0x2","transactions":["a"],"x":[01]}',
    '{"number":"0x1","hash":"0x2","transactions":["a"],"x":[-0,1e3,1.25,true,false,null,{}]}',
    `{"number":"0x1","hash":"0x2","transactions":[],"x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    '{"number":"0x1","hash":"0x2"',
    '{"number":"0x',
    '{"number":"0x1',
    '{"number":',
    '{"',
    '{',
    '',
    'null',
    '[]',
    '"x"',
    '17',
  ])('for %s', (json) => {
    const bytes = bytesOf(json)
    for (const decode of [full, hashes, some] as Decode<unknown>[]) expect(outcome(() => createReader(decode)(bytes))).toBe(theLongWay(decode, bytes))
  })

  it.each([
    ...[...'123456789'].map((digits) => `"0x${'f'.repeat(Number(digits))}"`),
    ...Array.from({ length: 60 }, (_, i) => `"0x${'f'.repeat(i + 10)}"`),
    ...['"0x"', '"0X1"', '"0x0"', '"0x01"', '"0xFf"', '"0xg"', '"0x1g"', '"0x20000000000000"', '"0x001fffffffffffff"', '"x1"', '""', '"1"', '"-0x1"', '" 0x1"'],
    ...['0', '1', '-0', '1.5', '9007199254740993', 'null', 'true', '[]', '{}', '"0x1', '0x1', ''],
  ])('for the quantity %s, of any kind of field', (json) => {
    for (const name of ['gas', 'nonce', 'type', 'value', 'chainId', 'blockNumber', 'accessList', 'input', 'other']) {
      const bytes = bytesOf(`{"number":"0x1","hash":"0x2","transactions":[{"hash":"0x3","${name}":${json}}]}`)
      expect([name, outcome(() => createReader(full)(bytes))]).toEqual([name, theLongWay(full, bytes)])
    }
  })

  it('at any position in memory', () => {
    const json = '{"number":"0x1f","hash":"0x2","transactions":[]}'
    for (let offset = 0; offset < 9; offset++) {
      const bytes = Buffer.concat([Buffer.alloc(offset), bytesOf(json), Buffer.alloc(3)]).subarray(offset, offset + json.length)
      expect(new ByteReader(hashes).read(bytes).number).toBe(0x1fn)
    }
  })

  it('also with more different objects than it remembers', () => {
    const read = createReader<unknown>((value) => value)
    for (let i = 0; i < 6000; i++) {
      const value = { [`a${i}`]: i, [`b${i}`]: [{ [`c${i}`]: '0x1' }] }
      expect(read(bytesOf(value))).toEqual(value)
    }
  })

  it('an object of thousands of keys is not remembered, since memory would be quadratic', () => {
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`k${i}`, i]))
    expect(() => new ByteReader((value) => value).read(bytesOf(many))).toThrow('unusual')
    expect(createReader((value) => value)(bytesOf(many))).toEqual(many)
  })

  it('and keeps no long part of what it has read', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const reader = new ByteReader<unknown>((value) => value)
    const heap = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = heap()
    const fields = (i: number) => Array.from({ length: 60 }, (_, at) => [`k${i}x${at}`, 'x'.repeat(100_000)])
    for (let i = 0; i < 15; i++) reader.read(bytesOf(Object.fromEntries(fields(i))))
    expect(heap() - before).toBeLessThan(20e6)
  })

  it('if the runtime forbids code from strings', () => {
    const script = `
      const { createReader } = await import('./dist/src/eth/codec/reader.js')
      const { blockDecoder } = await import('./dist/src/eth/objects.js')
      const read = createReader(blockDecoder(true))
      const block = read(Buffer.from('{"number":"0x1","hash":"0x2","transactions":[{"hash":"0x3","gas":"0x5208"}]}'))
      console.log(block.number, block.transactions[0].gas, Object.keys(block).join())`
    const args = ['--disallow-code-generation-from-strings', '--input-type=module', '-e', script]
    expect(execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()).toBe('1n 21000n number,hash,transactions')
  })
})

describe('an array of strings is what JSON.parse gives', () => {
  const read = createReader<unknown>(hashes)
  const copy = createCopier<unknown>(hashes)
  const blockOf = (array: Buffer) => Buffer.concat([bytesOf('{"number":"0x1","hash":"0x2","transactions":'), array, bytesOf('}')])

  it('for any byte in it, put in or in place of another', () => {
    const array = bytesOf('["0xab","","0xcd\\n"]')
    const plain = bytesOf('["0xab","","0xcd"]')
    for (const right of [plain, array]) {
      for (let at = 0; at < right.length; at++) {
        for (let byte = 0; byte < 256; byte++) {
          for (const behind of [at, at + 1]) {
            const bytes = blockOf(Buffer.concat([right.subarray(0, at), Buffer.of(byte), right.subarray(behind)]))
            expect([at, byte, outcome(() => read(bytes))]).toEqual([at, byte, theLongWay(hashes, bytes)])
          }
        }
      }
    }
  })

  it('for escapes, white space and text beyond ASCII, which may make up for each other in length', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\\n', '\\u0041', '\\ud83d\\ude00', '\\"', 'é', '😀', ']', '[', ',', '\u007f'), maxLength: 4 })
    const space = fc.constantFrom('', '', '', ' ', '\n', '      ')
    const item = fc.tuple(space, text, space).map(([before, inner, after]) => `${before}"${inner}"${after}`)
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), space, (items, inside) => {
        const bytes = blockOf(bytesOf(`[${inside}${items.join()}]`))
        expect(outcome(() => read(bytes))).toBe(theLongWay(hashes, bytes))
        // A copy is one line, without white space outside strings.
        expect(outcome(() => copy(bytes).json.toString())).toBe(outcome(() => compact(copy(bytes) && bytes).toString()))
      }),
      runs(300, 17),
    )
  })
})

describe('plain bytes', () => {
  it('have no control character in a string, at any position', () => {
    const strings = pick(full, ['number', 'hash'])
    for (const length of [1, 2, 3, 4, 5, 30, 66, 127, 128, 129, 131, 200, 600]) {
      for (const byte of [0, 1, 9, 10, 31, 32, 33, 127]) {
        for (const at of new Set([0, 1, length >> 1, length - 2, length - 1])) {
          const text = 'x'.repeat(Math.max(0, at)) + String.fromCharCode(byte) + 'x'.repeat(length)
          for (const json of [
            `{"number":"0x1","hash":"${text}","transactions":[]}`,
            `{"number":"0x1","hash":"0x2","transactions":["${text}"],"other":"${text}"}`,
          ]) {
            const bytes = bytesOf(json)
            for (const decode of [hashes, strings] as Decode<unknown>[]) expect(outcome(() => createReader(decode)(bytes))).toBe(theLongWay(decode, bytes))
          }
        }
      }
    }
  })
})

describe.runIf(hasCorpus)('what real nodes send', () => {
  it('is read in one go, and is the same', () => {
    const readers = { full: new ByteReader(full), hashes: new ByteReader(hashes), receipts: new ByteReader(decodeReceipts) }
    for (const { name, block, receipts } of readBlocks()) {
      const withHashes = { ...block, transactions: block.transactions.map((each) => (each as { hash: string }).hash) }
      for (const [read, decode, value] of [
        [readers.full, full, block],
        [readers.hashes, hashes, withHashes],
        [readers.receipts, decodeReceipts, receipts ?? []],
      ] as const) {
        const bytes = bytesOf(value)
        expect([name, outcome(() => read.read(bytes))]).toEqual([name, theLongWay(decode as Decode<unknown>, bytes)])
      }
    }
  })

  it('is the same for every recorded result', () => {
    for (const { name, method, request, response } of readPairs()) {
      if (response.result === undefined || !(method in methods)) continue
      const params = request.params ?? []
      const decode: Decode<unknown> =
        method === 'eth_getLogs' ? decodeLogs : (value) => methods[method as keyof typeof methods].result(value as never, params as never)
      const bytes = bytesOf(response.result)
      expect([name, outcome(() => createReader(decode)(bytes))]).toEqual([name, theLongWay(decode, bytes)])
    }
  })
})

describe('fields that are not selected', () => {
  it('are not decoded, so that invalid values do no harm', () => {
    const json = '{"number":"0x1","hash":"0x2","gasUsed":"what","transactions":[{"hash":"0x3","gas":"none","value":"0x5"}]}'
    const decode = pick(full, ['number', 'transactions.value'])
    const picked = { number: 1n, transactions: [{ value: 5n }] }
    expect(new ByteReader(decode).read(bytesOf(json))).toEqual(picked)
    expect(decode(JSON.parse(json)) satisfies Block).toEqual(picked)
  })

  it('must still be JSON', () => {
    expect(() => createReader(pick(full, ['number']))(bytesOf('{"number":"0x1","hash":nothing,"transactions":[]}'))).toThrow(SyntaxError)
  })

  it('are refused if no field has the name', () => {
    expect(() => pick(full, ['number', 'gasUsd'])).toThrow(expect.objectContaining({ path: 'gasUsd' }))
    expect(() => pick(full, ['transactions.hsah'])).toThrow(expect.objectContaining({ path: 'transactions.hsah' }))
    expect(() => pick(full, ['number.hash'])).toThrow(expect.objectContaining({ path: 'number.hash' }))
  })
})

describe('a strict reader', () => {
  it('refuses a name twice, also after it has learnt both orders', () => {
    const decode: Decode<unknown> = Object.assign((value: unknown) => value, {
      schema: { is: 'object', name: 'thing', identity: [], names: [], decoders: new Map() },
    } as const)
    const [strict, plain] = [createStrictReader(decode), createReader(decode)]
    for (const json of ['{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1,"c":2}']) expect(strict(bytesOf(json))).toEqual(JSON.parse(json))
    for (const json of ['{"a":1,"b":2,"a":3}', '{"a":1,"a":1}', '{"b":2,"a":1,"b":3}', '{"a":1,"c":{"d":1,"d":2}}']) {
      for (let time = 0; time < 2; time++) {
        expect(() => strict(bytesOf(json))).toThrow(/^the name "[abd]" twice in one object$/)
        expect(plain(bytesOf(json))).toEqual(JSON.parse(json))
      }
    }
  })
})
