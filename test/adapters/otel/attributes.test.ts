import { describe, expect, it, test } from 'vitest'
import { endpointAttributes, rpcMethod } from '../../../adapters/otel/attributes.ts'

describe('host, port and name of an endpoint', () => {
  it.each([
    ['node.example.com', { 'server.address': 'node.example.com' }],
    ['127.0.0.1:8545', { 'server.address': '127.0.0.1', 'server.port': 8545 }],
    ['node.example.com:8545#2', { 'server.address': 'node.example.com', 'server.port': 8545 }],
    ['node.example.com#3', { 'server.address': 'node.example.com' }],
    ['[::1]:8545', { 'server.address': '::1', 'server.port': 8545 }],
    ['[2001:db8::1]', { 'server.address': '2001:db8::1' }],
    ['myPost', { 'server.address': 'myPost' }],
  ])('%s', (endpoint, expected) => {
    expect(endpointAttributes(endpoint)).toEqual({ ...expected, 'hexline.endpoint': endpoint })
    // The same object from the second time on.
    expect(endpointAttributes(endpoint)).toBe(endpointAttributes(endpoint))
  })
})

test('methods beyond the table share a name', () => {
  expect(rpcMethod('eth_call')).toBe('eth_call')
  expect(rpcMethod('toString')).toBe('_OTHER')
})

test('of ever new endpoints are not kept for ever', () => {
  const first = endpointAttributes('node0.example.com')
  for (let i = 1; i <= 100; i++) endpointAttributes(`node${i}.example.com`)
  expect(endpointAttributes('node0.example.com')).toEqual(first)
  expect(endpointAttributes('node0.example.com')).not.toBe(first)
})
