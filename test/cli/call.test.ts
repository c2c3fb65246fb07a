import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ChainServer, startChain } from '../support/chain-server.ts'
import { hexline } from '../support/command.ts'
import { send, serve, silent } from '../support/server.ts'

const ADDRESS = `0x${'a1'.repeat(20)}`
let server: ChainServer

beforeEach(async () => {
  server = await startChain({
    head: 20,
    answer: ({ method, params }) => {
      if (method === 'eth_getBalance') return { result: '0x0de0b6b3a7640000' }
      if (method === 'eth_gasPrice') return { result: '0x3b9aca01' }
      if (method === 'net_peers') return { result: { count: 3, list: params, none: [] } }
      if (method === 'eth_call') return { error: { code: 3, message: 'execution reverted: not yours' } }
      if (method === 'eth_getCode') return { error: { code: 4444, message: 'pruned history unavailable' } }
      if (/^eth_blocknumber$|^eth_getBalence$|^blockNumber$/.test(method)) return { error: { code: -32601, message: 'Method not found' } }
      if (method === 'nope') return { error: { code: -32601, message: 'the method nope does not exist/is not available' } }
      return undefined
    },
  })
})
afterEach(() => server.close())

/** Runs `hexline call` on the server, and returns its output and its calls. */
async function call(...args: string[]) {
  const ended = await hexline(['call', ...args, '--rpc', server.url])
  return { ...ended, sent: server.calls.map(({ method, params }) => [method, params]) }
}

describe('hexline call', () => {
  it('shows a result in readable form', async () => {
    expect(await call('eth_blockNumber')).toMatchObject({ code: 0, stdout: '20\n', stderr: '' })
    expect((await call('eth_getBalance', ADDRESS)).stdout).toBe('1000000000000000000 wei (1 ether)\n')
    expect((await call('eth_gasPrice')).stdout).toBe('1000000001 wei (1.000000001 gwei)\n')
    expect((await call('eth_getTransactionByHash', `0x${'0'.repeat(64)}`)).stdout).toBe('null\n')
  })

  it('shows an object field by field, with indented parts', async () => {
    const { stdout } = await call('eth_getBlockByNumber', '3', 'true')
    expect(stdout.split('\n').slice(0, 10)).toEqual([
      'number        3',
      'hash          0xbbbbbbbb00000000000000000000000000000000000000000000000000000003',
      'parentHash    0xbbbbbbbb00000000000000000000000000000000000000000000000000000002',
      'gasLimit      30000000',
      'gasUsed       21000',
      'timestamp     1700000003 (2023-11-14T22:13:23Z)',
      'transactions',
      '  0',
      '    hash              0x7777777700000000000000000000000000030000000000000000000000000000',
      '    blockHash         0xbbbbbbbb00000000000000000000000000000000000000000000000000000003',
    ])
    expect(stdout).toContain('    value             3000 wei (0.000000000000003 ether)\n')
  })

  it('prints JSON with amounts as decimal strings, or the node’s own', async () => {
    expect((await call('eth_getBalance', ADDRESS, '--json')).stdout).toBe('"1000000000000000000"\n')
    expect((await call('eth_getBalance', ADDRESS, '--raw')).stdout).toBe('"0x0de0b6b3a7640000"\n')
    expect(JSON.parse((await call('eth_getBlockByNumber', '3', 'true', '--json')).stdout)).toMatchObject({
      number: '3',
      transactions: [{ nonce: 0, value: '3000' }],
    })
  })

  it('takes parameters as decimal, hex, a tag or JSON', async () => {
    await call('eth_getBalance', ADDRESS, '16')
    await call('eth_getBalance', ADDRESS, '0x010')
    await call('eth_getBalance', ADDRESS, 'safe')
    const { sent } = await call('eth_getLogs', `{"fromBlock":1,"address":["${ADDRESS}"]}`)
    expect(sent).toEqual([
      ['eth_getBalance', [ADDRESS, '0x10']],
      ['eth_getBalance', [ADDRESS, '0x10']],
      ['eth_getBalance', [ADDRESS, 'safe']],
      ['eth_getLogs', [{ fromBlock: '0x1', address: [ADDRESS] }]],
    ])
  })

  it('sends any other method, with decimals as quantities and results unchanged', async () => {
    const { stdout, sent } = await call('net_peers', '5', '[7]', 'latest', 'true', '"8"')
    expect(sent).toEqual([['net_peers', ['0x5', [7], 'latest', true, '8']]])
    expect(stdout).toBe(['count  3', 'list', '  0  0x5', '  1', '    0  7', '  2  latest', '  3  true', '  4  8', 'none   none', ''].join('\n'))
  })
})

describe('--params', () => {
  it('keeps numbers as numbers', async () => {
    expect((await call('net_peers', '--params', '[5, "6", [7]]')).sent).toEqual([['net_peers', [5, '6', [7]]]])
    expect(await call('eth_getBalance', '--params', `["${ADDRESS}", "latest"]`)).toMatchObject({ code: 0, stdout: '1000000000000000000 wei (1 ether)\n' })
  })

  it.each([
    [['--params', '{}'], 'hexline: --params: expected a JSON array, received "{}"\n'],
    [
      ['--params', '[12345678901234567890]'],
      'hexline: --params: expected integers of at most 2^53 - 1, and larger ones as hex in quotes, received a larger one\n',
    ],
    [
      ['[{"value":1000000000000000000001}]'],
      'hexline: params[0]: expected integers of at most 2^53 - 1, and larger ones as hex in quotes, received a larger one\n',
    ],
    [['--params', '[1'], /^hexline: --params: expected a JSON array, received "\[1" \(.*\)\n$/],
    [['1', '--params', '[1]'], 'hexline: --params: expected either --params or parameters as arguments, received both\n'],
  ])('%j ends with 2 before anything is sent', async (args, stderr) => {
    const ended = await call('net_peers', ...args)
    expect(ended).toMatchObject({ code: 2, stdout: '', sent: [] })
    expect(ended.stderr).toMatch(stderr)
  })
})

describe('--rpc', () => {
  it('is repeated for several nodes, of which one may be dead', async () => {
    const ended = await hexline(['call', 'eth_blockNumber', '--rpc', 'http://127.0.0.1:1', '--rpc', server.url])
    expect(ended).toEqual({ code: 0, stdout: '20\n', stderr: '' })
  })
})

describe('a failure', () => {
  it('of a call that the node refuses ends with 1 and the node’s message', async () => {
    expect(await call('eth_call', '{"data":"0x"}')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `hexline: ${server.url.slice(7)}: eth_call: execution reverted: not yours\n`,
    })
    expect(await call('nope')).toMatchObject({
      code: 1,
      stderr: `hexline: ${server.url.slice(7)}: nope: the method nope does not exist/is not available; does the node have this method, and is it spelt right?\n`,
    })
  })

  it.each([
    ['eth_blocknumber', 'eth_blockNumber'],
    ['eth_getBalence', 'eth_getBalance'],
    ['blockNumber', 'eth_blockNumber'],
  ])('of a misspelt method suggests the right one: %s', async (misspelt, meant) => {
    const { code, stderr } = await call(misspelt)
    expect([code, stderr]).toEqual([1, `hexline: ${server.url.slice(7)}: ${misspelt}: Method not found; did you mean ${meant}?\n`])
  })

  it.each(['eth_getTransactionReceipt', 'anvil_setBlockTimestampInterval', 'engine_getPayloadBodiesByHashV1', 'zks_getL1BatchDetails'])(
    'names the method %s, although a long argument may be a key',
    async (method) => {
      await server.close()
      server = await startChain({ head: 1, answer: () => ({ error: { code: -32000, message: 'no' } }) })
      const { stderr } = await call(method, `0x${'0'.repeat(64)}`)
      expect(stderr).toBe(`hexline: ${server.url.slice(7)}: ${method}: no\n`)
    },
  )

  it.each([
    ['an argument', ['x_y', 'livekey_abcdEfghIjklMnopQrstUvwxyz']],
    ['an argument, after a flag', ['--timeout', '5', 'x_y', 'livekey_abcdEfghIjklMnopQrstUvwxyz']],
    ['the value of a flag', ['--api-key', 'livekey_abcdEfghIjklMnopQrstUvwxyz', 'x_y']],
  ])('hides %s that may be a key and that the node echoes, though it looks like a method', async (_, args) => {
    await server.close()
    server = await startChain({ head: 1, answer: () => ({ error: { code: -32000, message: 'no livekey_abcdEfghIjklMnopQrstUvwxyz' } }) })
    const { code, stderr } = await call(...args)
    expect(code).toBeGreaterThan(0)
    expect(stderr).not.toContain('livekey')
  })

  it.each([
    [['eth_getBalance', '0x12'], 'hexline: params[0]: expected an address (20 bytes in hex), received "0x12"\n'],
    [['eth_getBalance'], 'hexline: params[0]: expected an address (20 bytes in hex), received nothing\n'],
    [
      ['eth_getBalance', ADDRESS, '-1'],
      'hexline: params[1]: expected a block number from 0 to 2^64 - 1 (decimal or hex) or a tag (latest, earliest, pending, safe, finalized), received "-1"\n',
    ],
    [
      ['eth_getBalance', ADDRESS, '1.5'],
      'hexline: params[1]: expected a block number from 0 to 2^64 - 1 (decimal or hex) or a tag (latest, earliest, pending, safe, finalized), received "1.5"\n',
    ],
    [
      ['eth_getBalance', ADDRESS, '18446744073709551616'],
      'hexline: params[1]: expected a block number from 0 to 2^64 - 1 (decimal or hex) or a tag (latest, earliest, pending, safe, finalized), received 18446744073709551616\n',
    ],
    [['eth_getLogs', '{"fromBlock":'], 'hexline: params[0]: expected JSON, received "{\\"fromBlock\\":" (Unexpected end of JSON input)\n'],
    [['eth_blockNumber', 'latest'], 'hexline: params: expected no parameters, received 1\n'],
    [[], "hexline: missing required argument 'method'\n"],
  ])('%j ends with 2 before anything is sent', async (args, stderr) => {
    expect(await call(...args)).toMatchObject({ code: 2, stdout: '', stderr, sent: [] })
  })

  it('is reported as JSON with --json', async () => {
    const { stderr } = await call('eth_call', '{"data":"0x"}', '--json')
    expect(JSON.parse(stderr)).toMatchObject({
      type: 'error',
      kind: 'execution',
      message: `${server.url.slice(7)}: eth_call: execution reverted: not yours`,
      method: 'eth_call',
      attempts: 1,
      exitCode: 1,
    })
  })
})

describe('the node', () => {
  it('may be one of the service, by chain and key', async () => {
    const env = { HEXLINE_RPC_BASE_URL: server.url, HEXLINE_API_KEY: 'k3y' }
    expect(await hexline(['call', 'eth_blockNumber', '--chain', 'base'], { env })).toMatchObject({ code: 0, stdout: '20\n', stderr: '' })
    expect(await hexline(['call', 'eth_blockNumber', '--chain', 'base', '--base-url', server.url, '--api-key', 'k3y'])).toEqual({
      code: 0,
      stdout: '20\n',
      stderr: 'hexline: warning: other users of this machine can see a key given as an argument; use HEXLINE_API_KEY instead\n',
    })
    expect(server.paths).toEqual(['/base/k3y', '/base/k3y'])
  })

  it.each([
    [['--chain', 'bas'], '--chain: expected one of eth, sepolia'],
    [['--chain', 'eth', '--rpc', 'http://127.0.0.1:1'], '--chain: expected either --chain or --rpc, received both'],
    [['--api-key', 'k'], '--api-key: expected --chain as well, received no --chain'],
    [['--chain', 'eth'], "--base-url: expected the service's address, here or in HEXLINE_RPC_BASE_URL, received nothing"],
    [['--chain', 'eth', '--base-url', 'http://127.0.0.1:1'], '--api-key: expected the key, here or in HEXLINE_API_KEY, received nothing'],
    [['--chain', 'eth', '--base-url', 'localhost:1', '--api-key', 'k'], '--base-url: expected an http, https, ws or wss URL'],
    [[], "--rpc: expected the node's URL, here or in HEXLINE_RPC_URL, or --chain, received nothing"],
    [
      ['--rpc', 'ftp://127.0.0.1:1'],
      '--rpc: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received a URL without http://, https://, ws:// or wss://',
    ],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await hexline(['call', 'eth_blockNumber', ...args])
    expect(code).toBe(2)
    expect(stderr).toContain(`hexline: ${message}`)
  })

  it('without old blocks is reported in one line with advice', async () => {
    const { code, stderr } = await call('eth_getCode', ADDRESS, '1')
    expect([code, stderr]).toEqual([
      1,
      `hexline: ${server.url.slice(7)}: eth_getCode: pruned history unavailable; the node has no history that far back: try an archive node\n`,
    ])
  })

  it.each([
    [
      'is nested too deeply',
      `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
      'the result is too long or too deeply nested to show: --raw prints it as the node sent it',
    ],
  ])('whose result %s is reported, and --raw prints it', async (_, result, message) => {
    const odd = await serve((request, response) => send(response, `{"jsonrpc":"2.0","id":${request.entries[0]?.id},"result":${result}}`))
    for (const flag of [[], ['--json']]) {
      const { code, stderr } = await hexline(['call', 'x_nested', '--rpc', odd.url, ...flag])
      expect(code).toBe(1)
      expect(stderr).toContain(message)
    }
    expect(await hexline(['call', 'x_nested', '--rpc', odd.url, '--raw'])).toEqual({ code: 0, stdout: `${result}\n`, stderr: '' })
  })

  it('that stalls is given up on after --timeout, POST by POST', async () => {
    const stalled = await serve(silent)
    const { code, stderr } = await hexline(['call', 'eth_blockNumber', '--rpc', stalled.url, '--timeout', '0.2'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^hexline: 127\.0\.0\.1:\d+: no reply within 0\.2 s \(--timeout\); is the node down or overloaded\?\n$/)
    expect(stalled.requests).toHaveLength(4)
  })

  it('that is unreachable, or not a node, is reported in one line with advice', async () => {
    const dead = await hexline(['call', 'eth_blockNumber', '--rpc', 'http://127.0.0.1:1'])
    expect(dead).toMatchObject({
      code: 1,
      stderr: 'hexline: 127.0.0.1:1: no connection: connect ECONNREFUSED 127.0.0.1:1; is the node running, and is the URL right?\n',
    })
    await server.close()
    server = await startChain({ head: 1, body: () => '<html>Welcome</html>' })
    const { stderr } = await call('eth_blockNumber')
    expect(stderr).toMatch(
      /^hexline: 127\.0\.0\.1:\d+: eth_blockNumber: the reply is not JSON.*: <html>Welcome<\/html>; is this the URL of a JSON-RPC node\?\n$/,
    )
  })
})
