import { inspect } from 'node:util'
import { type HexlineTransportConfig, hexline } from 'hexline/viem'
import { type BaseError, fallback, http, ProviderDisconnectedError, parseEther, RpcRequestError, stringify, type Transport } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../../../support/anvil.ts'
import { minedReceipt } from '../../../support/mined.ts'
import { isNewViem } from '../../../support/peers.ts'
import { type Answer, always, deadPort, each, errorOf, failed, type Received, refuse, send, serve, silent } from '../../../support/server.ts'
import { clientOver, closing, overHexline, overHttp, readOver, request, type ViemClient } from '../../../support/viem-clients.ts'
import { abi, contracts, errorData, hexlineErrorOf, holder, type Portrait, portraitOf } from '../../../support/viem-failures.ts'
import { saysWhatCame, type TransportRow, transportRows } from '../../../support/viem-transport-failures.ts'

const nobody = privateKeyToAccount('0x1111111111111111111111111111111111111111111111111111111111111111')
const nowhere = `0x${'ab'.repeat(32)}` as const

const read = (contract: keyof typeof contracts) => (client: ViemClient) =>
  client.readContract({ abi, address: contracts[contract].address, functionName: 'check' })
const simulate = (contract: keyof typeof contracts) => (client: ViemClient) =>
  client.simulateContract({ abi, address: contracts[contract].address, functionName: 'withdraw', args: [7n] })
const write = (contract: keyof typeof contracts) => (client: ViemClient) =>
  client.writeContract({ abi, address: contracts[contract].address, functionName: 'withdraw', args: [7n] })

/** A call that one of anvil's contracts, or anvil itself, refuses. */
interface NodeRow {
  readonly name: string
  readonly run: (client: ViemClient) => Promise<unknown>
  /** The expected error over both transports. */
  readonly is: string
  readonly has?: Partial<Portrait>
  /**
   * How often hexline sends the call; 0 where no call fails, and viem itself makes an error of a
   * null. Default 1.
   */
  readonly attempts?: number
}

const ofContract = 'ContractFunctionExecutionError > ContractFunctionRevertedError > '
const reverted = `${ofContract}CallExecutionError > ExecutionRevertedError > RpcRequestError`
// viem has the node fill in the transaction, and wraps the error twice.
const filled = 'TransactionExecutionError > ExecutionRevertedError > TransactionExecutionError > ExecutionRevertedError > '
const rejected = 'TransactionRejectedRpcError > RpcRequestError'
const invalid = 'InvalidInputRpcError > RpcRequestError'

const reason = { reason: 'not enough', errorName: 'Error', args: ['not enough'], code: 3, raw: errorData('Error', ['not enough']) }
const panic = { reason: 'Arithmetic operation resulted in underflow or overflow.', errorName: 'Panic', args: [0x11n], code: 3 }
const custom = { errorName: 'TooMuch', args: [holder, 7n, 5n], code: 3, raw: errorData('TooMuch', [holder, 7n, 5n]) }

const nodeRows: NodeRow[] = [
  { name: 'a revert with a reason, read', run: read('reason'), is: reverted, has: reason },
  { name: 'a revert with a reason, simulated', run: simulate('reason'), is: reverted, has: reason },
  { name: 'a revert with a reason, written', run: write('reason'), is: `${ofContract}${filled}RpcRequestError`, has: reason },
  { name: 'a panic, read', run: read('panic'), is: reverted, has: panic },
  { name: 'a panic, simulated', run: simulate('panic'), is: reverted, has: panic },
  { name: 'a panic, written', run: write('panic'), is: `${ofContract}${filled}RpcRequestError`, has: panic },
  { name: 'a custom error, read', run: read('custom'), is: reverted, has: custom },
  { name: 'a custom error, simulated', run: simulate('custom'), is: reverted, has: custom },
  { name: 'a custom error, written', run: write('custom'), is: `${ofContract}${filled}RpcRequestError`, has: custom },
  {
    name: 'a custom error that the ABI does not have',
    run: read('unknown'),
    is: `${ofContract}AbiErrorSignatureNotFoundError > CallExecutionError > ExecutionRevertedError > RpcRequestError`,
    has: { raw: '0xdeadbeef' },
  },
  { name: 'a revert without data', run: read('silent'), is: reverted, has: { raw: '0x', reason: 'execution reverted' } },
  {
    name: 'a revert when gas is estimated',
    run: (client) => client.estimateGas({ to: contracts.reason.address }),
    is: `EstimateGasExecutionError > ExecutionRevertedError > TransactionExecutionError > ExecutionRevertedError > RpcRequestError`,
    has: { raw: reason.raw },
  },
  {
    name: 'a call that runs out of gas',
    run: (client) => client.call({ to: contracts.loop.address, gas: 100_000n }),
    is: 'CallExecutionError > InternalRpcError > RpcRequestError',
    has: { details: 'EVM error OutOfGas', code: -32603 },
  },
  {
    name: 'a transaction that would run out of gas',
    run: write('loop'),
    is: `ContractFunctionExecutionError > ${filled}${rejected}`,
    has: { code: -32003 },
  },
  {
    name: 'insufficient funds',
    run: (client) => client.sendTransaction({ account: nobody, to: holder, value: parseEther('1') }),
    is: `TransactionExecutionError > InsufficientFundsError > ${rejected}`,
  },
  {
    name: 'a nonce that is too low',
    run: (client) => client.sendTransaction({ to: nobody.address, nonce: 0 }),
    is: `TransactionExecutionError > NonceTooLowError > ${rejected}`,
  },
  {
    name: 'intrinsic gas too low',
    run: (client) => client.sendTransaction({ to: nobody.address, gas: 20_000n }),
    is: `TransactionExecutionError > IntrinsicGasTooLowError > ${invalid}`,
  },
  {
    name: 'more gas than a block has',
    run: (client) => client.sendTransaction({ to: nobody.address, gas: 2n ** 40n }),
    is: `TransactionExecutionError > IntrinsicGasTooHighError > ${invalid}`,
  },
  {
    name: 'a fee cap below the base fee',
    run: (client) => client.sendTransaction({ to: nobody.address, gas: 21_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
    is: `TransactionExecutionError > FeeCapTooLowError > ${rejected}`,
  },
  {
    name: 'an unknown method',
    run: (client) => request(client, 'eth_nothing'),
    is: 'MethodNotFoundRpcError > RpcRequestError',
    has: { code: -32601 },
  },
  {
    name: 'invalid params',
    run: (client) => request(client, 'eth_getBalance', ['0x12', 'latest']),
    is: 'InvalidParamsRpcError > RpcRequestError',
    has: { code: -32602 },
  },
  {
    name: 'a transaction that cannot be decoded',
    run: (client) => client.sendRawTransaction({ serializedTransaction: '0x1234' }),
    is: 'InvalidParamsRpcError > RpcRequestError',
  },
  {
    name: 'a state that is not there yet',
    run: (client) => client.getBalance({ address: holder, blockNumber: 999_999n }),
    is: 'InvalidParamsRpcError > RpcRequestError',
    // Its message shows that the node lags, whatever its code.
    attempts: 4,
  },
  { name: 'a transaction that is not found', run: (client) => client.getTransaction({ hash: nowhere }), is: 'TransactionNotFoundError', attempts: 0 },
  { name: 'a block that is not found', run: (client) => client.getBlock({ blockNumber: 999_999n }), is: 'BlockNotFoundError', attempts: 0 },
  {
    name: 'a receipt that is not found',
    run: (client) => client.getTransactionReceipt({ hash: nowhere }),
    is: 'TransactionReceiptNotFoundError',
    attempts: 0,
  },
]

describe('an error of a node is the same with hexline as with http():', () => {
  let anvil: Anvil
  beforeAll(async () => {
    anvil = await startAnvil()
    const client = overHttp(anvil.url)
    for (const { address, code } of Object.values(contracts)) await client.setCode({ address, bytecode: code })
    await minedReceipt(client, await client.sendTransaction({ to: nobody.address, value: 1n }))
  })
  afterAll(() => anvil.stop())

  test.each(nodeRows)('$name', async ({ run, is, has = {}, attempts = 1 }) => {
    const expected = portraitOf(await errorOf(run(overHttp(anvil.url))))
    const error = await errorOf(run(overHexline(anvil.url)))
    expect(portraitOf(error)).toEqual(expected)
    // An old viem has other classes, and no cause under a contract's error.
    if (!isNewViem) return
    expect(expected).toMatchObject({ is, ...has })
    if (attempts > 0) expect(hexlineErrorOf(error)).toMatchObject({ name: 'RpcError', attempts })
    else expect(hexlineErrorOf(error)).toBeUndefined()
  })
})

// Messages of other nodes than anvil.
const wordRows: { name: string; code: number; words: string; data?: unknown; is: string; has?: Partial<Portrait> }[] = [
  { name: 'nonce too high', code: -32000, words: 'nonce too high: address 0x1, tx: 9 state: 1', is: `CallExecutionError > NonceTooHighError > ${invalid}` },
  {
    name: 'a tip above the fee cap',
    code: -32000,
    words: 'max priority fee per gas higher than max fee per gas: 2, 1',
    is: `CallExecutionError > TipAboveFeeCapError > ${invalid}`,
  },
  {
    name: 'a revert with -32000 and data',
    code: -32000,
    words: 'execution reverted',
    data: errorData('TooMuch', [holder, 7n, 5n]),
    is: `CallExecutionError > ExecutionRevertedError > ${invalid}`,
    has: { raw: custom.raw },
  },
  { name: 'a state that was pruned', code: -32000, words: 'missing trie node 0xab', is: `CallExecutionError > ${invalid}` },
  { name: 'an unknown code', code: 17, words: 'out of luck', is: 'CallExecutionError > RpcRequestError' },
  {
    name: 'data that is not hex',
    code: -32015,
    words: 'VM execution error.',
    data: { why: ['Reverted'] },
    is: 'CallExecutionError > RpcRequestError',
  },
]

describe('viem maps a node’s message the same with hexline as with http():', () => {
  test.each(wordRows)('$name', async ({ code, words, data, is, has = {} }) => {
    const { url } = await serve(each((entry) => failed(entry, code, words, data)))
    const run = (client: ViemClient) => errorOf(client.call({ to: holder }))
    const error = await run(overHexline(url, { retryCount: 0 }))
    expect(portraitOf(error)).toEqual(portraitOf(await run(overHttp(url, { retryCount: 0 }))))
    expect(portraitOf(error)).toMatchObject({ is, code, details: words, ...has })
    expect(((error as unknown as BaseError).walk((each) => each instanceof RpcRequestError) as RpcRequestError).data).toEqual(data)
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'RpcError', attempts: 1 })
  })

  test('a revert with -32000 and data is decoded by the ABI', async () => {
    const { url } = await serve(each((entry) => failed(entry, -32000, 'execution reverted', custom.raw)))
    const run = (client: ViemClient) => errorOf(client.readContract({ abi, address: holder, functionName: 'check' }))
    const error = portraitOf(await run(overHexline(url)))
    expect(error).toEqual(portraitOf(await run(overHttp(url))))
    expect(error).toMatchObject({ errorName: 'TooMuch', args: [holder, 7n, 5n] })
  })
})

describe('an error of the connection is the same with hexline as with http():', () => {
  const same = isNewViem ? transportRows : transportRows.filter(({ old }) => old === undefined)
  const changed = isNewViem ? [] : transportRows.filter(({ old }) => old !== undefined)

  test.each(same)('$name', async ({ answer, config = {}, is, has = {}, under, better }) => {
    const { url } = await serve(answer)
    const asked = { ...config, retryCount: 0 }
    const expected = portraitOf(await errorOf(readOver(overHttp(url, asked))))
    const error = await errorOf(readOver(overHexline(url, asked)))
    const portrait = portraitOf(error)
    expect(portrait).toMatchObject({ is, ...has })
    expectSame(portrait, expected, better)
    expect(hexlineErrorOf(error)).toMatchObject({ name: under, attempts: 1 })
  })

  // A newer http() behaves as hexline does with any version.
  test.runIf(changed.length > 0).each(changed)('$name, with an old viem', async ({ answer, config = {}, under, old }) => {
    const { url } = await serve(answer)
    const asked = { ...config, retryCount: 0 }
    const overOldHttp = await readOver(overHttp(url, asked)).then((result) => ({ result }), portraitOf)
    expect(overOldHttp).toMatchObject(old?.http ?? {})
    const error = await errorOf(readOver(overHexline(url, asked)))
    expect(portraitOf(error)).toMatchObject(old?.hexline ?? {})
    expect(hexlineErrorOf(error)).toMatchObject({ name: under, attempts: 1 })
  })

  test('a connection that is refused', async () => {
    const url = `http://127.0.0.1:${await deadPort()}`
    const expected = portraitOf(await errorOf(readOver(overHttp(url, { retryCount: 0 }))))
    const error = await errorOf(readOver(overHexline(url, { retryCount: 0 })))
    expect(expected).toMatchObject({ is: 'HttpRequestError' })
    expectSame(portraitOf(error), expected, saysWhatCame('fetch failed', /^127\.0\.0\.1:\d+: no connection: connect ECONNREFUSED/))
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'NetworkError', code: 'ECONNREFUSED', unsent: true })
  })

  test('an abort, before and in flight, is the reason of the signal itself', async () => {
    const server = await serve(silent)
    const mine = new Error('no longer needed')
    for (const client of [...(isNewViem ? [overHttp(server.url)] : []), overHexline(server.url)]) {
      const before = server.requests.length
      expect(await errorOf(readOver(client, 1, { signal: AbortSignal.abort(mine) }))).toBe(mine)
      expect(await errorOf(readOver(client, 1, { signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
      expect(server.requests).toHaveLength(before)
      for (const reason of [mine, undefined]) {
        const abort = new AbortController()
        const error = errorOf(readOver(client, 1, { signal: abort.signal }))
        const { hungUp } = await server.received(server.requests.length + 1)
        abort.abort(reason)
        expect(await error).toBe(abort.signal.reason)
        await hungUp
      }
    }
  })
})

describe('an error is the same, too,', () => {
  test('under fallback', async () => {
    for (const answer of [
      always('oops', { status: 500, headers: { 'content-type': 'text/plain' } }),
      refuse(3, 'execution reverted'),
      refuse(-32601, 'none'),
    ]) {
      const { url } = await serve(answer)
      const under = async (member: Transport) => portraitOf(await errorOf(clientOver(fallback([member], { retryCount: 0 })).call({ to: holder })))
      expect(await under(closing(hexline(url)))).toEqual(await under(http(url)))
    }
  })

  test('of a method that the transport excludes, which is never sent', async () => {
    const server = await serve(silent)
    const methods = { exclude: ['eth_getBalance'] }
    const error = portraitOf(await errorOf(readOver(overHexline(server.url, { methods }))))
    expect(error).toEqual(portraitOf(await errorOf(readOver(overHttp(server.url, { methods })))))
    expect(error).toMatchObject({ is: 'MethodNotSupportedRpcError' })
    expect(server.requests).toHaveLength(0)
  })

  test('with `raw`, where a node’s error is a result', async () => {
    const { url } = await serve(each((entry) => failed(entry, 3, 'execution reverted', '0x08c379a0')))
    const raw = await readOver(overHexline(url, { raw: true }))
    expect(raw).toEqual(await readOver(overHttp(url, { raw: true })))
    expect(raw).toEqual({ error: { code: 3, message: 'execution reverted', data: '0x08c379a0' } })
  })
})

test('a closed client is a disconnected provider', async () => {
  const client = overHexline((await serve(silent)).url)
  await client.transport.client.close()
  const error = await errorOf(readOver(client))
  expect(error).toBeInstanceOf(ProviderDisconnectedError)
  expect(error).toMatchObject({ code: 4900, details: 'the client is closed' })
  expect(hexlineErrorOf(error)).toMatchObject({ name: 'ClosedError', attempts: 0 })
})

describe('no error with hexline shows the key,', () => {
  const secrets = ['kEy0fThePath', 'kEy0fTheQuery', 'us3rOfTheUrl', 'pa55OfTheUrl', 't0kenOfTheHeader', btoa('us3rOfTheUrl:pa55OfTheUrl')]
  const withKeys = (url: string) => url.replace('http://', 'http://us3rOfTheUrl:pa55OfTheUrl@').concat('/v3/kEy0fThePath?key=kEy0fTheQuery')
  const headers = { 'x-token': 't0kenOfTheHeader' }
  const told = ({ path, headers: sent }: Received) =>
    `you asked http://us3rOfTheUrl:pa55OfTheUrl@${sent.host}${path} as ${sent.authorization} with ${sent['x-token']}`
  const echo =
    (make: (said: string, request: Received) => unknown, how: Parameters<typeof send>[2] = {}): Answer =>
    (request, response) => {
      const body = make(told(request), request)
      send(response, typeof body === 'string' ? body : JSON.stringify(body), how)
    }
  const errorObject = (error: object): Answer =>
    echo((said, { entries }) => ({ id: entries[0]?.id, error: { code: -32000, message: said, data: { [said]: [said] }, ...error } }))

  const echoRows: { name: string; answer: Answer; config?: HexlineTransportConfig }[] = [
    ...transportRows.map(({ name, answer, config }) => ({ name, answer, config: config as HexlineTransportConfig })),
    { name: '500 that echoes the URL', answer: echo((said) => said, { status: 500 }) },
    { name: '404 that echoes it in JSON', answer: echo((said) => ({ error: said, path: said }), { status: 404 }) },
    { name: '502 that echoes it in a page', answer: echo((said) => `<a href="${said}">${encodeURIComponent(said)}</a>`, { status: 502 }) },
    {
      name: '302 that echoes it in headers',
      answer: (request, response) => send(response, '', { status: 302, headers: { location: told(request), 'x-asked': request.path } }),
    },
    { name: '200 that echoes it in a page', answer: echo((said) => `<html>${said}</html>`) },
    { name: 'a reply to another call that echoes it', answer: echo((said) => ({ id: 999_999, result: said })) },
    { name: 'a JSON-RPC error that echoes it', answer: errorObject({}) },
    { name: 'a revert that echoes it', answer: errorObject({ code: 3 }) },
    { name: 'a rate limit that echoes it', answer: errorObject({ code: -32005 }) },
    { name: 'something that is not HTTP', answer: ({ path, socket }) => void socket.end(`${path} kEy0fThePath`) },
    { name: 'an invalid encoding', answer: (request, response) => send(response, '{}', { headers: { 'content-encoding': request.path } }) },
  ]

  test.each(echoRows)('$name', async ({ answer, config = {} }) => {
    const { url } = await serve(answer)
    // Wrapped by viem's actions once and twice, too. Each with a client of its own, since a client
    // that was throttled waits.
    const failures = [readOver, (client: ViemClient) => client.call({ to: holder }), read('reason')]
    for (const fail of failures) {
      const client = overHexline(withKeys(url), { ...config, fetchOptions: { headers }, retryCount: 0 })
      expectNoSecret(await errorOf(fail(client)))
      expectNoSecret(client)
    }
  })

  test('a connection that is refused', async () => {
    const client = overHexline(withKeys(`http://127.0.0.1:${await deadPort()}`), { fetchOptions: { headers }, retryCount: 0 })
    expectNoSecret(await errorOf(readOver(client)))
  })

  test('and the search would find a key', async () => {
    const { url } = await serve(errorObject({ code: 3 }))
    const error = await errorOf(readOver(overHttp(`${url}/v3/kEy0fThePath?key=kEy0fTheQuery`, { retryCount: 0 })))
    for (const text of textsOf(error)) expect(text).toContain('kEy0fThePath')
    expect(() => expectNoSecret(Object.defineProperty(new Error(), 'hidden', { value: { deep: ['kEy0fThePath'] }, enumerable: false }))).toThrow()
  })

  function expectNoSecret(value: unknown): void {
    for (const text of textsOf(value)) for (const secret of secrets) expect(text).not.toContain(secret)
  }
})

/** Everything that can be read from an error or an object. */
function textsOf(value: unknown): string[] {
  const { message, stack, details, metaMessages } = value as Partial<BaseError>
  const deep = inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null, maxArrayLength: null })
  return [deep, inspect(value), stringify(value), String(value), message, stack, details, metaMessages?.join()].filter((text) => text !== undefined)
}

/** The same except for the fields in `better`. */
function expectSame(portrait: Portrait, expected: Portrait, better: TransportRow['better']): void {
  const changed = better === undefined ? [] : [...new Set([...Object.keys(better.http), ...Object.keys(better.hexline)])]
  const rest = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => !changed.includes(key)))
  const part = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => changed.includes(key)))
  expect(rest(portrait)).toEqual(rest(expected))
  if (better === undefined) return
  expect(part(expected)).toEqual(better.http)
  expect(part(portrait)).toEqual(better.hexline)
}

test('no connection to a WebSocket is no failure of HTTP', async () => {
  const url = `ws://127.0.0.1:${await deadPort()}`
  const error = await errorOf(overHexline(url, { retryCount: 0 }).getBlockNumber())
  expect(error).toMatchObject({ name: 'WebSocketRequestError', shortMessage: 'WebSocket request failed.', url, cause: { name: 'NetworkError' } })
})
