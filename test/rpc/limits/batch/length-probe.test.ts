import { expect, test } from 'vitest'
import { LengthProbe } from '../../../../src/rpc/limits/batch/length-probe.ts'

test('POSTs that are longer than any that was taken wait for the probe', () => {
  const probe = new LengthProbe()
  probe.took(10, true)
  expect(probe.start(50)).toBe(false)
  probe.require()
  expect([probe.start(10), probe.holdsBack(50)]).toEqual([false, false])
  expect(probe.start(50)).toBe(true)
  expect([probe.holdsBack(50), probe.holdsBack(10)]).toEqual([true, false])
  probe.took(50, true)
  probe.end()
  expect([probe.holdsBack(100), probe.start(100)]).toEqual([false, false])
})

test('is needed again for what is not known to be taken any more, and not where the length was not the reason', () => {
  const probe = new LengthProbe()
  probe.took(50, true)
  probe.forgetBeyond(20)
  probe.require()
  expect([probe.start(20), probe.start(21)]).toEqual([false, true])
  probe.end()
  probe.cancel()
  expect(probe.start(21)).toBe(false)
})
