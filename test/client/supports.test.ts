import { describe, expect, it, onTestFinished } from 'vitest'
import { type AskOne, Supported } from '../../src/client/supports.ts'
import { OptionError } from '../../src/index.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { startAnvil } from '../support/anvil.ts'
import { holdTime } from '../support/held-time.ts'
import { type Answer, clientOf, each, failed, refuse, serve, silent } from '../support/server.ts'

/** A node with these methods, each with its result or the code of its error. */
function nodeWith(methods: Record<string, unknown>): Answer {
  return each((entry) => {
    const { id, method } = entry
    if (!Object.hasOwn(methods, method)) return failed(entry, -32601, `the method ${method} does not exist/is not available`)
    const answer = methods[method]
    return typeof answer === 'number' ? failed(entry, answer, 'missing value for required argument 0') : { jsonrpc: '2.0', id, result: answer }
  })
}

async function startNode(methods: Record<string, unknown>) {
  const server = await serve(nodeWith(methods))
  const asked = () => server.requests.flatMap(({ entries }) => entries.map(({ method, params }) => `${method} ${JSON.stringify(params)}`))
  return { url: server.url, asked }
}

describe('a method', () => {
  it('that the node refuses for its missing arguments, or answers, is supported', async () => {
    const { url, asked } = await startNode({ trace_transaction: -32602, eth_syncing: false })
    const client = clientOf(url)
    expect(await client.supports('trace_transaction')).toBe(true)
    expect(await client.supports('eth_syncing')).toBe(true)
    expect(asked()).toEqual(['trace_transaction []', 'eth_syncing []'])
  })

  it('of a namespace that the node has disabled is not', async () => {
    const disabled = "The method 'trace_block' is found but the namespace 'trace' is disabled for http://0.0.0.0:8545."
    expect(await clientOf((await serve(refuse(-32600, disabled))).url).supports('trace_block')).toBe(false)
  })

  it('of which anvil says nothing over a WebSocket is not known', async () => {
    const anvil = await startAnvil()
    onTestFinished(anvil.stop)
    const client = clientOf(anvil.url.replace('http:', 'ws:'))
    expect(await client.supports('trace_get')).toBe(undefined)
    expect(await client.supports('eth_chainId')).toBe(true)
    expect(await clientOf(anvil.url).supports('trace_get')).toBe(false)
  })

  it('that the node does not know is not', async () => {
    const { url, asked } = await startNode({})
    const client = clientOf(url)
    expect(await client.supports('debug_traceTransaction')).toBe(false)
    expect(await client.supports('erigon_forks')).toBe(false)
    expect(asked()).toEqual(['debug_traceTransaction []', 'erigon_forks []'])
  })

  it('is asked for once, and again after 10 minutes', async () => {
    const { url, asked } = await startNode({ eth_syncing: false })
    const time = holdTime()
    const client = clientOf(url)
    for (let i = 0; i < 3; i++) expect(await client.with({}).supports('eth_syncing')).toBe(true)
    expect(asked()).toHaveLength(1)
    await time.pass(600_001)
    expect(await client.supports('eth_syncing')).toBe(true)
    expect(asked()).toHaveLength(2)
  })

  it.each(['call', 'request'] as const)('that a call has failed for is known to be missing: %s', async (how) => {
    const { url, asked } = await startNode({})
    const client = clientOf(url)
    await expect(how === 'call' ? client.call('txpool_status') : client.request({ method: 'txpool_status' })).rejects.toMatchObject({ kind: 'unsupported' })
    expect(await client.supports('txpool_status')).toBe(false)
    expect(asked()).toEqual(['txpool_status []'])
  })

  it('that sends a transaction is asked for with bytes that are none', async () => {
    const { url, asked } = await startNode({ eth_sendRawTransactionSync: -32602 })
    const client = clientOf(url)
    expect(await client.supports('eth_sendRawTransactionSync')).toBe(true)
    expect(await client.supports('eth_sendRawTransaction')).toBe(false)
    expect(asked()).toEqual(['eth_sendRawTransactionSync ["0x"]', 'eth_sendRawTransaction ["0x"]'])
  })

  it('with a result of hundreds of megabytes is not called: another one tells', async () => {
    const { url, asked } = await startNode({ txpool_status: { pending: '0x1', queued: '0x0' } })
    expect(await clientOf(url).supports('txpool_content')).toBe(true)
    expect(asked()).toEqual(['txpool_status []'])
  })

  it('that changes something is not called: the namespaces tell whether it is missing', async () => {
    const { url, asked } = await startNode({ rpc_modules: { eth: '1.0', txpool: '1.0' }, evm_mine: '0x0' })
    const client = clientOf(url)
    expect(await client.supports('evm_mine')).toBe(false)
    expect(await client.supports('txpool_add')).toBeUndefined()
    expect(asked()).toEqual(['rpc_modules []', 'rpc_modules []'])
    const silentNode = await startNode({ evm_mine: '0x0' })
    expect(await clientOf(silentNode.url).supports('evm_mine')).toBeUndefined()
    expect(silentNode.asked()).toEqual(['rpc_modules []'])
  })

  it('whose data the node does not keep, as its capabilities say, is not supported', async () => {
    const has = { eth_getLogs: -32602, eth_getProof: -32602, eth_getBlockReceipts: -32602, eth_getBalance: -32602 }
    const capabilities = { logs: { disabled: true }, stateproofs: { disabled: false, oldestBlock: '0x10' }, blocks: { disabled: true } }
    const client = clientOf((await startNode({ ...has, eth_capabilities: capabilities })).url)
    expect(await client.supports('eth_getLogs')).toBe(false)
    expect(await client.supports('eth_getProof')).toBe(true)
    expect(await client.supports('eth_getBlockReceipts')).toBe(false)
    expect(await client.supports('eth_getBalance')).toBe(true)
  })

  it('is unknown where the endpoint gives no answer', async () => {
    const client = clientOf((await serve(refuse(-32603, 'internal error'))).url)
    expect(await client.supports('eth_syncing')).toBeUndefined()
  })

  it('of several endpoints is supported if one has it, and missing if none has', async () => {
    const [one, two] = await Promise.all([
      startNode({ eth_chainId: '0x1', eth_blockNumber: '0x1', eth_syncing: false }),
      startNode({ eth_chainId: '0x1', eth_blockNumber: '0x1' }),
    ])
    const client = clientOf([one.url, two.url])
    expect(await client.supports('eth_syncing')).toBe(true)
    expect(await client.supports('trace_block')).toBe(false)
    const [first, second] = [one, two].map(({ asked }) => asked().filter((call) => /syncing|trace/.test(call)))
    expect([first, second]).toEqual([
      ['eth_syncing []', 'trace_block []'],
      ['eth_syncing []', 'trace_block []'],
    ])
  })

  it('is supported as soon as one endpoint has it, whatever another one is waiting for', async () => {
    const { url, asked } = await startNode({ eth_chainId: '0x1', eth_blockNumber: '0x1', eth_syncing: false })
    const client = clientOf([(await serve(silent)).url, url])
    for (let i = 0; i < 2; i++) expect(await client.supports('eth_syncing')).toBe(true)
    expect(asked().filter((call) => call.startsWith('eth_syncing'))).toHaveLength(1)
  })

  it('is not asked for at the others any longer, nor again', async () => {
    const waiting: AbortSignal[] = []
    const ask: AskOne = async (endpoint, _method, _params, signal) => {
      if (endpoint === 'two') return false
      waiting.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const supported = new Supported(['one', 'two'], systemClock)
    for (let i = 0; i < 2; i++) expect(await supported.supports('eth_syncing', ask)).toBe(true)
    expect(waiting.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('is asked for once by all who ask at the same time', async () => {
    const { url, asked } = await startNode({ eth_syncing: false })
    const client = clientOf(url)
    expect(new Set(await Promise.all(Array.from({ length: 100 }, () => client.supports('eth_syncing'))))).toEqual(new Set([true]))
    expect(asked()).toEqual(['eth_syncing []'])
  })

  it('ends with the signal, and with the client', async () => {
    const { url } = await serve(silent)
    const stop = new AbortController()
    const client = clientOf(url)
    const asked = client.with({ signal: stop.signal }).supports('eth_syncing')
    stop.abort('enough')
    await expect(asked).rejects.toBe('enough')
    const last = client.supports('eth_syncing')
    await client.close()
    await expect(last).rejects.toMatchObject({ kind: 'closed' })
  })

  it.each([undefined, '', 7])('must be a name, not %j', async (name) => {
    await expect(clientOf((await startNode({})).url).supports(name as string)).rejects.toBeInstanceOf(OptionError)
  })
})
