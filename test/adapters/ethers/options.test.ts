import { describe, expect, it } from 'vitest'
import { splitOptions } from '../../../adapters/ethers/options.ts'
import { OptionError } from '../../../src/index.ts'

describe('the options of a provider', () => {
  it("are split into ethers' and the client's, without those that are undefined", () => {
    const options = { polling: true, cacheTimeout: 5, timeoutMs: 9, pollingInterval: undefined, rate: undefined }
    expect(splitOptions(options, false)).toStrictEqual({ ofEthers: { polling: true, cacheTimeout: 5 }, ofClient: { timeoutMs: 9 } })
  })

  it.each<[object, unknown]>([
    [{ batchMaxCount: 1 }, false],
    [{ batchMaxCount: 7 }, { maxCalls: 7 }],
    [{ batchMaxCount: 7, batch: { maxCalls: 3 } }, { maxCalls: 3 }],
    [{ batchMaxCount: 7, batch: false }, false],
    [{}, undefined],
  ])('%j set the batch to %j', (options, batch) => {
    expect(splitOptions(options, false).ofClient.batch).toEqual(batch)
  })

  it.each<[object, boolean, string]>([
    [{ batchMaxSize: 1 }, false, 'batchMaxSize'],
    [{ pollingIntervall: 1 }, false, 'pollingIntervall'],
    [{ batchStallTime: -1 }, false, 'batchStallTime'],
    [{ pollingInterval: '4000' }, false, 'pollingInterval'],
    [{ polling: 'yes' }, false, 'polling'],
    [{ staticNetwork: 5 }, false, 'staticNetwork'],
    [{ staticNetwork: 'mainnet' }, true, 'staticNetwork'],
    [{ cacheTimeout: '250' }, false, 'cacheTimeout'],
    [{ timeoutMs: 1 }, true, 'timeoutMs'],
    [{ batchMaxCount: 7 }, true, 'batchMaxCount'],
  ])('%j, with a client: %s, are refused', (options, hasClient, option) => {
    const split = () => splitOptions(options, hasClient)
    expect(split).toThrow(OptionError)
    expect(split).toThrow(option)
  })

  it('do not show the value of a client option that is refused', () => {
    const split = () => splitOptions({ headers: { authorization: 'secret' } }, true)
    expect(split).toThrow('headers')
    expect(split).not.toThrow('secret')
  })

  it("of ethers' own may be combined with a client", () => {
    expect(splitOptions({ batchStallTime: 0, cacheTimeout: -1 }, true)).toEqual({ ofEthers: { batchStallTime: 0, cacheTimeout: -1 }, ofClient: {} })
  })
})
