import { type HttpTransportConfig, stringify } from 'viem'
import { expect } from 'vitest'
import { type Answer, always, cut, refuse, silent } from './server.ts'
import type { Portrait } from './viem-failures.ts'

/** One way for a reply to fail, and viem's error for it. */
export interface TransportRow {
  readonly name: string
  readonly answer: Answer
  readonly config?: Pick<HttpTransportConfig, 'timeout' | 'maxResponseBodySize'>
  readonly is: string
  readonly has?: Partial<Portrait>
  /** The class of hexline's own error, which is the cause. */
  readonly under: string
  /** How hexline's error differs from that of `http()`, and why that is better. */
  readonly better?: { readonly why: string; readonly http: object; readonly hexline: object }
  /**
   * The behaviour with an old viem, if newer versions changed it: what `http()` rejects or resolves
   * with, and hexline's error.
   */
  readonly old?: { readonly http: object; readonly hexline: object }
}

const text = (status: number, body: string, headers: Record<string, string> = {}) =>
  always(body, { status, headers: { 'content-type': 'text/plain', ...headers } })
/** viem's name for nearly all of them. */
const http = 'HttpRequestError'
/** Old versions of viem look at the status only. */
const byStatus = (status: number, is: string) => ({ http: { is: http, status }, hexline: { is } })
const page = '<html><body>Bad Gateway</body></html>'
/** For an error whose class does not describe the reply. */
export const saysWhatCame = (over: string, words: RegExp) => ({
  why: 'it says what came, and from where',
  http: { details: over },
  hexline: { details: expect.stringMatching(words) },
})

/** Rows for a single call that is not retried. */
export const transportRows: TransportRow[] = [
  {
    name: '429',
    answer: text(429, 'slow down', { 'retry-after': '7' }),
    is: http,
    has: { status: 429, retryAfter: '7', details: '"slow down"' },
    under: 'HttpError',
  },
  {
    name: '429 with JSON-RPC',
    answer: refuse(-32005, 'slow down', { status: 429 }),
    is: 'LimitExceededRpcError > RpcRequestError',
    has: { code: -32005 },
    under: 'RpcError',
    old: byStatus(429, 'LimitExceededRpcError > RpcRequestError'),
  },
  {
    name: '429 with JSON-RPC and 429 as its code',
    answer: refuse(429, 'slow down', { status: 429 }),
    is: 'RpcRequestError',
    has: { code: 429 },
    under: 'RpcError',
    old: byStatus(429, 'RpcRequestError'),
  },
  {
    name: '429 with words in JSON',
    answer: always({ error: 'slow down' }, { status: 429, headers: { 'retry-after': '7' } }),
    is: http,
    has: { status: 429, retryAfter: '7', details: '"slow down"' },
    under: 'HttpError',
  },
  {
    name: '429 with words that claim to be JSON',
    answer: always('slow down', { status: 429, headers: { 'retry-after': '7' } }),
    is: http,
    under: 'HttpError',
    better: {
      why: 'the status counts, whatever the body is',
      http: { details: expect.stringMatching(/is not valid JSON/), metaMessages: [expect.stringMatching(/^Request body/)] },
      hexline: { details: '"slow down"', metaMessages: ['Status: 429', expect.stringMatching(/^Request body/)], status: 429, retryAfter: '7' },
    },
  },
  {
    name: '429 until a date',
    answer: text(429, 'slow down', { date: 'Sun, 06 Nov 1994 08:49:37 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:50:37 GMT' }),
    is: http,
    has: { status: 429 },
    under: 'HttpError',
    better: {
      why: 'viem reads the day of a date as seconds: retries of a fallback around it would not wait',
      http: { retryAfter: 'Sun, 06 Nov 1994 08:50:37 GMT' },
      hexline: { retryAfter: '60' },
    },
  },
  { name: '500', answer: text(500, 'oops'), is: http, has: { status: 500, details: '"oops"' }, under: 'HttpError' },
  { name: '500 with nothing', answer: text(500, ''), is: http, has: { status: 500, details: 'Internal Server Error' }, under: 'HttpError' },
  {
    name: '500 with JSON-RPC',
    answer: refuse(-32603, 'Internal error', { status: 500 }),
    is: 'InternalRpcError > RpcRequestError',
    has: { code: -32603 },
    under: 'RpcError',
    old: byStatus(500, 'InternalRpcError > RpcRequestError'),
  },
  {
    name: '500 with other JSON',
    answer: always({ message: 'oops' }, { status: 500 }),
    is: http,
    has: { status: 500, details: 'Internal Server Error' },
    under: 'HttpError',
  },
  {
    name: '502 with a page',
    answer: always(page, { status: 502, headers: { 'content-type': 'text/html' } }),
    is: http,
    has: { status: 502, details: stringify(page) },
    under: 'HttpError',
  },
  { name: '503', answer: text(503, 'busy', { 'retry-after': '5' }), is: http, has: { status: 503, retryAfter: '5', details: '"busy"' }, under: 'HttpError' },
  { name: '401', answer: text(401, 'no'), is: http, has: { status: 401, details: '"no"' }, under: 'HttpError' },
  {
    name: '401 with words in JSON',
    answer: always({ error: 'invalid key' }, { status: 401 }),
    is: http,
    has: { status: 401, details: '"invalid key"' },
    under: 'HttpError',
  },
  {
    name: '401 with JSON-RPC',
    answer: refuse(-32000, 'must be authenticated', { status: 401 }),
    is: 'InvalidInputRpcError > RpcRequestError',
    has: { code: -32000 },
    under: 'RpcError',
    old: byStatus(401, 'InvalidInputRpcError > RpcRequestError'),
  },
  { name: '403', answer: text(403, 'no'), is: http, has: { status: 403, details: '"no"' }, under: 'HttpError' },
  {
    name: 'a page instead of JSON',
    answer: always(page, { headers: { 'content-type': 'text/html' } }),
    is: http,
    under: 'MalformedReplyError',
    better: saysWhatCame(
      `Unexpected token '<', "<html><bod"... is not valid JSON`,
      /^127\.0\.0\.1:\d+: eth_getBalance: the reply is not JSON.*<html><body>Bad Gateway/,
    ),
  },
  {
    name: 'JSON that ends too early',
    answer: always('{"jsonrpc":"2.0","resu'),
    is: http,
    under: 'MalformedReplyError',
    better: saysWhatCame('Unterminated string in JSON at position 22', /only the start of it \(22 bytes\): \{"jsonrpc":"2\.0","resu$/),
  },
  {
    name: 'a body that ends too early',
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"json', () => response.destroy())
    },
    is: http,
    under: 'NetworkError',
    better: saysWhatCame('terminated', /^127\.0\.0\.1:\d+: the connection ended in the middle of the reply/),
  },
  { name: 'silence', answer: silent, config: { timeout: 80 }, is: 'TimeoutError', has: { details: 'The request timed out.' }, under: 'TimeoutError' },
  {
    name: 'a connection that is cut',
    answer: cut,
    is: http,
    under: 'NetworkError',
    better: saysWhatCame('fetch failed', /^127\.0\.0\.1:\d+: the connection ended before the reply/),
  },
  {
    name: 'a body that is announced too large',
    answer: always({ result: 'x'.repeat(500) }),
    config: { maxResponseBodySize: 100 },
    is: 'ResponseBodyTooLargeError',
    has: { metaMessages: ['Max: 100 bytes', 'Received: 513 bytes'] },
    under: 'LimitError',
    old: { http: { result: 'x'.repeat(500) }, hexline: { is: http, details: expect.stringMatching(/100 bytes/) } },
  },
  {
    name: 'a body that grows too large',
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      response.end('x'.repeat(500))
    },
    config: { maxResponseBodySize: 100 },
    is: 'ResponseBodyTooLargeError',
    under: 'LimitError',
    old: { http: { is: http }, hexline: { is: http, details: expect.stringMatching(/100 bytes/) } },
  },
]
