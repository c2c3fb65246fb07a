import { expect, test } from 'vitest'
import { ownRead } from '../../src/rpc/call.ts'
import { CallRecord, recordOf } from '../../src/rpc/call-record.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('a record counts POSTs, and knows the endpoint of the last one', () => {
  const record = new CallRecord()
  expect(record).toMatchObject({ attempts: 0, endpoint: undefined, tookMs: undefined })
  record.posted('a')
  record.posted('b')
  expect(record).toMatchObject({ attempts: 2, endpoint: 'b', tookMs: undefined })
})

test('with a clock, a record measures the last POST', async () => {
  const clock = new VirtualClock()
  const record = new CallRecord(clock)
  for (const ms of [700, 30]) {
    record.sent()
    expect(record.post).toBeUndefined()
    record.post = { calls: 1, bytes: 2, wireBytes: 1 }
    await clock.sleep(ms)
    record.posted('a')
    expect(record.tookMs).toBe(ms)
    await clock.sleep(1000)
  }
})

test("an object that a layer has put in a record's place counts nothing", () => {
  const call = ownRead({ method: 'eth_chainId', params: [], deadline: 0 })
  const record = new CallRecord()
  expect(recordOf({ ...call, record })).toBe(record)
  expect(recordOf({ ...call, record: { attempts: 0, endpoint: undefined } })).toBeUndefined()
  expect(recordOf(call)).toBeUndefined()
})
