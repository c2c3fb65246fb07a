import { expect, test } from 'vitest'
import { NetworkError, RpcError } from '../../src/errors.ts'
import { serverMessage } from '../../src/rpc/server-message.ts'

test("the server's message is its own words, without endpoint and method; without any, the error's message", () => {
  expect(serverMessage(new RpcError({ code: 3, message: 'execution reverted' }, { endpoint: 'node', method: 'eth_call' }))).toBe('execution reverted')
  expect(serverMessage(new NetworkError('node: no connection', { endpoint: 'node' }))).toBe('node: no connection')
})
