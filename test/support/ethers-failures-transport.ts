import { expect } from 'vitest'
import type { Better, EthersOptions, Portrait } from './ethers-failures.ts'
import { type Answer, always, cut, each, refuse, silent } from './server.ts'
import { errorData } from './viem-failures.ts'

/** One way for a reply to fail, and ethers' error for it. */
export interface TransportRow {
  readonly name: string
  readonly answer: Answer
  /**
   * The calls to try. Default: `eth_getBalance` and `eth_call`, since ethers treats any error of
   * the latter as a revert.
   */
  readonly methods?: readonly ('eth_getBalance' | 'eth_call')[]
  readonly options?: EthersOptions
  /** The code with hexline. */
  readonly is: string
  readonly has?: Portrait
  /** The class of hexline's own error, which is the cause. */
  readonly under: string
  readonly better?: Better
  /** Old versions of ethers throw it where it cannot be caught. */
  readonly crashesOld?: boolean
}

const page = '<html><body>Bad Gateway</body></html>'
const text = (status: number, body: string, headers: Record<string, string> = {}) =>
  always(body, { status, headers: { 'content-type': 'text/plain', ...headers } })
const answered = (status: string) => ({ shortMessage: `server response ${status}`, info: expect.objectContaining({ responseStatus: status }) })
const aUrl = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)

/** For an error that ethers did not make, or that does not describe the reply. */
const saysWhatCame = (why: string, ethers: Portrait, words: RegExp): Better => ({
  why,
  ethers,
  hexline: { code: 'SERVER_ERROR', shortMessage: expect.stringMatching(words), request: aUrl, info: { requestUrl: aUrl } },
})
const noJson = { code: 'UNSUPPORTED_OPERATION', shortMessage: 'response body is not valid JSON', operation: 'bodyJson', info: expect.anything() }
const noReply = { code: 'BAD_DATA', shortMessage: 'missing response for request', value: expect.anything(), info: expect.anything() }
const ofNode = (message: string, more: Portrait, words: RegExp): Better => ({
  why: 'ethers lets an error of Node.js through, which has no code of ethers',
  ethers: { code: 'ECONNRESET', message, ...more },
  hexline: {
    code: 'NETWORK_ERROR',
    shortMessage: expect.stringMatching(words),
    event: 'connection',
    info: { requestUrl: aUrl, errno: expect.stringMatching(/^[A-Z_]+$/) },
  },
})
/** hexline makes the body anew from what it has read. */
const bodyAnew = (status: string, ethers: RegExp, hexline: RegExp): Better => ({
  why: 'a body of JSON-RPC is told by its error alone, without what a URL may have left in it',
  ethers: { response: expect.anything(), info: { requestUrl: aUrl, responseBody: expect.stringMatching(ethers), responseStatus: status } },
  hexline: { response: expect.anything(), info: { requestUrl: aUrl, responseBody: expect.stringMatching(hexline), responseStatus: status } },
})

/** Rows for a single call that is not retried. */
export const transportRows: TransportRow[] = [
  {
    name: '429',
    answer: text(429, 'slow down', { 'retry-after': '7' }),
    options: { repeats429: false },
    is: 'SERVER_ERROR',
    has: {
      ...answered('429 Too Many Requests'),
      response: { statusCode: 429, statusMessage: 'Too Many Requests', bodyText: 'slow down', retryAfter: '7' },
    },
    under: 'HttpError',
  },
  {
    name: '429, after as many attempts as ethers may make',
    answer: text(429, 'slow down', { 'retry-after': '7' }),
    is: 'SERVER_ERROR',
    under: 'HttpError',
    better: {
      why: 'ethers reports a status of 599, which the server did not send',
      ethers: {
        shortMessage: 'exceeded maximum retry limit',
        response: expect.objectContaining({ statusCode: 599, retryAfter: '7' }),
        info: expect.objectContaining({ responseBody: 'slow down', responseStatus: expect.stringMatching(/^599 /) }),
      },
      hexline: {
        shortMessage: 'server response 429 Too Many Requests',
        response: expect.objectContaining({ statusCode: 429, retryAfter: '7' }),
        info: { requestUrl: aUrl, responseBody: 'slow down', responseStatus: '429 Too Many Requests' },
      },
    },
  },
  {
    name: '429 with JSON-RPC',
    answer: refuse(-32005, 'slow down', { status: 429 }),
    options: { repeats429: false },
    is: 'SERVER_ERROR',
    has: answered('429 Too Many Requests'),
    under: 'RpcError',
    better: bodyAnew('429 Too Many Requests', /-32005.*slow down/, /-32005.*slow down/),
  },
  {
    name: '429 with words in JSON',
    answer: always({ error: 'slow down' }, { status: 429 }),
    options: { repeats429: false },
    is: 'SERVER_ERROR',
    has: answered('429 Too Many Requests'),
    under: 'HttpError',
  },
  { name: '500', answer: text(500, 'oops'), is: 'SERVER_ERROR', has: answered('500 Internal Server Error'), under: 'HttpError' },
  {
    name: '500 with nothing',
    answer: text(500, ''),
    is: 'SERVER_ERROR',
    has: { info: { requestUrl: aUrl, responseBody: null, responseStatus: '500 Internal Server Error' } },
    under: 'HttpError',
  },
  {
    name: '500 with other JSON',
    answer: always({ message: 'oops' }, { status: 500 }),
    is: 'SERVER_ERROR',
    has: answered('500 Internal Server Error'),
    under: 'HttpError',
  },
  {
    name: '500 with JSON-RPC that says no more',
    answer: refuse(-32603, 'Internal error', { status: 500 }),
    is: 'SERVER_ERROR',
    has: answered('500 Internal Server Error'),
    under: 'RpcError',
    better: bodyAnew('500 Internal Server Error', /Internal error/, /Internal error/),
  },
  {
    name: '500 with a revert',
    answer: each(({ id }) => ({ id, error: { code: 3, message: 'execution reverted', data: errorData('Error', ['no']) } }), { status: 500 }),
    methods: ['eth_call'],
    is: 'CALL_EXCEPTION',
    under: 'RpcError',
    better: {
      why: 'the node has answered, whatever its status is',
      ethers: { code: 'SERVER_ERROR', ...answered('500 Internal Server Error'), request: expect.anything(), response: expect.anything() },
      hexline: {
        code: 'CALL_EXCEPTION',
        shortMessage: 'execution reverted: "no"',
        action: 'call',
        data: errorData('Error', ['no']),
        reason: 'no',
        transaction: expect.anything(),
        invocation: null,
        revert: expect.objectContaining({ args: ['no'] }),
        info: { error: expect.objectContaining({ code: 3 }), payload: expect.anything() },
      },
    },
  },
  {
    name: '400 with JSON-RPC that says what is wrong',
    answer: refuse(-32602, 'invalid address', { status: 400 }),
    methods: ['eth_getBalance'],
    is: 'UNKNOWN_ERROR',
    under: 'RpcError',
    better: {
      why: 'the node has answered, whatever its status is',
      ethers: { code: 'SERVER_ERROR', ...answered('400 Bad Request'), request: expect.anything(), response: expect.anything() },
      hexline: {
        code: 'UNKNOWN_ERROR',
        shortMessage: 'could not coalesce error',
        error: { code: -32602, message: 'invalid address' },
        payload: expect.objectContaining({ method: 'eth_getBalance' }),
      },
    },
  },
  {
    name: '502 with a page',
    answer: always(page, { status: 502, headers: { 'content-type': 'text/html' } }),
    is: 'SERVER_ERROR',
    has: answered('502 Bad Gateway'),
    under: 'HttpError',
  },
  {
    name: '502 with a long page',
    answer: always('x'.repeat(2000), { status: 502, headers: { 'content-type': 'text/html' } }),
    is: 'SERVER_ERROR',
    under: 'HttpError',
    better: {
      why: 'the start of a body says enough; the rest makes a log unreadable',
      ethers: { response: expect.anything(), info: expect.objectContaining({ responseBody: 'x'.repeat(2000) }) },
      hexline: { response: expect.anything(), info: { requestUrl: aUrl, responseBody: 'x'.repeat(500), responseStatus: '502 Bad Gateway' } },
    },
  },
  {
    name: '503',
    answer: text(503, 'busy', { 'retry-after': '5' }),
    is: 'SERVER_ERROR',
    has: { ...answered('503 Service Unavailable'), response: expect.objectContaining({ statusCode: 503, retryAfter: '5' }) },
    under: 'HttpError',
  },
  { name: '401', answer: text(401, 'no'), is: 'SERVER_ERROR', has: answered('401 Unauthorized'), under: 'HttpError' },
  {
    name: '401 with JSON-RPC',
    answer: refuse(-32000, 'must be authenticated', { status: 401 }),
    is: 'SERVER_ERROR',
    has: answered('401 Unauthorized'),
    under: 'RpcError',
    better: bodyAnew('401 Unauthorized', /must be authenticated/, /must be authenticated/),
  },
  { name: '403', answer: text(403, 'no'), is: 'SERVER_ERROR', has: answered('403 Forbidden'), under: 'HttpError' },
  { name: '404', answer: text(404, 'no'), is: 'SERVER_ERROR', has: answered('404 Not Found'), under: 'HttpError' },
  { name: '302', answer: text(302, 'there', { location: '/there' }), is: 'SERVER_ERROR', has: answered('302 Found'), under: 'HttpError' },
  {
    name: 'a page instead of JSON',
    answer: always(page, { headers: { 'content-type': 'text/html' } }),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: saysWhatCame('it is the server that fails: no operation is unsupported', noJson, /: eth_\w+: the reply is not JSON.*<html><body>Bad Gateway/),
  },
  {
    name: 'JSON that ends too early',
    answer: always('{"jsonrpc":"2.0","resu'),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: saysWhatCame('it is the server that fails: no operation is unsupported', noJson, /only the start of it \(22 bytes\): \{"jsonrpc":"2\.0","resu$/),
  },
  {
    name: 'nothing',
    answer: always(''),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: saysWhatCame('it is the server that fails: no operation is unsupported', noJson, /: eth_\w+: the reply is empty$/),
  },
  {
    name: 'an empty object',
    answer: always({}),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: saysWhatCame('a signer of ethers goes on asking after it, and does not after BAD_DATA', noReply, /: eth_\w+: no reply with its id came: \{\}$/),
  },
  {
    name: 'a reply under another id',
    answer: each(({ id }) => ({ jsonrpc: '2.0', id: id + 1000, result: '0x12' })),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: saysWhatCame(
      'a signer of ethers goes on asking after it, and does not after BAD_DATA',
      noReply,
      /no reply with its id came \(sent \d+, received \d+\): .*"0x12"\}$/,
    ),
  },
  {
    name: 'a reply with neither a result nor an error',
    answer: each(({ id }) => ({ jsonrpc: '2.0', id })),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    better: {
      why: 'ethers takes the lack of a result for one, and blames an argument',
      ethers: {
        class: 'TypeError',
        code: 'INVALID_ARGUMENT',
        shortMessage: expect.stringMatching(/^invalid (BigNumberish|BytesLike) value$/),
        argument: expect.stringMatching(/value|%response/),
      },
      hexline: {
        class: 'Error',
        code: 'SERVER_ERROR',
        shortMessage: expect.stringMatching(/its reply has neither a result nor an error/),
        request: aUrl,
        info: { requestUrl: aUrl },
      },
    },
  },
  {
    name: 'bytes that are not what content-encoding says',
    answer: always('{"id":1,"result":"0x12"}', { headers: { 'content-encoding': 'gzip' } }),
    is: 'SERVER_ERROR',
    under: 'MalformedReplyError',
    crashesOld: true,
    better: saysWhatCame(
      'ethers puts the response of Node.js into the error, with its socket and all cycles',
      { code: 'SERVER_ERROR', shortMessage: 'bad response data', request: expect.anything(), info: { response: 'a IncomingMessage', error: 'a Error' } },
      /the body could not be decompressed \(gzip\)/,
    ),
  },
  {
    name: 'a connection that is cut',
    answer: cut,
    is: 'NETWORK_ERROR',
    under: 'NetworkError',
    better: ofNode('socket hang up', {}, /^127\.0\.0\.1:\d+: the connection ended before the reply/),
  },
  {
    name: 'a body that ends too early',
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"json', () => response.destroy())
    },
    is: 'NETWORK_ERROR',
    under: 'NetworkError',
    better: ofNode('aborted', { response: expect.anything() }, /^127\.0\.0\.1:\d+: the connection ended in the middle of the reply/),
  },
  {
    name: 'silence',
    answer: silent,
    options: { timeoutMs: 80 },
    is: 'TIMEOUT',
    has: { shortMessage: 'request timeout' },
    under: 'TimeoutError',
    better: {
      why: 'it says which call, and has what ethers promises of a TIMEOUT',
      ethers: {},
      hexline: { operation: expect.stringMatching(/^eth_/), reason: 'timeout', info: { requestUrl: aUrl } },
    },
  },
]
