import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isOfResults, rangeLimit, suggestedRange } from '../../../src/eth/errors/log-range.ts'
import { said } from './failure-samples.ts'

describe('the limit that a refusal of a logs query names', () => {
  test.each([
    ['Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size.', 2000],
    ['You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x1f4]', 500],
    ['eth_getLogs is limited to a 10,000 range', 10_000],
    ['eth_getLogs and eth_newFilter are limited to a 10,000 blocks range', 10_000],
    ['eth_getLogs is limited to 0 - 50 blocks range', 50],
    ['eth_getLogs is limited to 1024 block range', 1024],
    ["Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800", 800],
    ['requested too many blocks from 0 to 5000, maximum is set to 2048', 2048],
    ['Maximum allowed number of requested blocks is 3500', 3500],
    ['exceed maximum block range: 50000', 50_000],
    ['block range is too wide (maximum 1024)', 1024],
    ['query exceeds max block range 100000', 100_000],
    ['please limit the query to at most 1000 blocks', 1000],
    ['You cannot query logs for more than 100000 blocks at once.', 100_000],
    ['block range is limited to 2000', 2000],
    ['fromBlock to toBlock range exceeds the range allowed for your plan (5000 > 3000)', 3000],
    ['ranges over 10000 blocks are not supported on free plan', 10_000],
    ['block range greater than 20000 max', 20_000],
    ['block range exceeds 1000', 1000],
    ['eth_getLogs range is too large, max is 10k blocks', 10_000],
    ['query must be smaller than size 1024', 1024],
    ['block range exceeds maximum of 2880 (got 5000)', 2880],
    ['range 1000000 exceeds limit of 10000', 10_000],
    ['range 9009594 is bigger than range limit 2000', 2000],
    ['block range is larger than max block range, block range = 5120, max block range = 5000', 5000],
    ['block range too large, max range: 2000', 2000],
    ['block range too large (2001), maximum allowed is 2000 blocks', 2000],
    ['maximum [from, to] blocks distance: 10000', 10_000],
    ['too wide blocks range, the limit is 100', 100],
    ['logs are limited to a 10000 block range', 10_000],
    ['Query requested more than 10.000 blocks', 10_000],
    ['eth_getLogs block range too large, range: 33636, max: 3500', 3500],
    ['block range should be less than or equal to 2000', 2000],
    ['query spans 78321485 blocks (0 to 78321484), but only 10000000 are allowed for this request; narrow the block range', 10_000_000],
    ['query spans too many blocks; only 5000 allowed for this request', 5000],
    ['query spans too many blocks: block range limit 4000000', 4_000_000],
    ['eth_getLogs block range too large: 1600 blocks requested, filtered queries on this chain are limited to 200 blocks.', 200],
    ["jsonrpc - eth_newFilter(): can't query more than 1000 blocks", 1000],
    ['from_block is too far, max block range is 1024', 1024],
    ['Query returned more than 10000 results. Try with this block range [0x2e18, 0x2e3a].', 35],
    ['query exceeds max results 20000, retry with the range 6000000-6000509', 510],
  ])('%s', (message, limit) => {
    expect(rangeLimit(message)).toBe(limit)
  })

  test.each([
    'query returned more than 10000 results',
    'logs matched by query exceeds limit of 10000',
    'Too many logs requested. Max logs per response is 20000.',
    'response size should not greater than 10000000 bytes',
    'block range is too wide',
    'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
    'limit exceeded',
    'logs count limit exceeded (10000) consider refine/narrow down your query',
    'query returns too many logs, narrow your filter: 20000',
    'You are limited to a maximum of 25 requests per second',
    'query returned more than 10000 logs, only 10000 allowed',
  ])('none: %s', (message) => {
    expect(rangeLimit(message)).toBeUndefined()
  })

  test('is a whole number of blocks, for any message', () => {
    for (const [, , , message] of said['range-too-large'] ?? [])
      expect([message, rangeLimit(message) ?? 1]).toEqual([message, expect.toSatisfy(Number.isSafeInteger)])
    fc.assert(
      fc.property(fc.string(), fc.nat(), (words, number) => {
        const limit = rangeLimit(`${words} maximum block range: ${number} ${words}`)
        expect(limit === undefined || (Number.isSafeInteger(limit) && limit > 0)).toBe(true)
      }),
    )
  })
})

describe('the range that a refusal of a logs query suggests', () => {
  test.each<[string, bigint, bigint]>([
    ['Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]', 0x1a30dfdn, 0x1a30ff0n],
    ['Try with this block range [0x2e18,0x2e3a].', 0x2e18n, 0x2e3an],
    ['query exceeds max results 2000, retry with the range 64862334-64862849', 64_862_334n, 64_862_849n],
  ])('%s', (message, from, to) => {
    expect(suggestedRange(message)).toEqual({ from, to })
  })

  test.each(['retry with the range 500-100', 'block range is too wide', 'maximum [from, to] blocks distance: 10000', '[0x5]'])('none: %s', (message) => {
    expect(suggestedRange(message)).toBeUndefined()
  })
})

describe('what a refusal speaks of', () => {
  test.each<[string, boolean]>([
    ['query returned more than 10000 results', true],
    ['Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range', true],
    ['logs matched by query exceeds limit of 10000', true],
    ['exceed maximum block range: 2000', false],
    ['query exceeds limit', false],
  ])('is results, or not: %s', (message, expected) => {
    expect(isOfResults(message)).toBe(expected)
  })
})
