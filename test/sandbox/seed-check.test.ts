import { describe, expect, it, test } from 'vitest'
import { OptionError } from '../../src/errors.ts'
import type { Seed } from '../../src/sandbox/records.ts'
import { defaultSeed } from '../../src/sandbox/seed.ts'
import { seedFrom } from '../../src/sandbox/seed-check.ts'

const [transfer] = defaultSeed(false).transfers

test('a given group replaces the default one, in a new array', () => {
  const streams = [{ id: 'mine' }] as Seed['streams']
  const seed = seedFrom({ streams }, true)
  expect(seed).toEqual({ ...defaultSeed(true), streams })
  expect(seed.streams).not.toBe(streams)
  expect(seed.streams[0]).toBe(streams[0])
})

test('other fields may have any value, since a seed may hold bad data', () => {
  const odd = { ...transfer, coin_amount: 5, name: null } as never
  expect(seedFrom({ transfers: [odd] }, false).transfers).toEqual([odd])
})

describe('refused', () => {
  it.each<[unknown, string]>([
    [{ tokens: [] }, 'seed: expected only transfers, nfts, collections, streams, received "tokens"'],
    [{ nfts: {} }, 'seed.nfts: expected an array of records, received an object'],
    [{ nfts: [[]] }, 'seed.nfts[0]: expected a record, received an array of 0'],
    [{ streams: [{ id: 'a' }, { id: '' }] }, 'seed.streams[1].id: expected a string, received ""'],
    [
      { transfers: [{ ...transfer, transaction_version: '1e3' }] },
      'seed.transfers[0].transaction_version: expected a string of at most 20 digits, received "1e3"',
    ],
    [{ transfers: [{ ...transfer, event_sequence_number: 5 }] }, 'seed.transfers[0].event_sequence_number: expected a string of at most 20 digits, received 5'],
  ])('%o', (given, message) => {
    expect(() => seedFrom(given as Partial<Seed>, false)).toThrow(OptionError)
    expect(() => seedFrom(given as Partial<Seed>, false)).toThrow(message)
  })
})
