import { expect, test } from 'vitest'
import { Tally } from '../../src/rpc/tally.ts'

test('a tally counts POSTs, and knows the endpoint of the last one', () => {
  const tally = new Tally()
  expect({ ...tally }).toEqual({ attempts: 0, endpoint: undefined, post: undefined })
  tally.posted('a')
  tally.posted('b')
  expect({ ...tally }).toEqual({ attempts: 2, endpoint: 'b', post: undefined })
})
