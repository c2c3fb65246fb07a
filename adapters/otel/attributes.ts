import type { Attributes } from '@opentelemetry/api'
import { isKnown } from '../../src/eth/methods.ts'

/*
 * Names are those of OpenTelemetry's conventions for JSON-RPC, as far as these go:
 * https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/
 */

/** A method of the table, or `_OTHER`: few values, whatever a program calls. */
export function rpcMethod(method: string): string {
  return isKnown(method) ? method : '_OTHER'
}

/** The attributes that name an endpoint, such as `node.example.com:8545#2`. Not to be changed. */
export function endpointAttributes(endpoint: string): Attributes {
  let attributes = known.get(endpoint)
  if (attributes === undefined) {
    const [, host = endpoint, port] = /^(.*?)(?::(\d+))?(?:#\d+)?$/.exec(endpoint) ?? []
    const address = host.replace(/^\[(.*)\]$/, '$1')
    attributes = Object.freeze({ 'server.address': address, ...(port !== undefined && { 'server.port': Number(port) }), 'hexline.endpoint': endpoint })
    // Programs may take URLs from their users.
    if (known.size === MOST_KNOWN) known.clear()
    known.set(endpoint, attributes)
  }
  return attributes
}

/** By the name of the endpoint: each call has them. */
const known = new Map<string, Attributes>()
const MOST_KNOWN = 100
