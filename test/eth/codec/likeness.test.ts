import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newLikeness, skipItems } from '../../../src/eth/codec/likeness.ts'
import { skipValue, viewOf } from '../../../src/json/scan.ts'
import { runs } from '../../support/runs.ts'

/** The end of the array at the start of `bytes`, or that it has none. */
function endOf(bytes: Buffer, skip: (bytes: Buffer, view: DataView) => number): number | 'none' {
  try {
    const end = skip(bytes, viewOf(bytes))
    return end < 0 ? 'none' : end
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return 'none'
  }
}

/** The same for one array after another, as a reader passes over them. */
function reader() {
  const likeness = newLikeness()
  return { likeness, endOf: (bytes: Buffer) => endOf(bytes, (of, view) => skipItems(of, view, 0, likeness)) }
}

const plainEndOf = (bytes: Buffer) => endOf(bytes, (of, view) => skipValue(of, view, 0, true))

const hex = fc
  .tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65, 200), fc.integer({ min: 0, max: 15 }))
  .map(([size, digit]) => `0x${digit.toString(16).repeat(size)}`)
const text = fc.constantFrom('', '0', '0x', '0X1', 'latest', 'ABCDEF0123456789ABCDEF', '{"', ':', '\\', 'é', '[]', '0xABCDEF', '1234567890')
const value = fc.oneof(
  { weight: 8, arbitrary: hex },
  text,
  fc.constantFrom(null, true, 1, -0.5, [], {}),
  fc.array(fc.record({ a: hex, topics: fc.array(hex, { maxLength: 3 }) }), { maxLength: 2 }),
)
const object = fc.oneof(
  { weight: 4, arbitrary: fc.record({ hash: hex, nonce: hex, accessList: value, v: hex }) },
  { weight: 4, arbitrary: fc.record({ hash: hex, to: value, input: hex }) },
  fc.dictionary(fc.constantFrom('', 'a', 'hash', '0x', 'é', 'nonce'), value),
)
const arrays = fc.array(fc.array(fc.oneof({ weight: 9, arbitrary: object }, value), { maxLength: 12 }), { minLength: 1, maxLength: 4 })

describe('objects of an array that are alike', () => {
  it('end where skipValue finds their end', () => {
    fc.assert(
      fc.property(arrays, (values) => {
        const { endOf } = reader()
        for (const items of values) {
          const bytes = Buffer.from(`${JSON.stringify(items)},"behind":"0x00"}`)
          expect(endOf(bytes)).toBe(plainEndOf(bytes))
        }
      }),
      runs(1000, 11),
    )
  })

  it('are invalid JSON if a byte of one makes it invalid, whatever came before', () => {
    const items = Array.from({ length: 3 }, (_, i) => ({ hash: `0x${`${i}`.repeat(64)}`, gas: `0x${i}5208`, data: `0x${'ab'.repeat(30 + i)}`, type: `0x${i}` }))
    const right = Buffer.from(JSON.stringify(items))
    for (let at = 1; at < right.length; at++)
      for (const byte of [0x00, 0x1f, 0x20, 0x22, 0x2c, 0x30, 0x5c, 0x5d, 0x7d, 0x7f, 0x80, 0x99, 0xb0, 0xc3, 0xe2]) {
        const bytes = Buffer.from(right)
        bytes[at] = byte
        const { endOf } = reader()
        expect(endOf(right)).toBe(right.length)
        expect([at, byte, endOf(bytes)]).toEqual([at, byte, plainEndOf(bytes)])
      }
  })

  it('are invalid JSON if they are cut anywhere', () => {
    const right = Buffer.from(
      JSON.stringify([
        { hash: `0x${'1'.repeat(64)}`, gas: '0x1' },
        { hash: `0x${'2'.repeat(64)}`, gas: '0x2' },
      ]),
    )
    const { endOf } = reader()
    expect(endOf(right)).toBe(right.length)
    // In memory that continues after the cut, which must not be read.
    for (let size = 1; size < right.length; size++) expect(endOf(right.subarray(0, size))).toBe('none')
  })

  it('take one model for any values, and a few for a few kinds', () => {
    const { likeness, endOf } = reader()
    const all = (object: (i: number) => object) => Buffer.from(JSON.stringify(Array.from({ length: 200 }, (_, i) => object(i))))
    endOf(all((i) => ({ nonce: `0x${i.toString(16)}`, input: `0x${'ab'.repeat(i)}`, note: 'x'.repeat(i % 7) })))
    expect(likeness.models).toHaveLength(1)
    endOf(all((i) => (i % 2 === 0 ? { nonce: `0x${i}`, input: '0x', note: '' } : { nonce: '0x1', gasPrice: '0x2' })))
    expect(likeness.models).toHaveLength(2)
  })

  it('take no more memory and no more time if no two are alike', () => {
    const { likeness, endOf } = reader()
    const bytes = Buffer.from(JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ [`key${i}`]: '0x1' }))))
    expect(endOf(bytes)).toBe(bytes.length)
    expect(likeness.models.length).toBeLessThanOrEqual(8)
    expect(likeness.worth).toBe(0)
    const long = reader()
    expect(long.endOf(Buffer.from(JSON.stringify([{ list: new Array(5000).fill(1) }])))).toBe(10_000 + 12)
    expect(long.likeness.models).toEqual([])
  })
})
