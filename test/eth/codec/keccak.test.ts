import { keccak_256 } from '@noble/hashes/sha3.js'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { HashBuffer, keccak256 } from '../../../src/eth/codec/keccak.ts'
import { runs } from '../../support/runs.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

describe('keccak256', () => {
  test('is the one of @noble/hashes, for every length around a block', () => {
    const bytes = Uint8Array.from({ length: 600 }, (_, i) => (i * 31) % 251)
    for (let length = 0; length <= bytes.length; length++) expect(hex(keccak256(bytes.subarray(0, length)))).toBe(hex(keccak_256(bytes.subarray(0, length))))
  })

  test('is the one of @noble/hashes, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => hex(keccak256(bytes)) === hex(keccak_256(bytes))),
      runs(300),
    )
  })

  test('of more than its memory holds', () => {
    const bytes = new Uint8Array(3_000_000).fill(7)
    expect(hex(keccak256(bytes))).toBe(hex(keccak_256(bytes)))
    expect(hex(keccak256(bytes.subarray(0, 10)))).toBe(hex(keccak_256(bytes.subarray(0, 10))))
  })

  test('gives a new array each time', () => {
    const first = keccak256(Uint8Array.of(1))
    keccak256(Uint8Array.of(2))
    expect(hex(first)).toBe(hex(keccak_256(Uint8Array.of(1))))
  })
})

describe.each(['WebAssembly', 'no WebAssembly'])('HashBuffer with %s', (kind) => {
  const create = () => {
    if (kind === 'no WebAssembly') vi.stubGlobal('WebAssembly', undefined)
    const buffer = new HashBuffer()
    vi.unstubAllGlobals()
    return buffer
  }
  const put = (buffer: HashBuffer, bytes: Uint8Array) => {
    buffer.reserve(bytes.length)
    buffer.position -= bytes.length
    buffer.bytes.set(bytes, buffer.position)
  }

  test('hashes data that grows to the front', () => {
    const buffer = create()
    put(buffer, Uint8Array.of(3, 4))
    buffer.hash()
    expect(buffer.digest()).toBe(`0x${hex(keccak_256(Uint8Array.of(3, 4)))}`)
    put(buffer, Uint8Array.of(1, 2))
    buffer.hash()
    expect(buffer.digest()).toBe(`0x${hex(keccak_256(Uint8Array.of(1, 2, 3, 4)))}`)
  })

  test('keeps its data when its memory grows, again and again', () => {
    const buffer = create()
    const parts = Array.from({ length: 9 }, (_, i) => new Uint8Array(100_000 + i).fill(i + 1))
    for (const part of parts) {
      put(buffer, part)
      buffer.hash()
    }
    expect(buffer.digest()).toBe(`0x${hex(keccak_256(Buffer.concat(parts.reverse())))}`)
    buffer.clear()
    buffer.hash()
    expect(buffer.digest()).toBe(`0x${hex(keccak_256(new Uint8Array()))}`)
  })
})
