import { describe, expect, it, test } from 'vitest'
import { rpcMethod, serverAttributes } from '../../../adapters/otel/attributes.ts'

describe('host and port of an endpoint', () => {
  it.each([
    ['node.example.com', { 'server.address': 'node.example.com' }],
    ['127.0.0.1:8545', { 'server.address': '127.0.0.1', 'server.port': 8545 }],
    ['node.example.com:8545#2', { 'server.address': 'node.example.com', 'server.port': 8545 }],
    ['node.example.com#3', { 'server.address': 'node.example.com' }],
    ['[::1]:8545', { 'server.address': '::1', 'server.port': 8545 }],
    ['[2001:db8::1]', { 'server.address': '2001:db8::1' }],
    ['myPost', { 'server.address': 'myPost' }],
  ])('%s', (endpoint, expected) => {
    expect(serverAttributes(endpoint)).toEqual(expected)
  })
})

test('methods beyond the table share a name', () => {
  expect(rpcMethod('eth_call')).toBe('eth_call')
  expect(rpcMethod('toString')).toBe('_OTHER')
})
