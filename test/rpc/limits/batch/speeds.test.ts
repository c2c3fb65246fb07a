import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../src/rpc/call.ts'
import { Speeds } from '../../../../src/rpc/limits/batch/speeds.ts'
import { type Answer, each, gate, honest, type Received, right } from '../../../support/server.ts'
import { virtualWorld } from '../../../support/virtual-server.ts'

const { serve, clientOf, sleep } = virtualWorld()

const calls = (...methods: string[]) => methods.map((method) => ({ method }) as Call)
const speedsOf = (heavy = '') => new Speeds((method) => method === heavy)
const methodsOf = ({ entries }: Received) => entries.map(({ method }) => method).sort()

describe('calls of one turn', () => {
  test('do not wait for a heavy one, which goes separately before anything is learnt', async () => {
    const held = gate()
    const server = await serve((request, response) => (methodsOf(request).includes('eth_getLogs') ? held.answer : honest)(request, response))
    const client = clientOf(server.url)
    const logs = client.request({ method: 'eth_getLogs', params: [{}] })
    const number = client.request({ method: 'eth_blockNumber' })
    const gas = client.request({ method: 'eth_gasPrice' })
    await Promise.all([number, gas])
    held.open()
    await logs
    expect(server.requests.map(methodsOf).sort()).toEqual([['eth_blockNumber', 'eth_gasPrice'], ['eth_getLogs']])
  })

  test('do not wait for one that was slow on its own', async () => {
    const slowly: Answer = async (request, response) => {
      if (methodsOf(request).includes('eth_call')) await sleep(500)
      return each(right)(request, response)
    }
    const held = gate()
    const server = await serve(slowly)
    const client = clientOf(server.url)
    await client.request({ method: 'eth_blockNumber' })
    await client.request({ method: 'eth_call' })
    server.script((request, response) => (methodsOf(request).includes('eth_call') ? held.answer : honest)(request, response))
    const slow = client.request({ method: 'eth_call' })
    await client.request({ method: 'eth_blockNumber' })
    held.open()
    await slow
    expect(server.requests.map(methodsOf)).toHaveLength(4)
  })

  test('stay together if no slot is free for another POST, and so do bulk calls', async () => {
    const server = await serve(honest)
    const ask = (client: Pick<ReturnType<typeof clientOf>, 'send'>) =>
      Promise.all([client.send({ method: 'eth_getLogs', params: [{}] }), client.send({ method: 'eth_blockNumber' })])
    await ask(clientOf(server.url, { concurrency: 1 }))
    await ask(clientOf(server.url).with({ priority: 'bulk' }))
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([2, 2])
  })

  test('of similar speed stay together, for any number of methods', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const methods = ['eth_getBalance', 'eth_getCode', 'eth_call', 'eth_chainId']
    for (let turn = 0; turn < 50; turn++)
      await Promise.all(Array.from({ length: 64 }, (_, i) => client.request({ method: methods[i % 4] as string, params: [i] })))
    expect(server.requests).toHaveLength(50)
  })
})

describe('the time of a method', () => {
  test('is that of its single calls, and follows them', () => {
    const speeds = speedsOf()
    speeds.learn(calls('quick'), 20)
    speeds.learn(calls('slow'), 1500)
    expect(speeds.areSplit('quick', 'slow')).toBe(true)
    for (let i = 0; i < 20; i++) speeds.learn(calls('slow'), 30)
    expect(speeds.areSplit('quick', 'slow')).toBe(false)
  })

  test('does not depend on one random delay', () => {
    const speeds = speedsOf()
    for (const method of ['one', 'other', 'one', 'other']) speeds.learn(calls(method), 5)
    speeds.learn(calls('other'), 300)
    expect(speeds.areSplit('one', 'other')).toBe(false)
  })

  test('is no longer than a POST that contained it', () => {
    const speeds = speedsOf('heavy')
    speeds.learn(calls('quick'), 20)
    expect(speeds.areSplit('quick', 'heavy')).toBe(true)
    speeds.learn(calls('heavy', 'quick'), 25)
    expect(speeds.areSplit('quick', 'heavy')).toBe(false)
  })

  test('is a share of a POST of many such calls', () => {
    const speeds = speedsOf()
    speeds.learn(calls('one'), 20)
    speeds.learn(calls(...new Array(64).fill('other')), 300)
    expect(speeds.areSplit('one', 'other')).toBe(false)
  })

  test('is measured by a separate POST if it is unknown in a slow POST of several methods', () => {
    const speeds = speedsOf()
    expect(speeds.areSplit('one', 'other')).toBe(false)
    speeds.learn(calls('one', 'other'), 1500)
    expect(speeds.areSplit('one', 'other')).toBe(true)
    speeds.learn(calls('one'), 30)
    expect(speeds.areSplit('one', 'other')).toBe(true)
    speeds.learn(calls('other'), 1480)
    expect(speeds.areSplit('one', 'other')).toBe(true)
  })

  test('separates nothing at an endpoint where everything is slow', () => {
    const speeds = speedsOf()
    speeds.learn(calls('one', 'other'), 1500)
    speeds.learn(calls('one'), 1500)
    speeds.learn(calls('other'), 1500)
    expect(speeds.areSplit('one', 'other')).toBe(false)
  })
})
