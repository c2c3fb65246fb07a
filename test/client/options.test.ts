import { describe, expect, it, test } from 'vitest'
import { type CallSettings, type ClientOptions, checkCallSettings, settingsFrom } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'

test('what is not given has its documented default', () => {
  expect(settingsFrom({})).toEqual({
    maxCalls: 100,
    concurrency: 8,
    singleConcurrency: 100,
    rate: undefined,
    attempts: 4,
    backoff: { baseDelayMs: 150, maxDelayMs: 10_000 },
    timeoutMs: 30_000,
    deadlineMs: 120_000,
    maxResponseBytes: 128 * 1024 * 1024,
    dedupe: true,
    hedge: undefined,
    headers: {},
    dispatcher: undefined,
    compression: undefined,
    layers: expect.any(Function),
  })
  expect(settingsFrom({}).layers([])).toEqual([])
})

describe('short forms', () => {
  it.each<[ClientOptions, object]>([
    [{ batch: false }, { maxCalls: 1 }],
    [{ batch: {} }, { maxCalls: 100 }],
    [{ retry: false }, { attempts: 1 }],
    [{ hedge: true }, { hedge: { percentile: 0.95, maxExtra: 0.05 } }],
    [{ hedge: { maxExtra: 0.5 } }, { hedge: { percentile: 0.95, maxExtra: 0.5 } }],
    [{ concurrency: 3 }, { concurrency: 3, singleConcurrency: 3 }],
    [{ rate: { callsPerSecond: 5 } }, { rate: { perSecond: 5 } }],
    [{ rate: { unitsPerSecond: 330, units: { eth_call: 26 } } }, { rate: { perSecond: 330, units: new Map([['eth_call', 26]]) } }],
    [{ rate: { unitsPerSecond: 330 } }, { rate: { perSecond: 330, units: new Map() } }],
  ])('%o', (options, expected) => {
    expect(settingsFrom(options)).toMatchObject(expected)
  })
})

describe('the settings of calls', () => {
  it('are taken as they are', () => {
    const settings: CallSettings = {
      deadlineMs: Number.POSITIVE_INFINITY,
      priority: 'bulk',
      attempts: 1,
      timeoutMs: 5,
      whilePaused: 'fail',
      signal: AbortSignal.abort(),
    }
    expect(checkCallSettings(settings)).toBe(settings)
  })

  it.each<[unknown, string]>([
    [{ deadlineMs: 0 }, 'deadlineMs'],
    [{ priority: 'high' }, 'priority'],
    [{ attempts: 0 }, 'attempts'],
    [{ timeoutMs: -1 }, 'timeoutMs'],
    [{ whilePaused: 'skip' }, 'whilePaused'],
    [{ signal: {} }, 'signal'],
    [{ timeout: 5 }, 'settings'],
  ])('%j is refused by its name', (settings, option) => {
    expect(() => checkCallSettings(settings as CallSettings)).toThrow(expect.toSatisfy((error) => error instanceof OptionError && error.option === option))
  })
})
