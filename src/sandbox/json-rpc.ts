import type { HexlineError } from '../errors.ts'
import { fillOmitted } from '../eth/methods.ts'
import { createExchange } from '../http/create-exchange.ts'
import { type Scrub, scrubber } from '../http/secrets.ts'
import type { Alarms } from '../wait/alarms.ts'
import { json, type Reply } from './reply.ts'

/** A parsed request for the node: its value, its text, and how many calls it holds. */
export interface RpcBody {
  readonly value: unknown
  readonly text: string
  readonly calls: number
}

/** Longest reply of the node that is passed on, in bytes. */
const LONGEST_REPLY = 512 * 1024 * 1024
/** Longest time for one request to the node, in ms. */
const TIMEOUT = 60_000

/**
 * Parses a body. Only what the service takes and nodes refuse is changed. Undefined for a body that
 * is not JSON.
 */
export function readRpcBody(bytes: Buffer): RpcBody | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const parsed: unknown = JSON.parse(text)
    const calls: unknown[] = Array.isArray(parsed) ? parsed : [parsed]
    const isChanged = calls.map(asNodesTakeIt).includes(true)
    return { value: parsed, text: isChanged ? JSON.stringify(parsed) : text, calls: Math.max(1, calls.length) }
  } catch {
    return undefined
  }
}

/** Changes a call of the service into one that every node takes. True if there was a need. */
function asNodesTakeIt(call: unknown): boolean {
  const { method, params } = (call ?? {}) as { method?: unknown; params?: unknown }
  if (typeof method !== 'string' || !Array.isArray(params)) return false
  if (method === 'eth_getLogs') return encodeBlockNumbers(params[0])
  const isFilled = fillOmitted(method, params)
  return (method === 'eth_getProof' && padKeys(params[1])) || isFilled
}

/** Makes storage keys as long as some nodes require. True if any was shorter. */
function padKeys(keys: unknown): boolean {
  if (!Array.isArray(keys)) return false
  let isChanged = false
  for (const [i, key] of keys.entries()) {
    if (typeof key !== 'string' || !/^0x[0-9a-f]{1,63}$/i.test(key)) continue
    keys[i] = `0x${key.slice(2).padStart(64, '0')}`
    isChanged = true
  }
  return isChanged
}

/**
 * Turns the numbers in the block fields of an `eth_getLogs` filter into quantities: the service's
 * specification allows both, nodes take strings only. True if there were any.
 */
function encodeBlockNumbers(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false
  let isChanged = false
  for (const field of ['fromBlock', 'toBlock']) {
    const number = (filter as Record<string, unknown>)[field]
    if (!Number.isSafeInteger(number) || (number as number) < 0) continue
    Object.assign(filter, { [field]: `0x${(number as number).toString(16)}` })
    isChanged = true
  }
  return isChanged
}

/** JSON-RPC 2.0, section 5.1. */
export const parseError: Reply = json(400, { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } })

/** Passes requests to the node and replies back, byte for byte. */
export interface Forward {
  /** Rejects with the error of the exchange, or with the reason of the signal. */
  send(body: RpcBody, signal: AbortSignal): Promise<Reply>
  close(): Promise<void>
}

/**
 * Connects to the upstream node. Replies are not rewritten: ids, order and errors are the node's.
 * Only what an error repeats of the node's own URL is hidden.
 */
export function createForward(upstream: string, alarms: Alarms): Forward {
  const url = new URL(upstream)
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const headers: Record<string, string> = { accept: 'application/json', 'content-type': 'application/json' }
  if (user !== ':') headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`
  const scrub = scrubber(url, headers)
  const exchange = createExchange({
    url,
    headers,
    connections: 64,
    timeoutMs: TIMEOUT,
    maxResponseBytes: LONGEST_REPLY,
    compression: false,
    scrub,
    alarms,
  })
  return {
    async send({ text }, signal) {
      const { status, headers, body } = await exchange.send({ method: 'POST', path: url.pathname + url.search, body: text }, signal)
      const kept = Object.entries(headers).filter(([name]) => name === 'content-type' || name === 'retry-after')
      return { status, headers: Object.fromEntries(kept), body: withoutSecrets(status, body, scrub) }
    },
    close: exchange.close,
  }
}

/** The reply when the upstream node fails. No message of hexline contains a path or a key. */
export function failureOfNode(error: HexlineError): Reply {
  return json(error.kind === 'timeout' ? 504 : 502, { message: `the node behind this sandbox: ${error.message}` })
}

/** Errors are short, and a result is passed on as it is. */
const LONGEST_ERROR = 1024 * 1024

function withoutSecrets(status: number, body: Buffer, scrub: Scrub): Buffer {
  if (body.length > LONGEST_ERROR || (status < 400 && !body.includes('"error"'))) return body
  const text = body.toString()
  const scrubbed = scrub(text)
  return scrubbed === text ? body : Buffer.from(scrubbed)
}
