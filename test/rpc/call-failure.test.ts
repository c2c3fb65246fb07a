import { createClient, HexlineError, type Layer, NetworkError, type Post, RpcError, replyOf } from 'hexline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownRead } from '../../src/rpc/call.ts'
import { atTheEdge, CallFailure, errorFor, failureFrom } from '../../src/rpc/call-failure.ts'
import { errorOf } from '../support/server.ts'

const call = ownRead({ method: 'eth_chainId', params: [], deadline: 1000 })
const lost = () => new NetworkError('no connection', { endpoint: 'a' })

describe('a rejection is', () => {
  test('the failure itself if it is one', () => {
    const failure = new CallFailure(lost(), 1, 'a')
    expect(failureFrom(failure, undefined)).toBe(failure)
  })

  test('for an error of a layer, a failure with a copy of it', () => {
    const error = Object.freeze(errorFor(lost(), 3))
    const failure = failureFrom(error, new AbortController().signal)
    expect(failure).toMatchObject({ posts: 3, endpoint: 'a', wasSent: true, error: { name: 'NetworkError', message: 'no connection' } })
    expect(failure?.error).not.toBe(error)
  })

  test('no failure if the caller aborted with it, even with a hexline error', () => {
    const error = lost()
    expect(failureFrom(error, AbortSignal.abort(error))).toBeUndefined()
    expect(failureFrom(error, AbortSignal.abort('enough'))).toBeInstanceOf(CallFailure)
  })

  test('no failure if it is anything else, such as a bug', () => {
    for (const reason of [new TypeError('a bug'), 'enough', undefined]) expect(failureFrom(reason, undefined)).toBeUndefined()
  })
})

test.each([0, 1, 2])('a call that was in %i POSTs was sent if there was one', (posts) => {
  expect(new CallFailure(lost(), posts, 'a').wasSent).toBe(posts > 0)
})

describe('outside the pipeline', () => {
  test('a call rejects with an error that counts its attempts and shows its caller', async () => {
    const send = atTheEdge(() => Promise.reject(new CallFailure(lost(), 2, 'a')))
    async function theCaller() {
      await send(call)
    }
    const error = await errorOf<HexlineError>(theCaller())
    expect(error).toBeInstanceOf(HexlineError)
    expect(error.attempts).toBe(2)
    expect(error.stack).toContain('theCaller')
  })

  test('any other reason is unchanged', async () => {
    const bug = new TypeError('a bug')
    await expect(atTheEdge(() => Promise.reject(bug))(call)).rejects.toBe(bug)
  })
})

describe('a layer below the retries', () => {
  function clientWith(layer: Layer, post: Post) {
    const layers = (defaults: readonly Layer[]) => [...defaults, layer]
    const client = createClient(post, { retry: { attempts: 2, baseDelayMs: 1 }, layers })
    onTestFinished(() => client.close())
    return client
  }

  test('may reject with a frozen error', async () => {
    const frozen = Object.freeze(new RpcError({ code: 3, message: 'execution reverted' }, { method: 'eth_call' }))
    const client = clientWith(
      () => () => Promise.reject(frozen),
      async (calls) => calls.map(() => replyOf('0x1')),
    )
    expect(await errorOf(client.request({ method: 'eth_call', params: [{}, 'latest'] }))).toMatchObject({
      name: 'RpcError',
      said: 'execution reverted',
      attempts: 0,
    })
  })

  test('sees errors with the endpoint and the attempt', async () => {
    const seen: unknown[] = []
    const look: Layer = (next) => (call) =>
      next(call).catch((error) => {
        seen.push({ ...(error as HexlineError) })
        throw error
      })
    const post: Post = async (calls) => calls.map(() => new RpcError({ code: -32603, message: 'not now' }, { kind: 'server' }))
    expect(await errorOf(clientWith(look, post).request({ method: 'eth_chainId' }))).toMatchObject({ endpoint: 'post', attempts: 2 })
    expect(seen).toMatchObject([
      { name: 'RpcError', endpoint: 'post', attempts: 1 },
      { name: 'RpcError', endpoint: 'post', attempts: 1 },
    ])
  })
})
