import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import type { ThrottleEvent } from '../../src/index.ts'
import { getTransaction, type RestOptions, type Service, ServiceError, type Transaction } from '../../src/rest/index.ts'
import { createLimit } from '../../src/sandbox/rate.ts'
import { type Answer, always, KEY, type RestServer, serveRest } from '../support/rest-server.ts'
import { errorOf } from '../support/server.ts'

const hashOf = (i: number) => `0x${i.toString(16).padStart(64, '0')}`

/** The requested transaction. */
const found: Answer = (asked, response) => always({ hash: asked.path.split('/').at(-1) })(asked, response)
const unknown = always({ message: 'not found' }, { status: 404 })

/** A service that answers this many calls per second, and throttles the others. */
function serveLimited(perSecond: number, throttled: Answer, answer = found): Promise<RestServer> {
  const take = createLimit(perSecond)
  return serveRest((asked, response) => {
    try {
      take(1)
    } catch {
      return throttled(asked, response)
    }
    return answer(asked, response)
  })
}

const tooMany = (headers: Record<string, string> = {}) => always({ message: 'Too many' }, { status: 429, headers })

function transactions(service: Service, count: number, options?: RestOptions): Promise<PromiseSettledResult<Transaction | null>>[] {
  return Array.from({ length: count }, async (_, i) => (await Promise.allSettled([getTransaction(service, { transaction_hash: hashOf(i) }, options)]))[0])
}

function failuresOf(ended: readonly PromiseSettledResult<unknown>[]): unknown[] {
  return ended.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
}

describe('every call of a burst beyond the limit is answered', () => {
  test.each<[string, number, number, Answer]>([
    ['only x-rate-limit headers', 25, 200, tooMany({ 'x-rate-limit-limit': '25', 'x-rate-limit-remaining': '0' })],
    ['the time of the reset', 100, 250, tooMany({ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '1' })],
    ['Retry-After', 100, 250, tooMany({ 'retry-after': '1' })],
    ['only a status', 100, 250, tooMany()],
    ['503 and Retry-After', 100, 250, always('', { status: 503, headers: { 'retry-after': '1' } })],
  ])('with %s', async (_, perSecond, count, throttled) => {
    const { service } = await serveLimited(perSecond, throttled)
    const ended = await Promise.all(transactions(service, count))
    expect(failuresOf(ended)).toHaveLength(0)
    expect(ended.map((each) => (each as PromiseFulfilledResult<Transaction>).value.hash)).toEqual(ended.map((_, i) => hashOf(i)))
  })

  it('also if the answer is null', async () => {
    const { service } = await serveLimited(50, tooMany(), unknown)
    const ended = await Promise.all(transactions(service, 150))
    expect(ended).toEqual(Array(150).fill({ status: 'fulfilled', value: null }))
  })
})

describe('the learnt rate', () => {
  it('paces later calls, whatever object describes the service', async () => {
    let refused = 0
    const server = await serveLimited(100, (asked, response) => {
      refused++
      return tooMany()(asked, response)
    })
    await Promise.all(transactions(server.service, 250))
    const ofFirst = refused
    await Promise.all(transactions({ ...server.service }, 250))
    expect(refused - ofFirst).toBeLessThan(ofFirst / 2)
  })

  it('belongs to one key: calls with another are not delayed', async () => {
    let held = 0
    const server = await serveRest((asked, response) => {
      if (asked.headers['x-api-key'] !== KEY) return found(asked, response)
      held++
      return tooMany({ 'retry-after': '3600' })(asked, response)
    })
    const waits = new AbortController()
    const first = transactions(server.service, 1, { deadlineMs: Number.POSITIVE_INFINITY, signal: waits.signal })
    await server.received(1)
    expect(failuresOf(await Promise.all(transactions({ ...server.service, apiKey: 'another' }, 5)))).toEqual([])
    waits.abort('enough')
    expect(await Promise.all(first)).toEqual([{ status: 'rejected', reason: 'enough' }])
    expect(held).toBe(1)
  })

  it('is published on hexline:throttle', async () => {
    const told: ThrottleEvent[] = []
    const listen = (message: unknown) => void told.push(message as ThrottleEvent)
    subscribe('hexline:throttle', listen)
    onTestFinished(() => void unsubscribe('hexline:throttle', listen))
    const server = await serveRest(tooMany({ 'retry-after': '0.1' }), found)
    await Promise.all(transactions(server.service, 1))
    expect(told).toMatchObject([{ endpoint: new URL(server.url).host, kind: 'rate-limit', retryAfterMs: 100 }])
  })
})

describe('a throttled call', () => {
  it('is answered even after more refusals than it has attempts', async () => {
    const server = await serveRest(...(Array(6).fill(tooMany({ 'retry-after': '0.01' })) as [Answer]), found)
    expect(await Promise.all(transactions(server.service, 1, { retry: { attempts: 2, baseDelayMs: 1 } }))).toMatchObject([{ status: 'fulfilled' }])
    expect(server.requests).toHaveLength(7)
  })

  it('fails with the service’s message if the pause outlasts its deadline; so do the calls behind it, unsent', async () => {
    const server = await serveRest(tooMany({ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '3600' }))
    const ask = () => errorOf<ServiceError>(getTransaction(server.service, { transaction_hash: hashOf(1) }))
    expect(await ask()).toMatchObject({ kind: 'rate-limit', said: 'Too many', retryAfterMs: 3_600_000, attempts: 1 })
    expect(await ask()).toBeInstanceOf(ServiceError)
    expect(await ask()).toMatchObject({ kind: 'rate-limit', said: 'Too many', attempts: 0 })
    expect(server.requests).toHaveLength(1)
  })

  it('fails at once if the quota is used up', async () => {
    const server = await serveRest(always({ message: 'Your monthly quota has been exceeded' }, { status: 429 }))
    expect(failuresOf(await Promise.all(transactions(server.service, 1)))).toMatchObject([{ kind: 'quota', attempts: 1 }])
  })
})
