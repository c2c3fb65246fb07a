import { onlyKnown } from '../check.ts'
import { OptionError } from '../errors.ts'
import { show } from '../text.ts'
import type { Seed } from './records.ts'
import { defaultSeed } from './seed.ts'

/**
 * The fields that records are looked up and ordered by. Other fields may have any value, since a
 * seed may hold bad data to test clients with.
 */
const needed: { readonly [Group in keyof Seed]: readonly (keyof Seed[Group][number])[] } = {
  transfers: [
    'collection_data_id_hash',
    'from_address',
    'to_address',
    'transaction_version',
    'event_account_address',
    'event_creation_number',
    'event_sequence_number',
  ],
  nfts: ['collection_data_id_hash', 'token_data_id_hash'],
  collections: ['collection_data_id_hash', 'creator_address'],
  streams: ['id'],
}

const digits: ReadonlySet<string> = new Set(['transaction_version', 'event_creation_number', 'event_sequence_number'])

/** The given groups and the default ones, in new arrays. Throws `OptionError`. */
export function seedFrom(given: Partial<Seed>, likeProduction: boolean): Seed {
  onlyKnown('seed', given, Object.keys(needed))
  const seed = defaultSeed(likeProduction)
  for (const [group, fields] of Object.entries(needed)) {
    const records: unknown = given[group as keyof Seed]
    if (records === undefined) continue
    if (!Array.isArray(records)) throw new OptionError(`seed.${group}`, 'an array of records', show(records))
    records.forEach((record: unknown, i) => {
      checkRecord(`seed.${group}[${i}]`, record, fields)
    })
    Object.assign(seed, { [group]: [...records] })
  }
  return seed
}

function checkRecord(name: string, record: unknown, fields: readonly string[]): void {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) throw new OptionError(name, 'a record', show(record))
  for (const field of fields) {
    const value = (record as Record<string, unknown>)[field]
    const isGood = typeof value === 'string' && (digits.has(field) ? /^\d{1,20}$/.test(value) : value !== '')
    if (!isGood) throw new OptionError(`${name}.${field}`, digits.has(field) ? 'a string of at most 20 digits' : 'a string', show(value))
  }
}
