import { describe, expect, test } from 'vitest'
import type { BatchInFlight } from '../../../../src/rpc/limits/batch-result.ts'
import { MethodTrial } from '../../../../src/rpc/limits/methods/method-trial.ts'

const batchOf = (method: string, sentAt: number) => ({ calls: [{ method }], sentAt }) as unknown as BatchInFlight

describe('a trial of eth_getLogs at 5000', () => {
  test('keeps others silent for a second before its POST, and for a second at most after it', () => {
    const trial = new MethodTrial('eth_getLogs', 1, 5000)
    expect(trial.msToWait('eth_call', 3999)).toBe(0)
    expect(trial.msToWait('eth_call', 4000)).toBe(1000)
    expect(trial.msToWait('eth_getLogs', 4000)).toBe(0)
    trial.started('eth_getLogs', 5050)
    expect(trial.msToWait('eth_call', 5050)).toBe(1000)
    expect(trial.msToWait('eth_call', 6050)).toBe(0)
  })

  test('is spoilt by a POST of its method that starts late, and by no other', () => {
    const trial = new MethodTrial('eth_getLogs', 1, 5000)
    expect(trial.isSpoiltBy('eth_getLogs', 5100)).toBe(false)
    expect(trial.isSpoiltBy('eth_getLogs', 5101)).toBe(true)
    expect(trial.isSpoiltBy('eth_call', 5101)).toBe(false)
  })

  test('knows its POST by its method and the time it started', () => {
    const trial = new MethodTrial('eth_getLogs', 1, 5000)
    trial.started('eth_getLogs', 4999)
    expect(trial.isOf(batchOf('eth_getLogs', 4999))).toBe(false)
    trial.started('eth_getLogs', 5000)
    trial.started('eth_getLogs', 5001)
    expect(trial.isOf(batchOf('eth_getLogs', 5000))).toBe(true)
    expect(trial.isOf(batchOf('eth_getLogs', 5001))).toBe(false)
    expect(trial.isOf(batchOf('eth_call', 5000))).toBe(false)
  })
})
