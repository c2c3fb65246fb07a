import { describe, expect, test } from 'vitest'
import { type HexlineError, NetworkError, RpcError, TimeoutError } from '../../../src/errors.ts'
import { type Call, ownRead } from '../../../src/rpc/call.ts'
import { CallFailure } from '../../../src/rpc/call-failure.ts'
import { Pin } from '../../../src/rpc/pin.ts'
import type { Queue } from '../../../src/rpc/queue/queue.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { Endpoint, EndpointGroup } from '../../../src/rpc/route/endpoint.ts'
import { Health } from '../../../src/rpc/route/health.ts'
import { HEAD, type Protocol, type Trait } from '../../../src/rpc/route/protocol.ts'
import { errorOf } from '../../support/server.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/* Several endpoints behind a client: route.test.ts. */

const newest: Trait = { needs: () => HEAD, tells: Number }
const numbered: Trait = { needs: ([number]) => Number(number), tells: (block) => Number((block as { number: number }).number) }
const protocol: Protocol = {
  traitOf: (method) => (method === 'head' ? newest : undefined),
  askHead: { method: 'head', params: [] },
  askBlock: (number) => ({ method: 'block', params: [number] }),
  askChain: { method: 'chain', params: [] },
  chainOf: (result) => (typeof result === 'number' ? result : undefined),
  partOf: {},
  askHistory: { method: 'eth_capabilities', params: [] },
  historyOf: () => new Map(),
  oldestIn: () => undefined,
}

type Results = Record<string, unknown>

/** An endpoint whose queue returns these results by method; an error among them is a failure. */
function endpointOf(
  results: Results,
  { declared, isRight = false, group = new EndpointGroup(protocol, declared), clock = new VirtualClock(), posts = 1 } = {} as Setup,
) {
  const sent: Call[] = []
  const turnedAway: HexlineError[] = []
  const queue = {
    name: 'node',
    pausedUntil: 0,
    async send(call: Call) {
      sent.push(call)
      const result = results[call.method]
      if (result instanceof Error) throw new CallFailure(result as HexlineError, posts, 'node')
      return replyOf(result, 10)
    },
    turnAway: (failure: HexlineError) => turnedAway.push(failure),
  } as unknown as Queue
  const endpoint = new Endpoint({ queue, health: new Health('node') }, group, isRight, clock)
  return { endpoint, group, sent, turnedAway, clock, methods: () => sent.map(({ method }) => method) }
}
interface Setup {
  declared?: number
  isRight?: boolean
  group?: EndpointGroup
  clock?: VirtualClock
  posts?: number
}

const callOf = (method: string, more: Partial<Call> = {}) => ownRead({ method, params: [], deadline: 1e6, ...more })
const rpc = (kind: 'unsupported' | 'auth' | 'execution') => new RpcError({ code: -32000, message: 'no' }, { kind })

describe('the chain of an endpoint', () => {
  test('is requested with its first call, and not again once it is confirmed', async () => {
    const { endpoint, group, methods } = endpointOf({ chain: 5, a: 'A' })
    expect((await endpoint.ask(callOf('a'), undefined)).take()).toBe('A')
    await endpoint.ask(callOf('a'), undefined)
    expect(methods()).toEqual(['chain', 'a', 'a'])
    expect([group.chain.id, group.chain.isKnown]).toEqual([5, true])
  })

  test('is known before an unsafe call is sent', async () => {
    const { endpoint, methods } = endpointOf({ chain: 5, a: 'A' }, { declared: 1 })
    const error = await errorOf<CallFailure>(endpoint.ask(callOf('a', { safe: false }), undefined))
    expect(error.error).toMatchObject({ kind: 'integrity', method: 'a', message: 'node is taken out: it is on chain 5, not 1' })
    expect(methods()).toEqual(['chain'])
  })

  test('that differs takes it out for good: no call gets its answer', async () => {
    const { endpoint } = endpointOf({ chain: 5, a: 'A' }, { declared: 1 })
    expect(await errorOf(endpoint.ask(callOf('a'), undefined))).toMatchObject({ error: { kind: 'integrity' } })
    expect(endpoint.wrong).toMatchObject({ kind: 'integrity', endpoint: 'node' })
  })

  test('stays unknown at an endpoint without the method', async () => {
    const { endpoint, methods } = endpointOf({ chain: rpc('unsupported'), a: 'A' }, { declared: 1 })
    expect((await endpoint.ask(callOf('a'), undefined)).take()).toBe('A')
    await endpoint.ask(callOf('a'), undefined)
    expect(methods()).toEqual(['chain', 'a', 'a'])
  })

  test('is requested again with the next call if that failed', async () => {
    const results: Results = { chain: new NetworkError('no connection'), a: 'A' }
    const { endpoint, methods } = endpointOf(results)
    expect(await errorOf(endpoint.ask(callOf('a'), undefined))).toMatchObject({ error: { kind: 'network' } })
    results.chain = 5
    expect((await endpoint.ask(callOf('a'), undefined)).take()).toBe('A')
    expect(methods()).toEqual(['chain', 'a', 'chain', 'a'])
  })
})

describe('an endpoint learns from replies', () => {
  test('its newest block, and so do the pins of the calls', async () => {
    const { endpoint } = endpointOf({ head: 100, block: { number: 105 } }, { isRight: true })
    const pin = new Pin()
    const reply = await endpoint.ask(callOf('head', { pin }), newest)
    expect([reply.take(), reply.bytes]).toEqual([100, 10])
    expect([endpoint.blocks.head.number, pin.newest]).toEqual([100, 100])
    await endpoint.ask(callOf('block', { pin, params: [105] }), numbered)
    expect([endpoint.blocks.head.number, pin.newest]).toEqual([105, 105])
  })

  test('that a result in bytes proves the requested block, and null does not', async () => {
    const { endpoint } = endpointOf({ block: Buffer.from('{"number":1}'), none: Buffer.from('null') }, { isRight: true })
    await endpoint.ask(callOf('block', { params: [70] }), numbered)
    await endpoint.ask(callOf('none', { params: [80] }), numbered)
    expect(endpoint.blocks.head.number).toBe(70)
  })

  test.each(['unsupported', 'auth'] as const)('that it lacks a method (%s), for ten minutes', async (kind) => {
    const { endpoint, clock } = endpointOf({ a: rpc(kind), b: rpc('execution') }, { isRight: true })
    await errorOf(endpoint.ask(callOf('a'), undefined))
    await errorOf(endpoint.ask(callOf('b'), undefined))
    const now = clock.now()
    expect([endpoint.lacks('a', now + 599_999), endpoint.lacks('a', now + 600_000), endpoint.lacks('b', now)]).toEqual([true, false, false])
  })

  test('from a timeout that it is out: calls in its line that do not wait are handed over', async () => {
    const { endpoint, turnedAway } = endpointOf({ a: new TimeoutError('node: no reply', { endpoint: 'node' }) }, { isRight: true })
    await errorOf(endpoint.ask(callOf('a'), undefined))
    expect(endpoint.health.isOut).toBe(true)
    expect(endpoint.said).toBe('node: no reply')
    expect(turnedAway).toMatchObject([{ name: 'NetworkError', unsent: true, message: 'node: not sent, since it is left out: node: no reply' }])
  })

  test('nothing from a call that timed out in its line', async () => {
    const { endpoint } = endpointOf({ a: new TimeoutError('a: no answer', { unsent: true }) }, { isRight: true, posts: 0 })
    await errorOf(endpoint.ask(callOf('a'), undefined))
    expect([endpoint.health.isOut, endpoint.said, endpoint.health.calls]).toEqual([false, undefined, 0])
  })
})

describe('the request for the newest block', () => {
  test('is made with the one for the chain, whose reply waits until a call decides the chain', async () => {
    const { endpoint, group, methods } = endpointOf({ head: 100, chain: 5 })
    const asked = endpoint.askHead()
    expect(endpoint.isAskedForHead).toBe(true)
    await new Promise((resolve) => setImmediate(resolve))
    expect([methods(), group.chain.id, endpoint.blocks.head.number]).toEqual([['chain', 'head'], undefined, -1])
    group.chain.answered(5, 'another')
    await asked
    expect([endpoint.isAskedForHead, endpoint.blocks.head.number, endpoint.wrong]).toEqual([false, 100, undefined])
  })

  test('does not wait for a pause, and waits at most three seconds for its reply', async () => {
    const { endpoint, sent, clock } = endpointOf({ head: 100 }, { isRight: true })
    await endpoint.askHead(undefined, clock.now() + 50)
    await endpoint.askHead()
    expect(sent).toMatchObject([50, 3000].map((ms) => ({ whilePaused: 'fail', isBound: true, deadline: clock.now() + ms })))
  })

  test('never rejects; an endpoint that is out and does not answer stays out longer', async () => {
    const clock = new VirtualClock()
    const { endpoint } = endpointOf({ head: new NetworkError('no connection', { unsent: true }) }, { isRight: true, clock, posts: 0 })
    endpoint.health.giveUp(clock.now())
    await clock.sleep(1000)
    await endpoint.askHead(AbortSignal.abort())
    expect(endpoint.health.dueAt).toBe(clock.now())
    await endpoint.askHead()
    expect(endpoint.health.dueAt).toBe(clock.now() + 2000)
  })
})
