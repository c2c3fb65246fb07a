import { expect, test } from 'vitest'
import { lineForTerminal, toJson } from '../../../src/cli/output/json.ts'

test('a bigint becomes a string, and a control character an escape', () => {
  const value = { amount: 2n ** 70n, list: [1n], text: 'a\u001b[2J\u202eb\u0085' }
  expect(toJson(value)).toBe('{"amount":"1180591620717411303424","list":["1"],"text":"a\\u001b[2J\\u202eb\\u0085"}')
  expect(JSON.parse(toJson(value))).toEqual({ amount: `${2n ** 70n}`, list: ['1'], text: value.text })
})

test("a line of a server's JSON is the same JSON on one line", () => {
  const sent = '{\r\n\t"a" :"\u009b\u202e","b":1.0}'
  const line = Buffer.from(lineForTerminal([Buffer.from(sent.slice(0, 12)), Buffer.from(sent.slice(12)), Buffer.from('\n\n')])).toString()
  expect(line).toBe('{   "a" :"\\u009b\\u202e","b":1.0}\n')
  expect(JSON.parse(line)).toEqual(JSON.parse(sent))
})
