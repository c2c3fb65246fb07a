import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { classify, failureRows } from '../../../src/eth/errors/classify.ts'
import { type FailureRow, matches } from '../../../src/eth/errors/rule.ts'
import { createClient, type ErrorKind, type Failure, HttpError, RpcError } from '../../../src/index.ts'
import { coded, type Sample, said, unknown } from './failure-samples.ts'

/** A failure in the form that the table gets. */
function failureOf({ message, code, status = 200, method = 'eth_call', retryAfterMs, data, isOneOfMany }: Partial<Failure> & { message: string }): Failure {
  return {
    message,
    status,
    method,
    retryAfterMs,
    ...(code !== undefined && { code }),
    ...(data !== undefined && { data }),
    ...(isOneOfMany && { isOneOfMany }),
  }
}

/**
 * The samples of a kind; those of a range are of `eth_getLogs` where they do not say another
 * method.
 */
function failuresOf(samples: Partial<Record<ErrorKind, readonly Sample[]>>): [ErrorKind, Sample, Failure][] {
  return Object.entries(samples).flatMap(([kind, list]) =>
    list.map((sample): [ErrorKind, Sample, Failure] => {
      const [, status, code, message, , more] = sample
      const method = kind === 'range-too-large' ? 'eth_getLogs' : 'eth_call'
      return [kind as ErrorKind, sample, failureOf({ message, status, method, ...more, ...(code !== undefined && { code }) })]
    }),
  )
}

const inWords = failuresOf(said)
const inCodes = failuresOf(coded)

/** Every row that matches a failure, in the order of the table. */
function rowsOf(failure: Failure): FailureRow[] {
  return failureRows.filter((row) => matches(row, failure))
}

describe('messages of nodes and providers', () => {
  test.each(inWords.map((each) => [each[0], each[1][0], each[1][3], each[2]] as const))('%s: %s: %s', (kind, _from, _message, failure) => {
    expect(classify(failure)).toBe(kind)
  })

  test.each(inCodes.map((each) => [each[0], each[1][0], each[2].code, each[2].status, each[2]] as const))(
    '%s: %s with code %s and HTTP %i',
    (kind, _from, _code, _status, failure) => {
      expect(classify(failure)).toBe(kind)
    },
  )

  test.each(unknown.map((sample) => [sample[0], sample[3], sample] as const))('nothing is known about %s: %s', (_from, _message, sample) => {
    const [, status, code, message, , more] = sample
    expect(classify(failureOf({ message, status, ...more, ...(code !== undefined && { code }) }))).toBeUndefined()
  })

  test('there are at least 200 samples, each with its source, and none twice', () => {
    const all = [...inWords, ...inCodes].map(([, sample]) => sample)
    expect(all.length).toBeGreaterThanOrEqual(200)
    for (const [from, , , , source] of all) expect(`${from}: ${source}`).toMatch(/\S+: \S/)
    const keys = all.map(([from, status, code, message, , more]) => JSON.stringify([from, status, code, message, more]))
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  })

  test('every row decides at least one of them, and has its source', () => {
    const decided = new Set([...inWords, ...inCodes].map(([, , failure]) => rowsOf(failure)[0]))
    const idle = failureRows
      .filter((row) => !decided.has(row))
      .map(({ kind, message, code, status, source }) => ({ kind, message: `${message}`, code, status, source }))
    expect(idle).toEqual([])
    for (const { source } of failureRows) expect(source).toMatch(/\S/)
  })

  test('clear messages are decided by their text, and others by a code or a status', () => {
    const misled = (failures: typeof inWords, byWords: boolean) =>
      failures
        .map(([, [from, , , message], failure]) => ({ from, message, row: rowsOf(failure)[0] }))
        .filter(({ row }) => (row?.message !== undefined || row?.code === 3) !== byWords)
    // A logs query that is too large may only say `limit exceeded`; the code and the method decide
    // then.
    expect(misled(inWords, true)).toEqual([])
    expect(misled(inCodes, false)).toEqual([])
  })

  test('no two rows of messages match one failure with different kinds, except where a reason is given', () => {
    const contested = inWords.flatMap(([kind, [from, , , message], failure]) => {
      const others = new Set(
        rowsOf(failure)
          .filter((row) => row.message !== undefined && row.kind !== kind)
          .map((row) => row.kind),
      )
      return [...others].map((other) => `${kind} before ${other}: ${from}: ${message.slice(0, 60)}`)
    })
    expect(contested.sort()).toEqual(
      [
        // Used up for today, and throttled for that reason.
        'quota before rate-limit: Infura: daily request count exceeded, request rate limited',
        'quota before rate-limit: QuickNode: daily request limit reached - upgrade your account',
        // Single calls of the method pass.
        'batch-too-large before rate-limit: BSC: method eth_call in batch triggered rate limit',
        'batch-too-large before rate-limit: BSC: method eth_getLogs in batch triggered rate limit',
        // Of logs: a smaller range makes a smaller reply.
        'range-too-large before response-too-large: 1RPC: response size should not greater than 10000000 bytes',
        'range-too-large before response-too-large: Alchemy, 2020: Log response size exceeded. Please reduce query block range.',
        'range-too-large before response-too-large: Alchemy: Log response size exceeded. You can make eth_getLogs request',
        'range-too-large before response-too-large: Optimism: backend response too large',
        'range-too-large before response-too-large: Alchemy: Response size is larger than 150MB limit',
        'range-too-large before response-too-large: reth, one large reply: Response is too big',
        'range-too-large before response-too-large: Horizen: Log response size exceeded. You can make eth_getLogs request',
        'range-too-large before timeout: Alchemy: Query timeout exceeded. Consider reducing your block range.',
        // The plan lacks old state, for which another endpoint has to be asked.
        'pruned before unsupported: Chainstack: Access to archival, debug, or trace data is not included in ',
        // The plan lacks the method, whatever the block.
        'unsupported before pruned: Chainstack, debug: Access to archival, debug, or trace data is not included in ',
        'unsupported before pruned: Chainstack, trace: Archive, Debug and Trace requests are not available on your ',
        // The data of an internal error says more.
        'lagging before server: Nethermind, trace: Internal error',
        // They say more than that a later attempt may pass.
        'overloaded before server: a gateway: the server is overloaded, try again later',
        'overloaded before server: reth: Server is busy, try again later',
        'rate-limit before server: dRPC: Too many request, try again later',
      ].sort(),
    )
  })
})

describe('a contract may revert with any message', () => {
  const words = [
    'rate limit exceeded',
    'too many requests',
    'daily limit reached: daily request count exceeded',
    'unauthorized',
    'invalid token',
    'header not found',
    'block not found',
    'batch too large',
    'request timed out',
    'response too large',
    'method not found',
    'query returned more than 10000 results',
    'quota exceeded',
    'overloaded',
    'archive node',
  ]
  // The texts that nodes in use put around the message.
  const reverts: [string, (words: string) => { code: number; message: string; status?: number }][] = [
    ['geth', (reason) => ({ code: 3, message: `execution reverted: ${reason}` })],
    ['geth, without data', (reason) => ({ code: -32000, message: `execution reverted: ${reason}` })],
    ['Besu', (reason) => ({ code: -32000, message: `Execution reverted: ${reason}` })],
    ['Ganache', (reason) => ({ code: -32000, message: `VM Exception while processing transaction: revert ${reason}` })],
    ['Hardhat', (reason) => ({ code: -32603, message: `Error: VM Exception while processing transaction: reverted with reason string '${reason}'` })],
    ['OpenEthereum', (reason) => ({ code: -32015, message: `Reverted: ${reason}` })],
    ['Nethermind', (reason) => ({ code: -32015, message: `revert: ${reason}` })],
    ['a gateway that makes it HTTP 429', (reason) => ({ code: 3, status: 429, message: `execution reverted: ${reason}` })],
  ]

  for (const [node, wrapped] of reverts) {
    test.each(words)(`${node}: %s`, (reason) => {
      for (const method of ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']) {
        expect(classify(failureOf({ ...wrapped(reason), method })), method).toBe('execution')
      }
    })

    test(`${node}: every word that any node ever said`, () => {
      const misled = inWords.map(([, [, , , message]]) => message).filter((message) => classify(failureOf(wrapped(message))) !== 'execution')
      expect(misled).toEqual([])
    })
  }
})

describe('one code, two meanings: -32005', () => {
  test.each<[string, string, ErrorKind]>([
    ['eth_getLogs', 'query returned more than 10000 results', 'range-too-large'],
    ['eth_getLogs', 'limit exceeded', 'range-too-large'],
    ['eth_getLogs', 'project ID request rate exceeded', 'rate-limit'],
    ['eth_getLogs', 'rate limit exceeded', 'rate-limit'],
    ['eth_call', 'limit exceeded', 'rate-limit'],
    ['eth_call', 'query returned more than 10000 results', 'rate-limit'],
    ['eth_getLogs', 'Requested range exceeds maximum RPC range limit', 'range-too-large'],
    ['eth_call', 'Number of requests exceeds max batch size', 'batch-too-large'],
    ['eth_sendRawTransaction', 'Transaction gas limit exceeds block gas limit', 'execution'],
    ['eth_call', 'server overloaded', 'overloaded'],
    ['eth_call', 'daily request count exceeded, request rate limited', 'quota'],
    ['eth_getBlockByNumber', 'batch size limit exceeded', 'batch-too-large'],
  ])('%s: %s is %s', (method, message, kind) => {
    expect(classify(failureOf({ method, code: -32005, message }))).toBe(kind)
  })
})

describe('messages for another method', () => {
  test('a block range only concerns logs', () => {
    expect(classify(failureOf({ method: 'eth_feeHistory', code: -32602, message: 'block range is too large' }))).toBe('invalid')
    expect(classify(failureOf({ method: 'eth_getLogs', code: -32602, message: 'block range is too large' }))).toBe('range-too-large')
  })
})

describe('through a client', () => {
  test.each<[number, string, unknown]>([
    [
      200,
      '{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: rate limit exceeded","data":"0x08c379a0"}}',
      { name: 'RpcError', kind: 'execution', code: 3, status: 200 },
    ],
    [
      429,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"project ID request rate exceeded"}}',
      { name: 'RpcError', kind: 'rate-limit', code: -32005, status: 429 },
    ],
    [401, '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Must be authenticated!"}}', { name: 'RpcError', kind: 'auth', status: 401 }],
    [
      500,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"max fee per gas less than block base fee"}}',
      { name: 'RpcError', kind: 'execution', code: -32000, status: 500 },
    ],
    [401, 'Unauthorized', { name: 'HttpError', kind: 'auth', status: 401 }],
    [502, '<html>502 Bad Gateway</html>', { name: 'HttpError', kind: 'server', status: 502 }],
    [413, '', { name: 'HttpError', kind: 'request-too-large', status: 413 }],
  ])('HTTP %i %s', async (status, body, expected) => {
    const server = createServer((request, reply) => {
      request.resume().on('end', () => reply.writeHead(status, { 'content-type': 'application/json' }).end(body))
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const client = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { retry: false })
    const thrown = await client.request({ method: 'eth_call', params: [{}, 'latest'] }).catch((caught: unknown) => caught)
    await client.close()
    server.close()
    expect(thrown instanceof RpcError || thrown instanceof HttpError).toBe(true)
    expect(thrown).toMatchObject({ ...(expected as object), method: 'eth_call', attempts: 1 })
  })
})
