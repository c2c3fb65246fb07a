import { expect, test } from 'vitest'
import { BatchSupport } from '../../../../src/rpc/limits/batch/batch-support.ts'

/** An endpoint at which a batch has failed: calls go one by one. */
function doubted(): BatchSupport {
  const support = new BatchSupport()
  support.batchFailed()
  return support
}

test('there is none where lone calls are answered after a batch has failed, until a batch is', () => {
  const support = doubted()
  expect(support.isNone).toBe(false)
  support.answered(1)
  expect([support.isNone, support.mayBeNone]).toEqual([true, true])
  support.batchFailed()
  support.answered(1)
  expect(support.isNone).toBe(true)
  support.answered(2)
  expect([support.isNone, support.mayBeNone]).toEqual([false, false])
})

test('batches were not the reason where a lone call fails as well, which is open again once one is answered', () => {
  const support = doubted()
  expect([support.loneCallFailed(), support.mayBeNone]).toEqual([true, false])
  expect(support.loneCallFailed()).toBe(false)
  support.answered(1)
  expect([support.isNone, support.mayBeNone]).toEqual([false, true])
})

test('lone calls say nothing before a batch has failed, or after the length of batches has changed', () => {
  const changed = doubted()
  changed.lengthChanged()
  for (const support of [new BatchSupport(), changed]) {
    expect(support.loneCallFailed()).toBe(false)
    support.answered(1)
    expect(support.isNone).toBe(false)
  }
})
