import type { Attributes } from '@opentelemetry/api'
import { isKnown } from '../../src/eth/methods.ts'

/*
 * Names are those of OpenTelemetry's conventions for JSON-RPC, as far as these go:
 * https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/
 */

/** What all calls have in common. */
export const JSON_RPC: Attributes = { 'rpc.system.name': 'jsonrpc', 'jsonrpc.protocol.version': '2.0' }

/** A method of the table, or `_OTHER`: few values, whatever a program calls. */
export function rpcMethod(method: string): string {
  return isKnown(method) ? method : '_OTHER'
}

/** Host and port from the name of an endpoint, such as `node.example.com:8545#2`. */
export function serverAttributes(endpoint: string): Attributes {
  const [, host = endpoint, port] = /^(.*?)(?::(\d+))?(?:#\d+)?$/.exec(endpoint) ?? []
  return { 'server.address': host.replace(/^\[(.*)\]$/, '$1'), ...(port !== undefined && { 'server.port': Number(port) }) }
}
