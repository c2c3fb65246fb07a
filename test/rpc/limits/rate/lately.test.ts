import { expect, it } from 'vitest'
import { Lately } from '../../../../src/rpc/limits/rate/lately.ts'

it('is what was answered per second, the newest counting most', () => {
  const lately = new Lately()
  expect(lately.perSecond(250, 0)).toBeUndefined()
  for (let now = 0; now <= 2000; now += 10) lately.add(2, 250, now)
  expect(lately.perSecond(250, 2000)).toBeCloseTo(200, -1)
  for (let now = 2010; now <= 4000; now += 10) lately.add(1, 250, now)
  expect(lately.perSecond(250, 4000)).toBeCloseTo(100, -1)
})

it('fades while nothing is answered', () => {
  const lately = new Lately()
  for (let now = 0; now <= 1000; now += 10) lately.add(1, 250, now)
  expect(lately.calls(250, 1000)).toBeCloseTo(25, 0)
  expect(lately.perSecond(250, 2000)).toBeLessThan(5)
})
