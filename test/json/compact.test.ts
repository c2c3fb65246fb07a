import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compact } from '../../src/json/compact.ts'
import { runs } from '../support/runs.ts'

const bytesOf = (text: string) => Buffer.from(text, 'utf8')
const textOf = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('utf8')

/** JSON text of any value, with white space where JSON allows it. */
const jsonText = fc
  .jsonValue({ maxDepth: 5, noUnicodeString: false } as never)
  .chain((value) => fc.constantFrom(0, 1, 2, '\t', '\n ').map((space) => JSON.stringify(value, undefined, space)))

describe('a value without white space', () => {
  it('removes white space, and nothing else', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const small = textOf(compact(bytesOf(json)))
        expect(small).toBe(JSON.stringify(JSON.parse(json)))
      }),
      runs(500, 7),
    )
    expect(textOf(compact(bytesOf('{ "a b" : [ 1.50 , 1E+2,\r\n"\\u0041 \\" ]" ] }')))).toBe('{"a b":[1.50,1E+2,"\\u0041 \\" ]"]}')
  })

  it('copies nothing when there is no white space', () => {
    const bytes = bytesOf('{"a":[1,"c"]}')
    expect(compact(bytes) === bytes).toBe(true)
  })

  it.each(['[1], "a": [2]', '{ "a": 1 } , "b": {}', '{ } {}', '[ ] 1', '{"a":1} }'])(
    'refuses to remove white space from %j, which is more than one value',
    (json) => {
      expect(() => compact(bytesOf(json))).toThrow(SyntaxError)
    },
  )
})
