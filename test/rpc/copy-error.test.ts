import { describe, expect, test } from 'vitest'
import { NetworkError, RpcError, ServiceError } from '../../src/errors.ts'
import { copyError } from '../../src/rpc/copy-error.ts'

const said = new RpcError(
  { code: -32000, message: 'no such block', data: '0x' },
  { method: 'eth_call', endpoint: 'node', status: 400, retryAfterMs: 5, cause: new Error('why'), object: { code: -32000, trace: 'abc' } },
)

describe('a copy of an error', () => {
  test('has the same contents, and is a new object of the same class', () => {
    const copy = copyError(said)
    expect(copy).not.toBe(said)
    expect(copy).toBeInstanceOf(RpcError)
    expect(Object.getPrototypeOf(copy)).toBe(RpcError.prototype)
    expect({ ...copy }).toEqual({ ...said })
    for (const field of ['message', 'cause', 'object'] as const) expect(copy[field]).toBe(said[field])
    expect(Object.keys(copy)).toEqual(Object.keys(said))
    expect(Error.prototype.toString.call(copy)).toBe('RpcError: node: eth_call: no such block')
  })

  test('may be for another method, named in its message', () => {
    expect(copyError(said, 'eth_getLogs')).toMatchObject({ method: 'eth_getLogs', message: 'node: eth_getLogs: no such block', said: 'no such block' })
  })

  test('of the REST API may be for another operation', () => {
    const throttled = new ServiceError({ operation: 'getStreams', status: 429, said: 'slow down', body: null }, { endpoint: 'host' })
    expect(copyError(throttled, 'getTransaction')).toMatchObject({ method: 'getTransaction', message: 'getTransaction: host answered HTTP 429: slow down' })
  })

  test('keeps a message that does not begin with the method', () => {
    const lost = new NetworkError('node: no connection', { endpoint: 'node' })
    expect(copyError(lost, 'eth_call')).toMatchObject({ method: 'eth_call', message: 'node: no connection' })
    expect(lost.method).toBeUndefined()
  })

  test('of a frozen error can be changed, and the original does not change', () => {
    const frozen = Object.freeze(new NetworkError('no connection', { method: 'eth_call' }))
    const copy = Object.assign(copyError(frozen, 'eth_getLogs'), { endpoint: 'node', attempts: 3 })
    expect(copy).toMatchObject({ method: 'eth_getLogs', endpoint: 'node', attempts: 3 })
    expect(frozen).toMatchObject({ method: 'eth_call', endpoint: undefined, attempts: 0 })
  })
})
