import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeFrame } from '../../src/ws/encode-frame.ts'
import { FrameError, type FrameHandler, FrameReader, HEAD } from '../../src/ws/frame-reader.ts'
import { BINARY, PING, PONG, TEXT } from '../../src/ws/frames.ts'
import { runs } from '../support/runs.ts'

/** Collects what a reader reads. */
function collect(limit = Number.POSITIVE_INFINITY) {
  const read: unknown[] = []
  const handler: FrameHandler = {
    limitOf: () => limit,
    memoryFor: () => undefined,
    message: (payload, isCompressed) => void read.push(isCompressed ? ['compressed', payload.toString('hex')] : payload.toString()),
    tooLarge: (head, size) => void read.push(['too large', head.toString(), size]),
    control: (opcode, payload) => void read.push([opcode, payload.toString()]),
  }
  return { read, handler }
}

/** A server's frame: first byte, then the payload. */
function frame(first: number, payload: string): Buffer {
  const whole = encodeFrame(first & 0x0f, payload, false)
  whole[0] = first
  return whole
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe("the specification's examples (RFC 6455, 5.7)", () => {
  test.each([
    ['a text', '81 05 48 65 6c 6c 6f', false, ['Hello']],
    ['a masked text', '81 85 37 fa 21 3d 7f 9f 4d 51 58', true, ['Hello']],
    ['a text in two frames', '01 03 48 65 6c 80 02 6c 6f', false, ['Hello']],
    ['a ping', '89 05 48 65 6c 6c 6f', false, [[PING, 'Hello']]],
    ['a masked pong', '8a 85 37 fa 21 3d 7f 9f 4d 51 58', true, [[PONG, 'Hello']]],
  ])('%s', (_, bytes, isMasked, expected) => {
    const { read, handler } = collect()
    new FrameReader(handler, { isMasked }).push(hex(bytes))
    expect(read).toEqual(expected)
  })

  test.each([
    [256, '82 7e 01 00'],
    [65_536, '82 7f 00 00 00 00 00 01 00 00'],
  ])('%d bytes', (length, header) => {
    expect(encodeFrame(BINARY, Buffer.alloc(length), false).subarray(0, hex(header).length)).toEqual(hex(header))
  })
})

describe('what is written', () => {
  test('is what is read, of any length, masked or not, and cut anywhere', () => {
    const length = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000))
    fc.assert(
      fc.property(fc.array(length, { minLength: 1, maxLength: 5 }), fc.boolean(), fc.integer({ min: 1, max: 9000 }), (lengths, isMasked, piece) => {
        const texts = lengths.map((each, i) => String.fromCharCode(97 + i).repeat(each))
        const bytes = Buffer.concat(texts.map((text) => encodeFrame(TEXT, text, isMasked)))
        const { read, handler } = collect()
        const reader = new FrameReader(handler, { isMasked })
        for (let at = 0; at < bytes.length; at += piece) reader.push(Buffer.from(bytes.subarray(at, at + piece)))
        expect(read).toEqual(texts)
        expect(reader.pendingBytes).toBeUndefined()
      }),
      runs(200),
    )
  })

  test('has another mask each time', () => {
    const masks = new Set(Array.from({ length: 5000 }, () => encodeFrame(TEXT, 'a', true).readUInt32BE(2)))
    expect(masks.size).toBeGreaterThan(4900)
  })

  test('is UTF-8', () => {
    const { read, handler } = collect()
    new FrameReader(handler, { isMasked: true }).push(encodeFrame(TEXT, 'é€😀', true))
    expect(read).toEqual(['é€😀'])
  })
})

describe('a message in parts', () => {
  test('is joined, with control frames between its parts, cut anywhere', () => {
    const parts = fc.array(fc.string({ maxLength: 200, unit: fc.constantFrom('a', 'b', '{') }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 40 }), (texts, piece) => {
        const frames = texts.flatMap((text, i) => [
          frame((i === 0 ? TEXT : 0) | (i === texts.length - 1 ? 0x80 : 0), text),
          ...(i < texts.length - 1 ? [frame(0x80 | PING, String(i))] : []),
        ])
        const bytes = Buffer.concat(frames)
        const { read, handler } = collect()
        const reader = new FrameReader(handler)
        for (let at = 0; at < bytes.length; at += piece) reader.push(Buffer.from(bytes.subarray(at, at + piece)))
        expect(read).toEqual([...texts.slice(1).map((_, i) => [PING, String(i)]), texts.join('')])
      }),
      runs(200),
    )
  })

  test('says how much of it has come', () => {
    const reader = new FrameReader(collect().handler)
    const bytes = frame(0x81, 'x'.repeat(1000))
    reader.push(bytes.subarray(0, 500))
    expect(reader.pendingBytes).toBe(496)
    reader.push(bytes.subarray(500))
    expect(reader.pendingBytes).toBeUndefined()
  })
})

describe('a message above its limit', () => {
  const start = `{"id":1,"result":"${'0'.repeat(HEAD)}`

  test.each([
    ['in one frame', [frame(0x81, start.padEnd(2000, '1'))], 2000],
    ['in parts, which no header announces as a whole', [frame(0x01, start), frame(0x00, '1'.repeat(1000)), frame(0x80, '2')], start.length + 1000],
  ])('is told at once and passed over, %s; the next one is read', (_, frames, size) => {
    for (const piece of [7, 100_000]) {
      const { read, handler } = collect(1000)
      const reader = new FrameReader(handler)
      const bytes = Buffer.concat([...frames, frame(0x81, 'next')])
      for (let at = 0; at < bytes.length; at += piece) reader.push(Buffer.from(bytes.subarray(at, at + piece)))
      expect(read).toEqual([['too large', expect.stringContaining('{"id":1,'), expect.any(Number)], 'next'])
      const [, , told] = read[0] as [string, string, number]
      expect(told).toBeGreaterThan(1000)
      expect(told).toBeLessThanOrEqual(size)
    }
  })

  test('reserves no memory on its word alone', () => {
    const asked: number[] = []
    const { read, handler } = collect(1000)
    const reader = new FrameReader({
      ...handler,
      memoryFor: (_, size) => {
        asked.push(size)
        return undefined
      },
    })
    const header = Buffer.from([0x81, 127, 0, 0, 0, 16, 0, 0, 0, 0])
    reader.push(Buffer.concat([header, Buffer.alloc(HEAD, 'a')]))
    expect(read).toEqual([['too large', 'a'.repeat(HEAD), 16 * 2 ** 32]])
    expect(asked).toEqual([])
  })
})

test('a compressed message is marked, where compression was agreed', () => {
  const { read, handler } = collect()
  new FrameReader(handler, { mayCompress: true }).push(hex('c1 02 0102'))
  expect(read).toEqual([['compressed', '0102']])
})

test.each([
  ['a reserved opcode', '83 00', 'the unknown opcode 3'],
  ['a reserved control opcode', '8b 00', 'the unknown opcode 11'],
  ['reserved bits', 'a1 00', 'reserved bits'],
  ['compression that was not agreed', 'c1 00', 'reserved bits'],
  ['a mask', '81 80 00000000', 'a frame with a mask'],
  ['a continuation of nothing', '80 00', 'continues nothing'],
  ['a message inside another', '01 01 61 81 01 62', 'a message inside another one'],
  ['a control frame in parts', '09 00', 'control frame'],
  ['a long control frame', '89 7e 00 7e', 'control frame'],
  ['an impossible length', '81 7f ffffffffffffffff', 'an impossible length'],
])('%s is refused', (_, bytes, message) => {
  const { read, handler } = collect()
  const push = () => new FrameReader(handler).push(hex(bytes))
  expect(push).toThrow(FrameError)
  expect(push).toThrow(message)
  expect(read).toEqual([])
})

test('any bytes are read or refused, and a reader never fails otherwise', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, mayCompress) => {
      try {
        new FrameReader(collect(1000).handler, { mayCompress }).push(Buffer.from(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(FrameError)
      }
    }),
    runs(2000),
  )
})
