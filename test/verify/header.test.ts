import { RLP } from '@ethereumjs/rlp'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Block, CodecError } from '../../src/index.ts'
import { hasGap, headerFields, writeHeader } from '../../src/verify/header.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { madeBlock } from '../support/decoded-blocks.ts'
import { written } from '../support/written.ts'

/** Fields of later forks, in the order of their EIPs. */
const LATER = [
  'baseFeePerGas',
  'withdrawalsRoot',
  ...['blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot'],
  'requestsHash',
  ...['blockAccessListHash', 'slotNumber'],
] as const

let block: Block
beforeAll(async () => {
  ;({ block } = await madeBlock())
})

const writer = new RlpWriter()
const encoded = (header: object): Uint8Array[] => {
  writer.clear()
  writeHeader(writer, header as Block)
  return RLP.decode(written(writer)) as Uint8Array[]
}
const without = (...names: readonly string[]) => Object.fromEntries(Object.entries(block).filter(([name]) => !names.includes(name)))
const faultOf = (header: object): CodecError => {
  try {
    encoded(header)
  } catch (error) {
    if (error instanceof CodecError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('writeHeader', () => {
  test('writes the fields of each fork after those of the forks before', () => {
    const all = encoded(block)
    expect(all).toHaveLength(headerFields.size)
    for (let count = 0; count <= LATER.length; count++) expect(encoded(without(...LATER.slice(count)))).toEqual(all.slice(0, 15 + count))
  })

  test('takes null for absent, as nodes write it', () => {
    expect(encoded({ ...block, slotNumber: null })).toEqual(encoded(without('slotNumber')))
  })

  test('takes a difficulty that is absent for 0', () => {
    expect(encoded({ ...block, difficulty: 0n })).toEqual(encoded(without('difficulty')))
    expect(encoded({ ...block, difficulty: 5n })[7]).toEqual(Uint8Array.of(5))
  })

  test.each(LATER.slice(0, -1))('does not take a later field for %s, whose place it would have', (name) => {
    expect(hasGap(block)).toBe(false)
    const index = LATER.indexOf(name)
    for (const later of LATER.slice(index + 1)) {
      const renamed = { ...without(...LATER.slice(index)), [later]: (block as unknown as Record<string, unknown>)[name] } as unknown as Block
      expect(hasGap(renamed)).toBe(true)
      expect(LATER).toContain(faultOf(renamed).path)
    }
  })

  test.each([
    ['logsBloom', '0x00', 'expected 256 bytes in hex, received "0x00"'],
    ['nonce', null, 'expected 8 bytes in hex, received null'],
    ['miner', `0x${'11'.repeat(21)}`, 'expected 20 bytes in hex'],
    ['stateRoot', `0x${'11'.repeat(31)}`, 'expected 32 bytes in hex'],
    ['number', -1n, 'expected a quantity of at most 256 bits'],
    ['requestsHash', '0x', 'expected 32 bytes in hex, received "0x"'],
  ])('names %s when it is %s', (name, value, message) => {
    const { path, message: text } = faultOf({ ...block, [name]: value })
    expect(path).toBe(name)
    expect(text).toContain(message)
  })
})
