import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scanLogs } from '../../../src/bulk/logs/scan-logs.ts'
import { runs } from '../../support/runs.ts'

interface WireLog {
  readonly blockNumber: string
  readonly [key: string]: unknown
}

const hash = (digit: string) => `0x${digit.repeat(64)}`

function logOf(block: number, { topics = 1, data = 0, isRemovedFirst = false } = {}): WireLog {
  const removed = { removed: false }
  return {
    ...(isRemovedFirst && removed),
    address: `0x${'a'.repeat(40)}`,
    topics: Array.from({ length: topics }, () => hash('e')),
    data: `0x${'0b'.repeat(data)}`,
    blockNumber: `0x${block.toString(16)}`,
    transactionHash: hash('7'),
    transactionIndex: '0x1',
    blockHash: hash('b'),
    logIndex: '0x10',
    ...(!isRemovedFirst && removed),
  }
}

const bytesOf = (logs: readonly object[]) => Buffer.from(JSON.stringify(logs))
const shape = fc.record({ topics: fc.nat({ max: 4 }), data: fc.nat({ max: 80 }), isRemovedFirst: fc.boolean() })

describe('a scan of logs', () => {
  it('counts them, and cuts between blocks into JSON of all of them', () => {
    const runsOfBlocks = fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 700 }), shape), { maxLength: 8 })
    fc.assert(
      fc.property(runsOfBlocks, (blocks) => {
        let block = 0
        const logs = blocks.flatMap(([gap, count, like]) => {
          block += gap
          return Array.from({ length: count }, () => logOf(block, like))
        })
        const bytes = bytesOf(logs)
        const { count, cuts } = scanLogs(bytes) ?? { count: -1, cuts: [] }
        expect(count).toBe(logs.length)
        const pieces = [...cuts, undefined].map((end, i) => {
          const start = cuts[i - 1]
          const text = bytes.toString('latin1', start === undefined ? 1 : start.at + 1, end === undefined ? bytes.length - 1 : end.at)
          const piece = JSON.parse(`[${text}]`) as WireLog[]
          expect(piece).toHaveLength((end?.count ?? count) - (start?.count ?? 0))
          if (start !== undefined) expect(Number(piece[0]?.blockNumber)).toBe(start.block)
          if (end !== undefined) expect(Number(piece.at(-1)?.blockNumber)).toBeLessThan(end.block)
          return piece
        })
        expect(pieces.flat()).toEqual(logs)
      }),
      runs(50),
    )
  })

  it('finds two logs in the place of one that was as long, wherever the number of the block stands', () => {
    for (const isFirst of [false, true]) {
      const log = (data: number) => {
        const { blockNumber, ...rest } = logOf(7, { topics: 0, data })
        return isFirst ? { blockNumber, ...rest } : { ...rest, blockNumber }
      }
      const least = JSON.stringify(log(0)).length
      // With odd sizes, the long one and the comma after it are as long as two short ones.
      const logs = [log(0), log((least + 1) / 2), log(0), log(0), log((least + 1) / 2), log(0), log(0)]
      const sizes = logs.map((each) => JSON.stringify(each).length)
      expect(sizes[1]).toBe(least * 2 + 1)
      expect(scanLogs(bytesOf(logs))?.count).toBe(logs.length)
    }
  })

  it('cuts after some hundred logs, and not within a block', () => {
    const many = Array.from({ length: 5000 }, (_, i) => logOf(1 + Math.floor(i / 3)))
    const { cuts } = scanLogs(bytesOf(many)) ?? { cuts: [] }
    expect(cuts.length).toBeGreaterThanOrEqual(8)
    expect(scanLogs(bytesOf(many.map(() => logOf(7))))).toEqual({ count: 5000, cuts: [] })
  })

  it.each<[string, Buffer]>([
    ['logs that are not in the order of their blocks', bytesOf([logOf(2), logOf(1)])],
    ['a number that is not a quantity', bytesOf([{ ...logOf(2), blockNumber: '0xz' }])],
    [
      'white space between some of them',
      Buffer.from(
        bytesOf([logOf(1), logOf(2), logOf(3)])
          .toString()
          .replace(/},{(?=[^}]*}]$)/, '}, {'),
      ),
    ],
    ['a number that is cut off', Buffer.from('[{"blockNumber":"0x12')],
  ])('gives nothing for %s', (_, bytes) => {
    expect(scanLogs(bytes)).toBeUndefined()
  })

  it('finds no log in another form of JSON, which is decoded to see', () => {
    expect(scanLogs(Buffer.from(JSON.stringify([logOf(1)], undefined, 1)))).toEqual({ count: 0, cuts: [] })
    expect(scanLogs(Buffer.from('[]'))).toEqual({ count: 0, cuts: [] })
  })
})
