import { describe, expect, it } from 'vitest'
import { checkRange, type RangeEnd, resolveRange } from '../../src/bulk/range.ts'
import { OptionError } from '../../src/errors.ts'
import { chainAnswer } from '../support/chain-server.ts'
import { always, clientOf, deadPort, each, serve } from '../support/server.ts'

describe('checks without the node', () => {
  it.each<[unknown, unknown, bigint, unknown]>([
    [0, 0, 0n, 0n],
    ['0x10', 17n, 16n, 17n],
    [5, 'finalized', 5n, 'finalized'],
    [0n, 'earliest', 0n, 'earliest'],
  ])('%s to %s is a range', (from, to, first, last) => {
    expect(checkRange(from as number, to as RangeEnd)).toEqual({ from: first, to: last })
  })

  it.each<[unknown, unknown, string]>([
    [5, 4, 'to: expected at least the first block, 5, received 4'],
    [2n ** 64n, 2n ** 65n, 'from: expected a block number from 0 to 2^64 - 1, received 18446744073709551616n'],
    [`0x${'ab'.repeat(32)}`, 4, `from: expected a block number from 0 to 2^64 - 1, received "0x${'ab'.repeat(32)}"`],
    [1, 2n ** 64n, 'to: expected a block number from 0 to 2^64 - 1, or one of latest, safe, finalized, earliest, received 18446744073709551616n'],
    [-1, 4, 'from: expected a block number (a whole number that is not negative), received -1'],
    [0.5, 4, 'from: expected a block number (a whole number that is not negative), received 0.5'],
    ['latest', 4, 'from: expected a block number (a whole number that is not negative), received "latest"'],
    [0, 'lastest', ', or one of latest, safe, finalized, earliest (did you mean `latest`?), received "lastest"'],
    [0, 'pending', ', or one of latest, safe, finalized, earliest, received "pending"'],
    [0, undefined, ', or one of latest, safe, finalized, earliest, received undefined'],
  ])('%s to %s is refused', (from, to, message) => {
    const check = () => checkRange(from as number, to as RangeEnd)
    expect(check).toThrow(OptionError)
    expect(check).toThrow(message)
  })
})

describe('checks with the node', () => {
  it.each<[number, RangeEnd, bigint]>([
    [3, 10, 10n],
    [3, 'latest', 10n],
    [3, 'finalized', 6n],
    [6, 'finalized', 6n],
  ])('at head 10, %i to %s ends at %s, with one call', async (from, to, last) => {
    const server = await serve(chainAnswer({ head: 10 }))
    expect(await resolveRange(clientOf(server.url), checkRange(from, to))).toEqual({ from: BigInt(from), to: last })
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    [10, 20],
    [20, 10],
  ])('with endpoints at heads %i and %i, the farther one decides', async (one, two) => {
    const urls = [await serve(chainAnswer({ head: one })), await serve(chainAnswer({ head: two }))].map(({ url }) => url) as [string, string]
    expect(await resolveRange(clientOf(urls), checkRange(3, 15))).toEqual({ from: 3n, to: 15n })
    await expect(resolveRange(clientOf(urls), checkRange(3, 21))).rejects.toThrow("to: expected at most the node's latest block, 20, received 21")
  })

  it('a block that only some of the nodes behind one URL have is asked for again', async () => {
    const [behind, ahead] = [chainAnswer({ head: 10 }), chainAnswer({ head: 11 })]
    let asked = 0
    const server = await serve((...request) => (asked++ < 3 ? behind : ahead)(...request))
    expect(await resolveRange(clientOf(server.url), checkRange(3, 11))).toEqual({ from: 3n, to: 11n })
  })

  it('why a block just beyond the head cannot be asked for is told', async () => {
    const behind = chainAnswer({ head: 10 })
    const server = await serve((request, response) =>
      request.entries.some(({ method }) => method === 'eth_getBlockByNumber') ? always('no', { status: 401 })(request, response) : behind(request, response),
    )
    await expect(resolveRange(clientOf(server.url), checkRange(3, 11))).rejects.toMatchObject({ kind: 'auth' })
  })

  it('an endpoint that does not answer, or not usefully, does not count', async () => {
    const mute = await serve(each(({ id, method }) => ({ id, result: method === 'eth_blockNumber' ? 'soon' : null })))
    const urls = [(await serve(chainAnswer({ head: 10 }))).url, mute.url, `http://127.0.0.1:${await deadPort()}`] as [string, ...string[]]
    await expect(resolveRange(clientOf(urls), checkRange(3, 11))).rejects.toThrow("to: expected at most the node's latest block, 10, received 11")
  })

  it.each<[number, RangeEnd, string]>([
    [3, 11, "to: expected at most the node's latest block, 10, received 11"],
    [7, 'finalized', 'from: expected at most the finalized block, 6, received 7'],
  ])('at head 10, %i to %s is refused', async (from, to, message) => {
    const server = await serve(chainAnswer({ head: 10 }))
    await expect(resolveRange(clientOf(server.url), checkRange(from, to))).rejects.toThrow(message)
  })

  it('an unknown tag is refused', async () => {
    const server = await serve(chainAnswer({ head: 10, answer: () => ({ result: null }) }))
    await expect(resolveRange(clientOf(server.url), checkRange(0, 'safe'))).rejects.toThrow('to: expected a tag that the node knows, received "safe"')
  })
})
