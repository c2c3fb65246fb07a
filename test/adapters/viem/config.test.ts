import { describe, expect, it } from 'vitest'
import { callSettings, checkConfig, clientOptions, type HexlineTransportConfig } from '../../../adapters/viem/config.ts'
import { OptionError } from '../../../src/index.ts'

type Config = HexlineTransportConfig

describe('the options of a transport', () => {
  it('may all be given without a client', () => {
    const config = {
      key: 'k',
      retryCount: 0,
      retryDelay: 0,
      timeout: 0,
      batch: { wait: 1 },
      concurrency: 2,
      fetchOptions: {},
      maxResponseBodySize: false,
    } as const
    expect(() => checkConfig(config, false)).not.toThrow()
    expect(() => checkConfig({}, false)).not.toThrow()
  })

  it.each<[Config]>([[{ concurrency: 1 }], [{ batch: true }], [{ retryDelay: 1 }], [{ deadlineMs: 1 }], [{ maxResponseBodySize: 1 }], [{ fetchOptions: {} }]])(
    '%o belong to a client, and are refused with one',
    (config) => {
      const [option] = Object.keys(config) as [string]
      expect(() => checkConfig(config, true)).toThrow(OptionError)
      expect(() => checkConfig(config, true)).toThrow(`${option}: expected undefined with a client`)
    },
  )

  it('of a call may be set along with a client, and undefined counts as absent', () => {
    expect(() => checkConfig({ retryCount: 2, timeout: 5, raw: true, methods: { include: [] }, batch: undefined }, true)).not.toThrow()
  })

  it.each([{ exclude: ['a'] }, { include: undefined }, {}])('methods: %j is valid', (methods) => {
    expect(() => checkConfig({ methods: methods as NonNullable<Config['methods']> }, false)).not.toThrow()
  })

  it.each([[null], [{ only: ['a'] }], [{ include: 'a' }], [['a']]])('methods: %j is refused', (methods) => {
    expect(() => checkConfig({ methods: methods as never }, false)).toThrow('methods: expected { include } or { exclude }')
  })
})

describe("the client's options", () => {
  it("are viem's defaults, and nothing that is undefined", () => {
    expect(clientOptions({ concurrency: undefined })).toStrictEqual({
      headers: {},
      retry: { attempts: 4, baseDelayMs: 150, maxDelayMs: 10_000 },
      timeoutMs: 30_000,
      deadlineMs: 120_000,
    })
  })

  it.each<[Config['batch'], unknown]>([
    [undefined, undefined],
    [true, undefined],
    [false, false],
    [{}, { maxCalls: 1000 }],
    [{ batchSize: 3, wait: 16 }, { maxCalls: 3 }],
    [{ maxCalls: 5 }, { maxCalls: 5 }],
  ])('batch: %j becomes %j', (batch, expected) => {
    expect(clientOptions({ batch }).batch).toEqual(expected)
  })

  it('have the headers of fetchOptions, and their own before them', () => {
    const headers = { b: 'own' }
    expect(clientOptions({ fetchOptions: { headers: { a: 'fetch', b: 'fetch' } }, headers }).headers).toEqual({ a: 'fetch', b: 'own' })
    expect(clientOptions({ fetchOptions: { headers: [['a', 'pair']] } }).headers).toEqual({ a: 'pair' })
    expect(clientOptions({ fetchOptions: { headers: new Headers({ A: 'headers' }) } }).headers).toEqual({ a: 'headers' })
  })

  it('limit a reply under either name, not under both', () => {
    expect(clientOptions({ maxResponseBodySize: 9 }).maxResponseBytes).toBe(9)
    expect(clientOptions({ maxResponseBytes: 9 }).maxResponseBytes).toBe(9)
    expect(clientOptions({ maxResponseBodySize: false }).maxResponseBytes).toBe(Number.MAX_SAFE_INTEGER)
    expect(() => clientOptions({ maxResponseBodySize: false, maxResponseBytes: 9 })).toThrow('expected one of maxResponseBodySize and maxResponseBytes')
  })

  it('wait at least 1 ms before a retry, and at most ten seconds or retryDelay', () => {
    expect(clientOptions({ retryDelay: 0, retryCount: Number.POSITIVE_INFINITY }).retry).toEqual({
      ...{ attempts: Number.POSITIVE_INFINITY, baseDelayMs: 1, maxDelayMs: 10_000 },
    })
    expect(clientOptions({ retryDelay: 20_000 }).retry).toMatchObject({ baseDelayMs: 20_000, maxDelayMs: 20_000 })
  })
})

describe('the settings of a call', () => {
  const settings = (config: Config, factory = {}, call = {}, ownsClient = true) =>
    callSettings({ config, factory, call: { method: 'eth_getBalance', ...call } }, ownsClient)

  it('are empty when nothing is set', () => {
    expect(settings({})).toStrictEqual({})
  })

  it("take retryCount from the call, the config and the factory, in this order, and timeout from the factory before the config's", () => {
    const [config, factory] = [
      { retryCount: 1, timeout: 10 },
      { retryCount: 2, timeout: 20 },
    ] as const
    expect(settings(config, factory, { retryCount: 3, timeout: 30 }, false)).toEqual({ attempts: 4, timeoutMs: 30 })
    expect(settings(config, factory, {}, false)).toEqual({ attempts: 2, timeoutMs: 20 })
    expect(settings({}, factory, {}, false)).toEqual({ attempts: 3, timeoutMs: 20 })
    expect(settings({ timeout: 10 }, {}, {}, false)).toEqual({ timeoutMs: 10 })
  })

  it('have no deadline on a client that is not the transport’s, or if deadlineMs is given', () => {
    expect(settings({ retryCount: 1, timeout: 10 }, {}, {}, false).deadlineMs).toBeUndefined()
    expect(settings({ retryCount: 1, timeout: 10, deadlineMs: 5 }).deadlineMs).toBeUndefined()
    expect(settings({ retryCount: 1, timeout: 10 }).deadlineMs).toBe(2 * 10 + 150 + 300)
  })

  it('fail at once on a paused endpoint if the factory asks for no retries, as viem’s fallback does', () => {
    expect(settings({}, { retryCount: 0 })).toEqual({ attempts: 1, whilePaused: 'fail' })
    expect(settings({ retryCount: 0 })).toEqual({ attempts: 1 })
  })

  it('wait while the node throttles if an action that writes asks for no retries, but not under fallback', () => {
    const send = { method: 'eth_sendRawTransaction', retryCount: 0 }
    expect(settings({}, {}, send)).toEqual({ attempts: 1, whilePaused: 'wait' })
    expect(settings({}, { retryCount: 0 }, send)).toEqual({ attempts: 1, whilePaused: 'fail' })
    expect(settings({}, {}, { retryCount: 0 })).toEqual({ attempts: 1 })
    expect(settings({ retryCount: 0 }, {}, send)).toEqual({ attempts: 1 })
    expect(settings({ timeout: 1_000 }, {}, send)).toEqual({ attempts: 1, timeoutMs: 1_000, whilePaused: 'wait' })
    expect(settings({ timeout: 1_000, retryCount: 1 }, {}, send)).toMatchObject({ attempts: 1, deadlineMs: 2 * 1_000 + 150 + 300, whilePaused: 'wait' })
  })

  it('pass the signal on', () => {
    const { signal } = new AbortController()
    expect(settings({}, {}, { signal })).toEqual({ signal })
  })

  it.each([{ retryCount: -1 }, { retryCount: 0.5 }, { timeout: -1 }, { timeout: Number.NaN }])('%j are refused', (call) => {
    expect(() => settings({}, {}, call)).toThrow(OptionError)
  })
})
