import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CodecError } from '../../src/index.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { runs } from '../support/runs.ts'

type Nested = Uint8Array | Nested[]

const { nested } = fc.letrec<{ nested: Nested }>((tie) => ({
  nested: fc.oneof(
    { maxDepth: 4 },
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ minLength: 250, maxLength: 300 }),
    fc.array(tie('nested'), { maxLength: 6 }),
  ),
}))

const written = (writer: RlpWriter) => Buffer.from(writer.bytes.subarray(writer.position, writer.end)).toString('hex')
const hexOf = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

function write(writer: RlpWriter, value: Nested): void {
  if (value instanceof Uint8Array) {
    writer.hex(hexOf(value))
    return
  }
  const size = writer.size
  for (const each of [...value].reverse()) write(writer, each)
  writer.list(size)
}

describe('RlpWriter', () => {
  const writer = new RlpWriter()

  test('writes lists and strings as @ethereumjs/rlp does', () => {
    fc.assert(
      fc.property(nested, (value) => {
        writer.clear()
        write(writer, value)
        expect(written(writer)).toBe(Buffer.from(RLP.encode(value)).toString('hex'))
      }),
      runs(300),
    )
  })

  test('writes quantities as @ethereumjs/rlp does: numbers, bigints and hex', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 256n }), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (shift, full) => {
        const value = full >> shift
        const expected = Buffer.from(RLP.encode(value)).toString('hex')
        for (const given of [value, `0x${value.toString(16)}`, ...(value <= BigInt(Number.MAX_SAFE_INTEGER) ? [Number(value)] : [])]) {
          writer.clear()
          writer.quantity(given)
          expect(written(writer)).toBe(expected)
        }
      }),
      runs(500),
    )
  })

  test.each([0, 1, 127, 128, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 48, Number.MAX_SAFE_INTEGER])('writes %d', (value) => {
    writer.clear()
    writer.quantity(value)
    expect(written(writer)).toBe(Buffer.from(RLP.encode(value)).toString('hex'))
  })

  test('puts what was written into a string', () => {
    for (const length of [0, 1, 2, 55, 56, 300]) {
      const bytes = new Uint8Array(length).fill(0x7f)
      writer.clear()
      writer.raw(bytes, 0, length)
      writer.string(0)
      expect(written(writer)).toBe(Buffer.from(RLP.encode(bytes)).toString('hex'))
    }
  })

  test('writes more than its memory holds at first', () => {
    const value = Array.from({ length: 20 }, (_, i) => new Uint8Array(60_000 + i).fill(i))
    const fresh = new RlpWriter()
    write(fresh, value)
    expect(written(fresh)).toBe(Buffer.from(RLP.encode(value)).toString('hex'))
  })

  test.each([['0x1'], ['0X12'], ['0x1\u0132'], ['0x\uff112'], ['0xzz'], ['zz00'], ['0x12g4'], ['1234'], [''], [undefined], [null], [7], [['0x12']]])(
    'refuses %s as bytes',
    (value) => {
      writer.clear()
      expect(() => writer.hex(value)).toThrow(CodecError)
      expect(writer.size).toBe(0)
    },
  )

  test('refuses bytes of another length', () => {
    expect(() => writer.hex('0x1234', 3)).toThrow('expected 3 bytes in hex, received "0x1234"')
    expect(() => writer.hex('0x12345678', 3)).toThrow(CodecError)
  })

  test.each([[-1], [-1n], [1.5], [2 ** 53], [2n ** 256n], ['0x'], ['12'], ['0xzz'], [undefined], [null], [true], [Number.NaN]])(
    'refuses %s as a quantity',
    (value) => {
      writer.clear()
      expect(() => writer.quantity(value)).toThrow(CodecError)
      expect(writer.size).toBe(0)
    },
  )
})
