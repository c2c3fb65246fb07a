import { describe, expect, it } from 'vitest'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import { copiedLogs } from '../../../src/bulk/logs/log-lines.ts'

const word = `0x${'1'.repeat(64)}`
const log = JSON.stringify({
  address: `0x${'a'.repeat(40)}`,
  topics: [word],
  data: '0x',
  blockHash: word,
  blockNumber: '0x1',
  transactionHash: word,
  transactionIndex: '0x0',
  logIndex: '0x0',
  removed: false,
})
const receipt = (more: string) => `{"transactionHash":"${word}","blockHash":"${word}"${more}}`
const readers = [
  ['decoded', () => decodedLogs()],
  ['as bytes', () => copiedLogs()],
] as const

describe.each(readers)('logs of receipts, %s', (_, reader) => {
  const count = (text: string) => {
    const { linked, items } = reader().receipts(Buffer.from(text))
    expect(items.every((item) => item !== undefined && item !== null)).toBe(true)
    return [linked.length, items.length]
  }

  it.each([
    ['a receipt with one', `[${receipt(`,"logs":[${log}]`)}]`, 1, 1],
    ['white space', `[ ${receipt(`, "logs" : [ ${log} , ${log} ]`)} , ${receipt(',"logs":[]')} ]`, 2, 2],
    ['null for none', `[${receipt(',"logs":null')},${receipt(`,"logs":[${log}]`)}]`, 2, 1],
    ['no field', `[${receipt('')}]`, 1, 0],
    ['a field that comes twice', `[${receipt(`,"logs":[${log}],"logs":[${log}]`)}]`, 1, 1],
    ['no receipts', '[]', 0, 0],
  ])('are read: %s', (_name, text, receipts, logs) => {
    expect(count(text)).toEqual([receipts, logs])
  })

  it.each(['', '[', 'null', '{}', '[null]', `[${receipt(',"logs":{}')}]`, `[${receipt(',"logs":[null]')}]`, `[${receipt('')}] x`])(
    'are refused of %s',
    (text) => {
      expect(() => reader().receipts(Buffer.from(text))).toThrow(/./)
    },
  )
})
