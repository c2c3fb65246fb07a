import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startChain } from '../../support/chain-server.ts'
import { hexline } from '../../support/command.ts'
import { nightly } from '../../support/runs.ts'

const KEY = 'Zk3yQ0123456789abcdefXYZ'
/**
 * Ways in which a key ends up in the wrong place. `host` answers every request with an error that
 * echoes it.
 */
const SECRETS: Record<string, (host: string) => string> = {
  'a URL with the key in its path': (host) => `http://${host}/v2/${KEY}`,
  'a URL with the key in its query': (host) => `http://${host}/?apikey=${KEY}`,
  'a URL with the key as its password': (host) => `http://user:${KEY}@${host}`,
  'a long URL, which messages cut': (host) => `http://${host}/${'a-long-path/'.repeat(4)}${KEY}`,
  'a misspelt URL': (host) => `htp:/${host}/${KEY}`,
  'a URL without its scheme': (host) => `${host}/v2/${KEY}`,
  'invalid JSON with a URL': (host) => `{"url":"http://${host}/${KEY}"`,
  'the key': () => KEY,
}
const ADDRESS = `0x${'a1'.repeat(20)}`
const HASH = `0x${'b2'.repeat(32)}`
const NODE = ['--rpc', '--chain', '--base-url', '--api-key', '--deadline', '--timeout']
const LIST = ['--api-key', '--limit', '--cursor', '--chain', '--offset']

/** Every command with its required arguments, and its flags. */
const commands: readonly [words: readonly string[], flags: readonly string[]][] = [
  [['call', 'eth_getBalance', ADDRESS], NODE],
  [['call', 'eth_getLogs', '{"fromBlock":1}'], []],
  [['call', 'x_y', '1'], []],
  [
    ['blocks', '--from', '0', '--to', '1'],
    [...NODE, '--from', '--to', '--transactions', '--out', '--rate', '--concurrency', '--batch'],
  ],
  [['probe'], [...NODE, '--max-calls', '--max-batch', '--max-range', '--rate']],
  [
    ['tokens', ADDRESS],
    [...LIST, '--data-url', '--to-block', '--token'],
  ],
  [
    ['tx', HASH],
    ['--api-key', '--chain', '--data-url'],
  ],
  [
    ['nft', 'transfers', '--collection', '0x1'],
    [...LIST, '--nft-url', '--wallet', '--only', '--without'],
  ],
  [
    ['nft', 'tokens', '0x1'],
    [...LIST, '--nft-url'],
  ],
  [
    ['nft', 'collections', '0x1'],
    [...LIST, '--nft-url'],
  ],
  [['streams'], [...LIST, '--streams-url']],
  [['sandbox'], ['--port', '--chain', '--upstream', '--latency', '--rate', '--faults', '--seed']],
  [['help'], []],
  [[], ['--version', '--help']],
]

/**
 * A secret in every place: as each word, behind the last one, as a flag, as the value of each flag,
 * and of each misspelt one.
 */
function usagesWith(secret: string): string[][] {
  return commands.flatMap(([words, flags]) => [
    ...words.map((_, i) => words.with(i, secret)),
    [...words, secret],
    [...words, `--${secret}`],
    [...words, `-${secret}`],
    ...flags.flatMap((flag) => [
      [...words, flag, secret],
      [...words, `${flag}=${secret}`],
      [...words, `${flag}x=${secret}`],
    ]),
  ])
}

/**
 * The output and the exit code of each usage. They run in a separate folder, where a file may be
 * named by a secret.
 */
async function run(usages: readonly string[][], env: Record<string, string>): Promise<{ args: readonly string[]; said: string; code: number }[]> {
  const [folder, before] = [await mkdtemp(join(tmpdir(), 'hexline-secrets-')), process.cwd()]
  process.chdir(folder)
  try {
    const ran = []
    for (const args of usages) {
      const { code, stdout, stderr } = await hexline(args, { env })
      ran.push({ args, said: `${stdout}${stderr}`, code: code as number })
    }
    return ran
  } finally {
    process.chdir(before)
    await rm(folder, { recursive: true })
  }
}

describe('no wrong usage echoes a key', () => {
  const [first, ...others] = Object.keys(SECRETS) as [string, ...string[]]
  it.each([first, ...nightly(...others)])('%s, in every place of every command', async (what) => {
    const node = await startChain({ head: 3, answer: ({ method, params }) => ({ error: { code: -32602, message: `bad ${method}: ${params.join()}` } }) })
    const server = createServer((request, response) => response.writeHead(400, { connection: 'close' }).end(JSON.stringify({ message: `bad ${request.url}` })))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const service = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    onTestFinished(() => node.close())
    const env = {
      HEXLINE_RPC_URL: node.url,
      ...{ HEXLINE_DATA_URL: service.url, HEXLINE_NFT_URL: service.url, HEXLINE_STREAMS_URL: service.url, HEXLINE_API_KEY: 'k' },
      HEXLINE_UPSTREAM_URL: service.url,
    }
    const secret = (SECRETS[what] as (host: string) => string)(new URL(service.url).host)
    const usages = usagesWith(secret).map((args, i) => (i % 2 === 0 ? args : [...args, '--json']))
    const ran = await run(usages, env)
    for (const { args, said } of ran) expect(said, args.join(' ')).not.toContain(KEY)
    // Most were wrong usage, and reported as such.
    expect(ran.filter(({ code, said }) => code === 2 && /expected|unknown|invalid|too many/.test(said)).length).toBeGreaterThan(usages.length / 2)
  })

  it.each<[string[], string]>([
    [[`https://rpc.example.com/${KEY}`], "unknown command: a URL; 'hexline --help' lists the commands"],
    [['call', `https://rpc.example.com/${KEY}`], 'method: expected the name of a method, such as eth_getBalance, received a URL'],
    [['blocks', '--from', '0', '--to', '1', '--rpc', 'http://127.0.0.1:1', '--rate', '10/s'], '--rate: expected a number, received "10/s"'],
    [['call', KEY], 'method: expected the name of a method, such as eth_getBalance, received a string of 24 characters'],
    [['call', 'eth_getBalance', `https://rpc.example.com/${KEY}`], 'params[0]: expected an address (20 bytes in hex), received a URL'],
    [['call', 'eth_getBalance', `0x${'f'.repeat(64)}`], 'params[0]: expected an address (20 bytes in hex), received a string of 66 characters'],
    [
      ['call', 'x_y', `["https://rpc.example.com/${KEY}`],
      'params[0]: expected JSON, received a string of 50 characters (Unterminated string in JSON at position 50)',
    ],
    [['call', 'eth_chainId', '--deadline', `https://rpc.example.com/${KEY}`], '--deadline: expected a number of seconds above 0, such as 30, received a URL'],
    [['call', 'eth_chainId', '--timeout', 'soon'], '--timeout: expected a number of seconds above 0, such as 30, at most 2147483, received "soon"'],
    [['call', 'eth_chainId', '--timeout', '0'], '--timeout: expected a number of seconds above 0, such as 30, at most 2147483, received "0"'],
    [
      ['tokens', ADDRESS, '--limit', KEY],
      "option '--limit <n>' argument that is a string of 24 characters is invalid. It must be a whole number from 0 to 2^53 - 1.",
    ],
    [
      ['logs', '--from', '0', '--to', '9', '--event', 'Transfer(address,address,uint256'],
      `--event: expected an event such as 'Transfer(address,address,uint256)', received "Transfer(address,address,uint256"`,
    ],
    [['bloks'], "unknown command 'bloks' (Did you mean blocks?)"],
  ])('%j is reported with its reason', async (args, message) => {
    const { code, stdout, stderr } = await hexline(args, { env: { HEXLINE_RPC_URL: 'http://127.0.0.1:1' } })
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `hexline: ${message}\n` })
  })
})

describe('a URL that may hold a key, given as an argument', () => {
  it.each<[string[], string, boolean]>([
    [['call', 'eth_chainId', '--rpc', `http://127.0.0.1:1/v2/${KEY}`], 'HEXLINE_RPC_URL', true],
    [['call', 'eth_chainId', '--rpc', 'http://127.0.0.1:1/?k=1'], 'HEXLINE_RPC_URL', true],
    [['call', 'eth_chainId', '--rpc', 'http://u:p@127.0.0.1:1'], 'HEXLINE_RPC_URL', true],
    [['blocks', '--from', '0', '--to', '1', '--rpc', `http://127.0.0.1:1/${KEY}`], 'HEXLINE_RPC_URL', true],
    [['probe', `http://127.0.0.1:1/${KEY}`], 'HEXLINE_RPC_URL', true],
    [['call', 'eth_chainId', '--chain', 'eth', '--base-url', `http://127.0.0.1:1/${KEY}`], 'HEXLINE_RPC_BASE_URL', true],
    [['streams', '--streams-url', `http://127.0.0.1:1/${KEY}`], 'HEXLINE_STREAMS_URL', true],
    [['sandbox', '--upstream', `http://127.0.0.1:1/${KEY}`], 'HEXLINE_UPSTREAM_URL', true],
    [['call', 'eth_chainId', '--rpc', 'http://127.0.0.1:1'], 'HEXLINE_RPC_URL', false],
    [['call', 'eth_chainId', '--rpc', 'http://127.0.0.1:1/eth/v1/rpc/'], 'HEXLINE_RPC_URL', false],
  ])('%j', async (args, variable, isWarned) => {
    const { stderr } = await hexline(args, { env: { HEXLINE_API_KEY: 'k' } })
    const warning = `hexline: warning: other users of this machine can see a URL given as an argument, and it may hold a key; use ${variable} instead\n`
    expect(stderr.includes(warning)).toBe(isWarned)
    expect(stderr).not.toContain(KEY)
  })
})
