import { describe, expect, test } from 'vitest'
import { HexlineError, IntegrityError, RpcError } from '../../../src/errors.ts'
import { type Call, ownRead, waitingForSlow } from '../../../src/rpc/call.ts'
import { CallFailure } from '../../../src/rpc/call-failure.ts'
import { Pin } from '../../../src/rpc/pin.ts'
import type { Queue } from '../../../src/rpc/queue/queue.ts'
import { Choice } from '../../../src/rpc/route/choice.ts'
import { Endpoint, EndpointGroup } from '../../../src/rpc/route/endpoint.ts'
import { Health } from '../../../src/rpc/route/health.ts'
import { HEAD, type Trait } from '../../../src/rpc/route/protocol.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const protocol = {
  traitOf: () => undefined,
  askHead: { method: 'eth_blockNumber', params: [] },
  askBlock: () => ({ method: 'eth_getBlockByNumber', params: [] }),
  askChain: { method: 'eth_chainId', params: [] },
  chainOf: () => 1,
  partOf: {},
  askHistory: { method: 'eth_capabilities', params: [] },
  historyOf: () => new Map(),
  oldestIn: () => undefined,
}
const clock = new VirtualClock()
const newest: Trait = { needs: () => HEAD }

/** Endpoints of one chain whose queues answer every call with "unknown method". */
function endpointsOf(...names: string[]) {
  const group = new EndpointGroup(protocol, 1)
  const endpoints = names.map((name) => {
    const lacks = () => Promise.reject(new CallFailure(new RpcError({ code: -32601, message: 'no' }, { kind: 'unsupported' }), 1, name))
    const queue = { name, pausedUntil: 0, send: lacks, turnAway() {}, giveUp() {} } as unknown as Queue
    return new Endpoint({ queue, health: new Health(name) }, group, true, clock)
  }) as [Endpoint, ...Endpoint[]]
  return { group, endpoints, choice: new Choice(group, endpoints) }
}

const callOf = (more: Partial<Call> = {}): Call => ownRead({ method: 'eth_call', params: [], deadline: 1e6, ...more })
const now = () => clock.now()
const pause = ({ queue }: Endpoint, until: number) => void Object.assign(queue, { pausedUntil: until })

/** The costs of an endpoint, in ascending order. */
const against: [string, (endpoint: Endpoint, other: Endpoint, group: EndpointGroup) => Partial<Call> | Promise<void> | void][] = [
  [
    'is behind',
    (endpoint, other, { heads }) => {
      heads.told(other.blocks.head, 100, now())
      heads.told(endpoint.blocks.head, 90, now())
    },
  ],
  ['is not the one that the call is pinned to', (_, other) => ({ pin: Object.assign(new Pin(), { endpoint: other.name }) })],
  ['has failed the call', ({ name }) => ({ tried: [name] })],
  ['is paused', (endpoint) => pause(endpoint, now() + 1000)],
  ['is out', ({ health }) => health.giveUp(now())],
  ['is out, and silent', (endpoint) => endpoint.giveUp(now(), 'no reply', () => false)],
  [
    'lacks the method',
    (endpoint) =>
      endpoint.ask(callOf(), undefined).then(
        () => expect.fail('it has the method'),
        () => {},
      ),
  ],
]

describe('a call goes elsewhere rather than to an endpoint that', () => {
  test.each(against)('%s', async (_, burden) => {
    const { group, endpoints, choice } = endpointsOf('a', 'b')
    const [a, b] = endpoints as [Endpoint, Endpoint]
    const more = await burden(a, b, group)
    expect(choice.best(callOf(more ?? {}), newest, [], now())).toBe(b)
  })

  test.each(against.slice(1).map(([worse, heavy], i) => [worse, ...(against[i] as (typeof against)[0]), heavy] as const))(
    '%s, even to one that %s',
    async (_worse, _better, light, heavy) => {
      const { group, endpoints, choice } = endpointsOf('a', 'b')
      const [a, b] = endpoints as [Endpoint, Endpoint]
      const call = callOf({ ...(await heavy(a, b, group)), ...(await light(b, a, group)) })
      expect(choice.best(call, newest, [], now())).toBe(b)
    },
  )
})

test('the last attempt of a call waits for an endpoint that throttles rather than to go where it has failed', () => {
  const { endpoints, choice } = endpointsOf('a', 'b')
  const [failing, throttling] = endpoints as [Endpoint, Endpoint]
  const last = waitingForSlow(callOf({ attempts: 4, tried: [failing.name] }))
  pause(throttling, now() + 1000)
  expect(choice.best(callOf({ attempts: 4, tried: [failing.name] }), undefined, [], now())).toBe(failing)
  expect(choice.best(last, undefined, [], now())).toBe(throttling)
  expect([choice.hasFree(last, undefined, [], throttling, now()), choice.hasFree(callOf(), undefined, [], throttling, now())]).toEqual([false, true])
  // But not for long.
  pause(throttling, now() + 5000)
  expect(choice.best(last, undefined, [], now())).toBe(failing)
  // Nor after a single failure.
  pause(throttling, now() + 1000)
  expect(choice.best(waitingForSlow(callOf({ attempts: 2, tried: [failing.name] })), undefined, [], now())).toBe(failing)
})

describe('if all have the same fault, a call goes to', () => {
  test('the one that has failed it least recently', () => {
    const { endpoints, choice } = endpointsOf('a', 'b', 'c')
    expect(choice.best(callOf({ tried: ['b', 'c', 'a'] }), undefined, [], now())).toBe(endpoints[1])
  })

  test('the one that is due back first', async () => {
    const { endpoints, choice } = endpointsOf('a', 'b')
    endpoints[1]?.health.giveUp(now())
    await clock.sleep(100)
    endpoints[0].health.giveUp(now())
    expect(choice.best(callOf(), undefined, [], now())).toBe(endpoints[1])
  })

  test('the one whose pause ends first', () => {
    const { endpoints, choice } = endpointsOf('a', 'b')
    for (const [i, endpoint] of endpoints.entries()) pause(endpoint, now() + 2000 - 1000 * i)
    expect(choice.best(callOf(), undefined, [], now())).toBe(endpoints[1])
  })
})

describe('an endpoint is never chosen', () => {
  test('if the call has passed it over, or it is on another chain', () => {
    const { endpoints, choice } = endpointsOf('a', 'b', 'c')
    const [a, b, c] = endpoints as [Endpoint, Endpoint, Endpoint]
    expect(choice.best(callOf(), undefined, [a], now())).toBe(b)
    b.ownChain.wrong = new IntegrityError('on another chain')
    expect(choice.best(callOf(), undefined, [a], now())).toBe(c)
    expect(choice.best(callOf(), undefined, [a, c], now())).toBeUndefined()
  })
})

describe('among working endpoints', () => {
  test('interactive calls stay where they are until another one is clearly faster', () => {
    const { endpoints, choice } = endpointsOf('a', 'b')
    const [a, b] = endpoints as [Endpoint, Endpoint]
    a.health.took(3, now())
    expect(choice.best(callOf(), undefined, [], now())).toBe(b)
    b.health.took(3.5, now())
    expect(choice.best(callOf(), undefined, [], now())).toBe(b)
    b.health.took(5, now() + 60_000)
    expect(choice.best(callOf(), undefined, [], now())).toBe(a)
  })

  test('bulk calls go to the one with the fewest calls', () => {
    const { endpoints, choice } = endpointsOf('a', 'b')
    endpoints[0].health.calls = 5
    expect(choice.best(callOf({ priority: 'bulk' }), undefined, [], now())).toBe(endpoints[1])
    expect(choice.best(callOf(), undefined, [], now())).toBe(endpoints[0])
  })

  test('one without the block of the call is passed over', () => {
    const { group, endpoints, choice } = endpointsOf('a', 'b')
    const [a, b] = endpoints as [Endpoint, Endpoint]
    group.heads.told(b.blocks.head, 100, now())
    group.heads.told(a.blocks.head, 90, now())
    const needs = (number: number): Trait => ({ needs: () => number })
    expect(choice.best(callOf(), needs(95), [], now())).toBe(b)
    expect(endpointsOf('a', 'b').choice.best(callOf(), needs(95), [], now())?.name).toBe('a')
  })
})

test('an endpoint is free if it works, is not paused, and has not been passed over', () => {
  const { endpoints, choice } = endpointsOf('a', 'b')
  const [a, b] = endpoints as [Endpoint, Endpoint]
  const isFree = (passed: readonly Endpoint[], except: Endpoint) => choice.hasFree(callOf(), undefined, passed, except, now())
  expect(isFree([], a)).toBe(true)
  expect(isFree([b], a)).toBe(false)
  pause(b, now() + 1)
  expect(isFree([], a)).toBe(false)
  pause(b, now())
  expect(isFree([], a)).toBe(true)
  b.health.giveUp(now())
  expect(isFree([], a)).toBe(false)
  expect(isFree([], b)).toBe(true)
  a.ownChain.wrong = new HexlineError('on another chain', 'integrity')
  expect(isFree([], b)).toBe(false)
})

test('an endpoint that lacks the method, or the block, is not free for the call', async () => {
  const { endpoints, choice } = endpointsOf('a', 'b')
  const [a, b] = endpoints as [Endpoint, Endpoint]
  const old: Trait = { needs: () => 5, reads: 'blocks' }
  expect(choice.hasFree(callOf(), old, [], a, now())).toBe(true)
  b.blocks.history.toldOldest('blocks', 6, now())
  expect(choice.hasFree(callOf(), old, [], a, now())).toBe(false)
  expect(choice.hasFree(callOf(), undefined, [], a, now())).toBe(true)
  await b.ask(callOf(), undefined).catch(() => {})
  expect(choice.hasFree(callOf(), undefined, [], a, now())).toBe(false)
  expect(choice.hasFree(callOf({ method: 'eth_chainId' }), undefined, [], a, now())).toBe(true)
})
