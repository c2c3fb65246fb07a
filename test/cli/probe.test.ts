import { describe, expect, it } from 'vitest'
import { hexline, startHexline } from '../support/command.ts'
import { startLimited } from '../support/limited-node.ts'
import { always, deadPort, serve, silent } from '../support/server.ts'

const limits = {
  batch: { most: 3, says: () => ({ code: 31, message: 'Batch of more than 3 requests are not allowed on free plan' }) },
  range: { most: 2000, says: (blocks: number) => ({ code: -32602, message: `range ${blocks} exceeds limit of 2000` }) },
  stateDepth: 128,
  without: ['eth_getProof'],
  withoutTags: ['pending'],
}

const WARNING = 'hexline: warning: other users of this machine can see a URL given as an argument, and it may hold a key; use HEXLINE_RPC_URL instead\n'

describe('hexline probe', () => {
  it('prints its limit before it starts, and then each figure with its source', async () => {
    const node = await startLimited(limits)
    const { code, stdout, stderr } = await hexline(['probe', `${node.url}/v3/SECRET-KEY`])
    expect(code).toBe(0)
    expect(stderr).toBe(`${WARNING}at most 500 calls to ${node.url}: batches of up to 100, 50 in one burst\n`)
    const host = new URL(node.url).host
    expect(stdout.split('\n').map((line) => line.replace(/[\d.]+ ms/g, 'N ms').replace(/[\d.]+ s\b/, 'N s'))).toEqual([
      `endpoint       ${host}`,
      'version        Limited/v1.0.0',
      'chain id       1',
      'latest block   100,000',
      'latency        median N ms, 95 % within N ms (10 calls)',
      'batch          3 calls (a batch of 4 was refused: Batch of more than 3 requests are not allowed on free plan)',
      expect.stringMatching(/^reply {10}at least [\d.]+ k?B \(the latest block has \d+ bytes, and at most 3 of them fit in a batch\)$/),
      'log range      2,000 blocks (a range of 2001 blocks was refused: range 2001 exceeds limit of 2000)',
      // On a busy machine, the burst takes longer than a second.
      expect.stringMatching(/^rate {11}at least \d+ calls a second \(50 calls within N s were answered; no more were made\)$/),
      `archive depth  128 blocks (the state of block 99871 was refused: missing trie node ${'5a'.repeat(32)} (path ))`,
      'history        blocks from 1 (it answers for block 1)',
      '               receipts from 1 (it answers for block 1)',
      '               logs from 1 (it answers for block 1)',
      `               state from 99,872 (the state of block 99871 was refused: missing trie node ${'5a'.repeat(32)} (path ))`,
      '               an old value of the state: not compared (found no transaction to compare with)',
      'methods        27 of 28',
      '               not eth_getProof (the method eth_getProof does not exist/is not available)',
      'tags           4 of 5',
      '               not pending (invalid block tag pending)',
      expect.stringMatching(/^cost {11}\d+ calls in \d+ POSTs, N s$/),
      '',
    ])
    expect(node.paths.every((path) => path === '/v3/SECRET-KEY')).toBe(true)
    expect(stdout + stderr).not.toContain('SECRET')
  })

  it('prints one JSON object, and reads the node and its limits from flags and environment', async () => {
    const node = await startLimited(limits)
    const { code, stdout, stderr } = await hexline(['probe', '--json', '--no-rate', '--max-calls', '300', '--max-batch', '2', '--max-range', '50'], {
      env: { HEXLINE_RPC_URL: node.url },
    })
    expect(code).toBe(0)
    expect(JSON.parse(stderr)).toEqual({ type: 'bound', endpoints: [node.url], maxCalls: 300, maxBatch: 2, rateCalls: 0 })
    const report = JSON.parse(stdout)
    expect(report.endpoints).toHaveLength(1)
    expect(report.endpoints[0]).toMatchObject({
      endpoint: new URL(node.url).host,
      error: null,
      batchCalls: { known: 'at least', value: 2 },
      logRange: { known: 'at least', value: 50 },
      rate: { known: 'unknown', value: null },
    })
    expect(node.posts.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(300)
    expect(await hexline(['probe', '--rpc', node.url, '--quiet', '--no-rate'])).toMatchObject({ code: 0, stderr: '' })
  })

  it('names in one row what is unknown of a second node, for one reason', async () => {
    const node = await startLimited(limits)
    const { code, stdout } = await hexline(['probe', '--rpc', node.url, '--rpc', `http://127.0.0.1:${await deadPort()}`, '--quiet', '--no-rate'])
    expect(code).toBe(0)
    const [, second = ''] = stdout.split('\n\n')
    expect(second).toMatch(/^methods {8}0 of 28\n {15}unknown: eth_blockNumber, eth_call, .*, eth_sendRawTransaction \(the endpoint does not answer\)\ntags/m)
  })

  it('says in one line why a node cannot be probed', async () => {
    const port = await deadPort()
    expect(await hexline(['probe', `http://127.0.0.1:${port}/SECRET`])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${WARNING}at most 500 calls to http://127.0.0.1:${port}: batches of up to 100, 50 in one burst\nhexline: 127.0.0.1:${port}: no connection: connect ECONNREFUSED 127.0.0.1:${port}; is the node running, and is the URL right?\n`,
    })
    const page = await serve(always('<html>hello</html>', { headers: { 'content-type': 'text/html' } }))
    expect(await hexline(['probe', page.url, '--quiet'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/is this the URL of a JSON-RPC node\?\n$/),
    })
    const locked = await serve(always({ jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'Must be authenticated!' } }, { status: 401 }))
    expect(await hexline(['probe', locked.url, '--quiet'])).toMatchObject({
      code: 1,
      stderr: `hexline: ${locked.url.slice(7)}: eth_chainId: Must be authenticated!; check the key\n`,
    })
    const stalled = await serve(silent)
    expect(await hexline(['probe', stalled.url, '--quiet', '--deadline', '0.5'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^hexline: 127\.0\.0\.1:\d+: no whole reply within 0\.5 s \(--deadline\); is the node down/),
    })
  })

  it.each<[string[], string]>([
    [
      ['ftp://host/SECRET'],
      'the URL: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received a URL without http://, https://, ws:// or wss://',
    ],
    [['SECRET'], 'the URL: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an invalid URL'],
    [['http://127.0.0.1:1/SECRET', '--rpc', 'http://127.0.0.1:1/SECRET'], '--rpc: expected either --rpc or a URL as an argument, received both'],
    [['http://127.0.0.1:1/SECRET', '--chain', 'eth'], '--chain: expected either --chain or a URL as an argument, received both'],
    [['--rpc', 'SECRET'], '--rpc: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an invalid URL'],
    [[], "--rpc: expected the node's URL, here or in HEXLINE_RPC_URL, or --chain, received nothing"],
    [['http://127.0.0.1:1', '--max-calls', '20'], '--max-calls: expected a whole number of at least 110, received 20'],
    [['http://127.0.0.1:1', '--deadline', 'abc'], '--deadline: expected a number of seconds above 0, such as 30, at most 2147483, received "abc"'],
    [['http://127.0.0.1:1', '--rate', 'many'], '--rate: expected a number, received "many"'],
    [['http://127.0.0.1:1', '--max-batch', '0'], '--max-batch: expected a whole number of at least 1, received 0'],
    [['http://127.0.0.1:1/SECRET', 'http://127.0.0.1:1/SECRET'], "too many arguments for 'probe'. Expected 1 argument but got 2. Not expected: a URL"],
    [['--rcp=http://127.0.0.1:1/SECRET'], "unknown option '--rcp'"],
  ])('%j is wrong usage', async (args, message) => {
    const { code, stdout, stderr } = await hexline(['probe', ...args])
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `hexline: ${message}\n` })
  })

  it('ends with Ctrl-C, in the middle of a wait', async () => {
    const stalled = await serve(silent)
    const running = startHexline(['probe', stalled.url, '--quiet'])
    await stalled.received(1)
    running.kill('SIGINT')
    expect(await running.ended).toEqual({ code: 130, stdout: '', stderr: 'hexline: ended by Ctrl-C\n' })
  })
})
