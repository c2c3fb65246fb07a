import { expect, it } from 'vitest'
import { CheckCounts } from '../../../src/dataset/verify/check-counts.ts'

it('counts blocks by check, and by check and reason; columns once, in order', () => {
  const counts = new CheckCounts()
  counts.prove('rows')
  counts.add({ proven: ['header', 'uncles'], skipped: [['size', 'a']], uncovered: ['logs.x', 'blocks.size'] })
  counts.add({
    proven: ['header'],
    skipped: [
      ['size', 'a'],
      ['uncles', 'b'],
    ],
    uncovered: ['blocks.size'],
  })
  counts.add({ proven: [], skipped: [['size', 'c']], uncovered: [] })
  expect(counts.checks).toEqual({ rows: 1, header: 2, uncles: 1 })
  expect(counts.skipped).toEqual({ size: { a: 2, c: 1 }, uncles: { b: 1 } })
  expect(counts.uncovered).toEqual(['blocks.size', 'logs.x'])
})

it('adds what another one holds', () => {
  const [counts, other] = [new CheckCounts(), new CheckCounts()]
  counts.add({ proven: ['header'], skipped: [['size', 'a']], uncovered: ['blocks.size'] })
  for (let i = 0; i < 3; i++) other.add({ proven: ['header', 'uncles'], skipped: [['size', 'a']], uncovered: ['blocks.size', 'a.b'] })
  counts.merge(other)
  expect(counts.checks).toEqual({ header: 4, uncles: 3 })
  expect(counts.skipped).toEqual({ size: { a: 4 } })
  expect(counts.uncovered).toEqual(['a.b', 'blocks.size'])
})
