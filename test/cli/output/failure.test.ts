import { describe, expect, it, test } from 'vitest'
import { exitCodeOf, Interrupted, messageOf, Unfinished, UsageError } from '../../../src/cli/output/failure.ts'
import {
  CodecError,
  HexlineError,
  HttpError,
  IntegrityError,
  LimitError,
  MalformedReplyError,
  NetworkError,
  OptionError,
  RpcError,
} from '../../../src/errors.ts'

test.each<[unknown, number]>([
  [new OptionError('from', 'a number', 'x'), 2],
  [new UsageError('no'), 2],
  [new CodecError('params[0]', 'an address', '5', { kind: 'invalid' }), 2],
  [new CodecError('gas', 'a hex quantity', '5', { kind: 'malformed' }), 1],
  [new NetworkError('no'), 1],
  ['no', 1],
  [new Interrupted('stopped', 130), 130],
  [new Unfinished(new Interrupted('stopped', 143), 5n, false), 143],
  [new Unfinished(new NetworkError('no'), 5n, false), 1],
])('%s ends with %i', (error, code) => {
  expect(exitCodeOf(error)).toBe(code)
})

const rpc = (kind: 'unsupported' | 'lagging', method: string) => new RpcError({ code: -32601, message: 'no' }, { kind, method })

describe('the message', () => {
  it.each<[unknown, string]>([
    [new OptionError('batch.maxCalls', 'a whole number', '0'), '--batch: expected a whole number, received 0'],
    [new OptionError('seed.streams[0].id', 'a string', '5'), '--seed: seed.streams[0].id: expected a string, received 5'],
    [new OptionError('allowedHosts[0]', 'a name', '5'), '--allow-host: expected a name, received 5'],
    [new OptionError('--out', 'a file', '5'), '--out: expected a file, received 5'],
    [new OptionError('toString', 'a file', '5'), 'toString: expected a file, received 5'],
    [new OptionError('endpoint', 'a URL', '"https://a.example/KEY"'), '--rpc: expected a URL, received a URL'],
    [
      new CodecError('token_addresses', 'at most 20 entries (maxArrayLength)', '30', { kind: 'invalid' }),
      'token_addresses: expected at most 20 entries (--max-array), received 30',
    ],
    [
      new CodecError('blocks[5].hash', 'the hash of a block', 'undefined', { kind: 'malformed', method: 'eth_getBlockByNumber', endpoint: 'a.example' }),
      'a.example: eth_getBlockByNumber: blocks[5].hash: expected the hash of a block, received undefined',
    ],
    [new NetworkError('no connection'), 'no connection; is the node running, and is the URL right?'],
    [new NetworkError('no connection', { method: 'getStreams' }), 'no connection; is the service running, and is the address right?'],
    [new HexlineError('too late (deadlineMs)', 'timeout'), 'too late (--deadline); is the node down or overloaded?'],
    [new HexlineError('HTTP 429', 'rate-limit'), 'HTTP 429; try again later, or set a lower --rate where the command has one'],
    [new HexlineError('HTTP 429', 'rate-limit', { retryAfterMs: 3_600_000 }), 'HTTP 429; try again in 1 h 0 min, as it asks'],
    [new HexlineError('HTTP 429', 'rate-limit', { method: 'getStreams', retryAfterMs: 90_000 }), 'HTTP 429; try again in 1 min 30 s, as it asks'],
    [new HexlineError('HTTP 503', 'overloaded', { retryAfterMs: 0 }), 'HTTP 503; try again later, or use another node'],
    [
      new LimitError('a.example: the reply has more than 99 bytes; maxResponseBytes allows 99', 'response-too-large', { limit: 99, size: 100 }),
      'a.example: the reply has more than 99 bytes; the command takes at most 99; ask for less at a time',
    ],
    [new MalformedReplyError('no JSON'), 'no JSON; is this the URL of a JSON-RPC node?'],
    [
      new MalformedReplyError('getStreams: the service sent no cursor', { method: 'getStreams', endpoint: 'service' }),
      'getStreams: the service sent no cursor',
    ],
    [new HttpError({ status: 404, headers: {}, body: '' }, { kind: 'not-found' }), expect.stringMatching(/; is this the URL of a JSON-RPC node\?$/)],
    [rpc('unsupported', 'eth_getBalanec'), expect.stringMatching(/; did you mean eth_getBalance\?$/)],
    [rpc('unsupported', 'foo_bar'), expect.stringMatching(/; does the node have this method, and is it spelt right\?$/)],
    [new HexlineError('no', 'server'), 'no; try again later, or use another node'],
    [new HexlineError('no', 'execution'), 'no'],
    [new Error('long '.repeat(100)), 'long '.repeat(100)],
    [new IntegrityError('two hashes '.repeat(30)), 'two hashes '.repeat(30)],
    ['no', 'no'],
  ])('of %s', (error, message) => {
    expect(messageOf(error)).toEqual(message)
  })

  it('of an unfinished job says where to continue', () => {
    expect(messageOf(new Unfinished(new Error('no'), 42n, false))).toBe('no; continue with --from 42')
    // A block that is wrong in itself, and two that do not fit: the first one may be the wrong one.
    expect(messageOf(new Unfinished(new IntegrityError('no', { field: 'hash' }), 42n, false))).toBe('no; continue with --from 42')
    expect(messageOf(new Unfinished(new IntegrityError('no'), 42n, true))).toBe('no; blocks written before may have been replaced, too')
    expect(messageOf(new Unfinished(new Error('no'), 42n, true))).toBe(
      'no; the output ends in the middle of the line of block 42: remove that part, and continue with --from 42',
    )
  })

  it('hides arguments before it is shortened', () => {
    const message = messageOf(new HexlineError(`${'x '.repeat(95)}SECRET12 ${'y'.repeat(50)}`, 'execution'), (text) => text.replaceAll('SECRET12', '[hidden]'))
    expect(message).not.toContain('SECR')
    expect(message).toHaveLength(200)
  })
})
