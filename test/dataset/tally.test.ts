import { expect, it } from 'vitest'
import { Tally } from '../../src/dataset/tally.ts'

it('counts blocks by check, and by check and reason; columns once, in order', () => {
  const tally = new Tally()
  tally.prove('rows')
  tally.add({ proven: ['header', 'uncles'], skipped: [['size', 'a']], uncovered: ['logs.x', 'blocks.size'] })
  tally.add({
    proven: ['header'],
    skipped: [
      ['size', 'a'],
      ['uncles', 'b'],
    ],
    uncovered: ['blocks.size'],
  })
  tally.add({ proven: [], skipped: [['size', 'c']], uncovered: [] })
  expect(tally.checks).toEqual({ rows: 1, header: 2, uncles: 1 })
  expect(tally.skipped).toEqual({ size: { a: 2, c: 1 }, uncles: { b: 1 } })
  expect(tally.uncovered).toEqual(['blocks.size', 'logs.x'])
})

it('adds what another one holds', () => {
  const [tally, other] = [new Tally(), new Tally()]
  tally.add({ proven: ['header'], skipped: [['size', 'a']], uncovered: ['blocks.size'] })
  for (let i = 0; i < 3; i++) other.add({ proven: ['header', 'uncles'], skipped: [['size', 'a']], uncovered: ['blocks.size', 'a.b'] })
  tally.merge(other)
  expect(tally.checks).toEqual({ header: 4, uncles: 3 })
  expect(tally.skipped).toEqual({ size: { a: 4 } })
  expect(tally.uncovered).toEqual(['a.b', 'blocks.size'])
})
