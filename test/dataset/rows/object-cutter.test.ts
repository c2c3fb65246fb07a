import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainText, type Text } from '../../../src/dataset/rows/cut-rows.ts'
import { ObjectCutter } from '../../../src/dataset/rows/object-cutter.ts'
import { repeatedName } from '../../../src/json/repeated-name.ts'
import { viewOf } from '../../../src/json/scan.ts'
import { runs } from '../../support/runs.ts'

const NAMES = ['hash', 'list', 'a']

const lenient = (bytes: Buffer): Text => ({ bytes, view: viewOf(bytes), isPlain: false })

/** Each row with its fields, and the other fields, as the cutter found them. */
function cut(json: string, text: (bytes: Buffer) => Text, cutter = new ObjectCutter(NAMES, { keepsOthers: true })): unknown {
  const bytes = Buffer.from(json)
  const { rows } = cutter
  rows.cutTo(0)
  if (cutter.cutArray(text(bytes), 0) !== bytes.length) throw new SyntaxError('something follows')
  return Array.from({ length: rows.count }, (_, row) => {
    const whole = bytes.toString('utf8', rows.start(row), rows.end(row))
    const known = NAMES.flatMap((name, i) => (rows.from(row, i) < 0 ? [] : [[name, bytes.toString('utf8', rows.from(row, i), rows.to(row, i))]]))
    const others: string[] = []
    for (let i = 0; i < rows.others.length; i += 3) if (rows.others[i] === row) others.push(bytes.toString('utf8', rows.others[i + 1], rows.others[i + 2]))
    return { whole, known: Object.fromEntries(known), others: JSON.parse(`{${others.join(',')}}`) }
  })
}

function expected(json: string): unknown {
  return (JSON.parse(json) as unknown[]).map((item) => {
    const fields = typeof item === 'object' && item !== null && !Array.isArray(item) ? Object.entries(item) : []
    const isKnown = ([name]: [string, unknown]) => NAMES.includes(name)
    return {
      whole: JSON.stringify(item),
      known: Object.fromEntries(fields.filter(isKnown).map(([name, value]) => [name, JSON.stringify(value)])),
      others: Object.fromEntries(fields.filter((field) => !isKnown(field))),
    }
  })
}

/** JavaScript puts keys that are numbers first. */
const withoutWhole = (rows: unknown) => (rows as { whole: string }[]).map(({ whole: _, ...rest }) => rest)

const name = fc.oneof(fc.constantFrom(...NAMES, 'nonce', 'value', 'b', ''), fc.string({ maxLength: 3 }))
const value = fc.oneof(fc.constantFrom('0x12', '0x', `0x${'ab'.repeat(40)}`, null, true, 12, [], ['0x1'], { a: [{}] }), fc.string())
const items = fc.array(fc.oneof({ weight: 9, arbitrary: fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true }) }, { weight: 1, arbitrary: value }), {
  maxLength: 5,
})

it('finds the fields of each row, as JSON.parse does, also with the keys in any order', () => {
  const cutter = new ObjectCutter(NAMES, { keepsOthers: true })
  fc.assert(
    fc.property(items, (list) => {
      const json = JSON.stringify(list)
      // A JSON that says `__proto__` makes no field in JavaScript.
      fc.pre(!json.includes('__proto__'))
      expect(cut(json, lenient, cutter)).toEqual(expected(json))
      const isPlain = /^[\x20-\x7e]*$/.test(json) && !json.includes('\\')
      if (isPlain) expect(cut(json, plainText, cutter)).toEqual(expected(json))
    }),
    runs(2000),
  )
})

it('refuses what JSON.parse refuses', () => {
  const json = '[{"hash":"0x12","x":[1,{"y":null}]},{"hash":"0x34","x":[2]}]'
  const bytes = fc.tuple(fc.nat(json.length), fc.constantFrom(0, 1), fc.constantFrom('', '"', ',', '}', ']', '{', '\\', '0', ':', 'x', '\n'))
  fc.assert(
    fc.property(bytes, ([at, takes, puts]) => {
      const wrong = json.slice(0, at) + puts + json.slice(at + takes)
      let isJson = true
      try {
        JSON.parse(wrong)
      } catch {
        isJson = false
      }
      if (!isJson) for (const text of [plainText, lenient]) expect(() => cut(wrong, text)).toThrow()
      // White space between tokens is removed before the second look.
      else if (/\s/.test(wrong)) expect(() => cut(wrong, plainText)).toThrow()
      else expect(withoutWhole(cut(wrong, lenient))).toEqual(withoutWhole(expected(wrong)))
    }),
    runs(2000),
  )
})

describe('a name twice in an object', () => {
  const many = Array.from({ length: 5000 }, (_, i) => `"key${i}":1`).join()
  const deep = (inner: string) => `${'['.repeat(40)}${inner}${']'.repeat(40)}`
  it.each([
    ['known', '{"a":"0x1","hash":"0x3","a":null}'],
    ['other', '{"x":"0x1","hash":"0x3","x":null}'],
    ['without a character', '{"":1,"a":2,"":3}'],
    ['among many', `{"x":1,${many},"x":2}`],
    ['further in', '{"x":[1,{"y":[{"z":1},{"z":1,"w":2,"z":1}]}]}'],
    ['far in', `{"x":${deep('{"z":1,"z":2}')}}`],
  ])('%s: is refused', (_, object) => {
    const once = '{"a":1,"x":[{"z":1,"w":2},{"w":1,"z":2}],"":1}'
    for (const text of [plainText, lenient])
      for (const cutter of [new ObjectCutter(NAMES, { keepsOthers: true }), new ObjectCutter([])]) {
        expect(cut(`[${once},${once}]`, text, cutter)).toHaveLength(2)
        expect(() => cut(`[${once},${object}]`, text, cutter)).toThrow(/^expected each name once, received ".*" twice$/)
      }
  })

  it('once with an escape: is refused', () => {
    expect(() => cut('[{"hash":"0x2","h\\u0061sh":"0x3"}]', lenient)).toThrow('received "hash" twice')
  })

  it('is refused exactly where there is one', () => {
    const names = fc.constantFrom('a', 'b', 'hash', 'nonce', '')
    const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom('1', '"0x1"'),
        tie('object'),
        fc.array(tie('value'), { maxLength: 3 }).map((list) => `[${list.join()}]`),
      ),
      object: fc.array(fc.tuple(names, tie('value')), { maxLength: 3 }).map((fields) => `{${fields.map(([name, value]) => `"${name}":${value}`).join()}}`),
    }))
    for (const cutter of [new ObjectCutter(NAMES, { keepsOthers: true }), new ObjectCutter([])])
      fc.assert(
        fc.property(fc.array(object, { maxLength: 3 }), (objects) => {
          const json = `[${objects.join()}]`
          const run = () => cut(json, plainText, cutter)
          if (repeatedName(Buffer.from(json)) === undefined) expect(run).not.toThrow()
          else expect(run).toThrow('expected each name once')
        }),
        runs(1000),
      )
  })
})

it('keeps no more keys than its bounds, however many there are', () => {
  const many = Array.from({ length: 5000 }, (_, i) => ({ [`key${i}`]: 1, a: '0x1' }))
  const json = JSON.stringify(many)
  expect(cut(json, plainText)).toEqual(expected(json))
})

it('notes the lists that are apart, with their keys', () => {
  const json = '[{"list":["0x1"],"a":"0x1"},{"list":null},{"a":"0x1","list":[]}]'
  const cutter = new ObjectCutter([], { apart: ['list'] })
  cutter.cutArray(plainText(Buffer.from(json)), 0)
  const { apart } = cutter.rows
  expect([json.slice(apart[1], apart[2]), json.slice(apart[4], apart[5])]).toEqual(['"list":["0x1"]', '"list":[]'])
  expect([apart[0], apart[3]]).toEqual([0, 2])
})
