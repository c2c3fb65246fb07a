import { describe, expect, it } from 'vitest'
import { endpointFrom, LONGEST_SECONDS, millisecondsFrom, type NodeFlags, numberFrom, timesFrom } from '../../src/cli/node.ts'
import { OptionError } from '../../src/errors.ts'

const KEY = 'Zk3yQ0123456789abcdefXYZ'

/** The endpoint, or the message of the refusal, and the warnings. */
function from(flags: NodeFlags, env: Record<string, string> = {}) {
  const warnings: string[] = []
  const messages = { tell() {}, fail() {}, explain: String, warn: (sentence: string) => void warnings.push(sentence) }
  try {
    return { endpoint: endpointFrom(flags, env, messages), warnings }
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError)
    return { refused: (error as Error).message, warnings }
  }
}

describe('the node', () => {
  const address = { baseUrl: 'http://a.example', chain: 'base', apiKey: KEY }
  it.each<[NodeFlags, Record<string, string>, object]>([
    [{ rpc: ['http://a.example'] }, { HEXLINE_RPC_URL: 'http://b.example' }, { endpoint: 'http://a.example' }],
    [{}, { HEXLINE_RPC_URL: `http://b.example/${KEY}` }, { endpoint: `http://b.example/${KEY}` }],
    [{ rpc: ['http://a.example', 'ws://b.example'] }, {}, { endpoint: ['http://a.example', 'ws://b.example'] }],
    [{}, { HEXLINE_RPC_URL: `  http://a.example/${KEY}\n http://b.example ` }, { endpoint: [`http://a.example/${KEY}`, 'http://b.example'] }],
    [
      {},
      { HEXLINE_RPC_URL: `http://a.example/${KEY} b.example/${KEY}` },
      { refused: expect.stringMatching(/^HEXLINE_RPC_URL, URL 2 of 2: expected an http, .*, received an invalid URL$/) },
    ],
    [{ rpc: ['http://a.example', ''] }, {}, { refused: expect.stringMatching(/^--rpc, URL 2 of 2: expected .*, received an empty string$/) }],
    [{}, { HEXLINE_RPC_URL: 'RPC' }, { refused: expect.stringMatching(/^HEXLINE_RPC_URL: expected an http, .*, received an invalid URL$/) }],
    [
      {},
      { HEXLINE_RPC_URL: `http://a.example/${KEY},http://b.example` },
      { refused: 'HEXLINE_RPC_URL: expected URLs with spaces between them, received URLs with a comma between them' },
    ],
    [{}, { HEXLINE_RPC_URL: ' ' }, { refused: "--rpc: expected the node's URL, here or in HEXLINE_RPC_URL, or --chain, received nothing" }],
    [{ chain: 'base' }, { HEXLINE_RPC_BASE_URL: 'http://a.example', HEXLINE_API_KEY: KEY, HEXLINE_RPC_URL: 'http://b.example' }, { endpoint: address }],
    [{ chain: 'base', baseUrl: 'http://a.example' }, { HEXLINE_RPC_BASE_URL: 'http://b.example', HEXLINE_API_KEY: KEY }, { endpoint: address }],
    [{}, {}, { refused: "--rpc: expected the node's URL, here or in HEXLINE_RPC_URL, or --chain, received nothing" }],
    [{ rpc: ['http://a.example'], chain: 'base' }, {}, { refused: '--chain: expected either --chain or --rpc, received both' }],
    [{ apiKey: KEY }, { HEXLINE_RPC_URL: 'http://b.example' }, { refused: '--api-key: expected --chain as well, received no --chain' }],
    [{ chain: 'base' }, {}, { refused: "--base-url: expected the service's address, here or in HEXLINE_RPC_BASE_URL, received nothing" }],
    [{ chain: 'base', baseUrl: 'http://a.example' }, {}, { refused: '--api-key: expected the key, here or in HEXLINE_API_KEY, received nothing' }],
    [{ chain: 'bass' }, {}, { refused: expect.stringMatching(/^chain: /) }],
  ])('of %o, with %o', (flags, env, expected) => {
    expect(from(flags, env)).toEqual({ ...expected, warnings: [] })
  })
})

describe('a warning', () => {
  it.each<[string, boolean]>([
    [`http://a.example/v2/${KEY}`, true],
    ['http://a.example/?k=1', true],
    ['http://u:p@a.example', true],
    ['http://a.example/eth/v1/rpc/', false],
    ['http://a.example:8545', false],
    ['ws://a.example/KEY', true],
    ['nonsense', false],
  ])('about the URL %s: %s', (rpc, isWarned) => {
    const { warnings } = from({ rpc: ['http://b.example', rpc] })
    expect(warnings).toEqual(isWarned ? [expect.stringMatching(/^other users of this machine can see a URL .*; use HEXLINE_RPC_URL instead$/)] : [])
    expect(warnings.join()).not.toContain(rpc)
  })

  it('is given about a key', () => {
    expect(from({ chain: 'base', apiKey: KEY }, { HEXLINE_RPC_BASE_URL: 'http://a.example' }).warnings).toEqual([
      expect.stringMatching(/use HEXLINE_API_KEY instead$/),
    ])
  })
})

describe('times', () => {
  it('are given in seconds', () => {
    expect(timesFrom({})).toEqual({})
    expect(timesFrom({ deadline: '1.5', timeout: '10' })).toEqual({ deadlineMs: 1500, timeoutMs: 10_000 })
    expect(millisecondsFrom('--timeout', String(LONGEST_SECONDS), LONGEST_SECONDS)).toBeLessThanOrEqual(2 ** 31 - 1)
  })

  it.each<[() => unknown, string]>([
    [() => timesFrom({ deadline: '0' }), '--deadline: expected a number of seconds above 0, such as 30, received "0"'],
    [() => timesFrom({ timeout: '2147484' }), '--timeout: expected a number of seconds above 0, such as 30, at most 2147483, received "2147484"'],
    [() => timesFrom({ deadline: KEY }), '--deadline: expected a number of seconds above 0, such as 30, received a string of 24 characters'],
    [() => numberFrom('--rate', ' '), '--rate: expected a number, received " "'],
    [() => numberFrom('--rate', 'Infinity'), '--rate: expected a number, received "Infinity"'],
  ])('are refused: %s', (read, message) => {
    expect(read).toThrow(message)
  })
})
