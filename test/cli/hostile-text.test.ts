import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { messagesFor } from '../../src/cli/output/messages.ts'
import { forPerson } from '../../src/cli/output/show.ts'
import { table } from '../../src/cli/output/table.ts'
import { HexlineError, OptionError } from '../../src/errors.ts'
import { excerpt, show } from '../../src/text.ts'
import { startChain } from '../support/chain-server.ts'
import { type Ended, hexline, hexlineOnTerminal, spawnOnTerminal } from '../support/command.ts'
import { runs } from '../support/runs.ts'

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => String.fromCharCode(first + i))
/** Every character that controls a terminal, changes the text direction, or ends a line. */
const OBEYED = [
  ...range(0x00, 0x1f),
  ...range(0x7f, 0x9f),
  '\u061c',
  '\u200e',
  '\u200f',
  ...range(0x2028, 0x2029),
  ...range(0x202a, 0x202e),
  ...range(0x2066, 0x2069),
]
const obeyed = new RegExp(
  `[${OBEYED.filter((character) => character !== '\n')
    .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')}]`,
)
/** A title, a cleared screen, the clipboard, and all of them together. */
const HOSTILE = `a${OBEYED.toReversed().join('')}b\u001b]0;t\u0007c\u001b[2Jd\u001b]52;c;aGV4\u0007e\r\nhexline: done\n`

/** Asserts that no control character is left, and no line is faked. */
function expectHarmless({ stdout, stderr }: Pick<Ended, 'stdout' | 'stderr'>): void {
  expect(stdout).not.toMatch(obeyed)
  expect(stderr).not.toMatch(obeyed)
  expect(stdout + stderr).not.toMatch(/^hexline: done/m)
}

/** A server that answers every request the same way, as a node or as the service. */
async function serverOf(respond: (response: ServerResponse, body: string) => void): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    respond(response, body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const nodeSaying = (reply: object, status = 200) =>
  serverOf((response, body) => {
    const calls = [JSON.parse(body)].flat() as { id: number }[]
    const replies = calls.map(({ id }) => ({ jsonrpc: '2.0', id, ...reply }))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body.startsWith('[') ? replies : replies[0]))
  })

describe('the output of server text has no control characters', () => {
  it.each<[string, string[], object]>([
    ['a result', ['web3_clientVersion'], { result: HOSTILE }],
    ['a field, its name, and items of lists', ['x_y'], { result: { [HOSTILE]: HOSTILE, list: [HOSTILE, { [HOSTILE]: [HOSTILE] }] } }],
    ['an unknown field of a block', ['eth_getBlockByNumber', '1', 'false'], { result: { number: '0x1', [HOSTILE]: HOSTILE, transactions: [HOSTILE] } }],
    ['an error', ['eth_blockNumber'], { error: { code: -32000, message: HOSTILE, data: HOSTILE } }],
    ['a value that cannot be decoded', ['eth_blockNumber'], { result: HOSTILE }],
  ])('%s', async (_, args, reply) => {
    const rpc = await nodeSaying(reply)
    for (const how of [[], ['--json']]) expectHarmless(await hexline(['call', ...args, ...how, '--rpc', rpc, '--deadline', '2']))
    for (const how of [[], ['--json'], ['--raw']]) expectHarmless(await hexlineOnTerminal(['call', ...args, ...how, '--rpc', rpc, '--deadline', '2']))
  })

  it.each([200, 401, 404])('a page with status %i', async (status) => {
    const rpc = await serverOf((response) => response.writeHead(status).end(`<html>${HOSTILE}`))
    const service = { HEXLINE_STREAMS_URL: rpc, HEXLINE_API_KEY: 'k' }
    expectHarmless(await hexline(['call', 'eth_blockNumber', '--rpc', rpc]))
    expectHarmless(await hexline(['probe', '--rpc', rpc]))
    expectHarmless(await hexline(['streams'], { env: service }))
  })

  it.each(['tokens', 'streams', 'tx'])('records of %s, as a table and as JSON', async (command) => {
    const record = { token_address: HOSTILE, balance: '1', symbol: HOSTILE, id: HOSTILE, tag: HOSTILE, [HOSTILE]: HOSTILE }
    const hash = `0x${'0'.repeat(64)}`
    const url = await serverOf((response) => response.end(JSON.stringify({ hash, ...record, logs: [record], result: [record], cursor: HOSTILE })))
    const env = { HEXLINE_DATA_URL: url, HEXLINE_STREAMS_URL: url, HEXLINE_API_KEY: 'k' }
    const args = { tokens: ['tokens', `0x${'0'.repeat(40)}`], streams: ['streams'], tx: ['tx', hash] }[command] as string[]
    for (const how of [[], ['--json']]) {
      const ended = await hexline([...args, '--lenient', ...how], { env })
      expect(ended.code).toBe(0)
      expectHarmless(ended)
    }
  })

  it('a refusal of a service', async () => {
    const url = await serverOf((response) => response.writeHead(400).end(JSON.stringify({ message: HOSTILE })))
    for (const how of [[], ['--json']]) expectHarmless(await hexline(['streams', ...how], { env: { HEXLINE_STREAMS_URL: url, HEXLINE_API_KEY: 'k' } }))
  })

  it('version and refusals of a node that is probed', async () => {
    const rpc = await serverOf((response, body) => {
      const answers = ([JSON.parse(body)].flat() as { id: number; method: string }[]).map(({ id, method }) => {
        const refused = { error: { code: -32000, message: `limit: ${HOSTILE}` } }
        const right = { eth_chainId: '0x1', eth_blockNumber: '0x10', web3_clientVersion: HOSTILE }[method]
        return { jsonrpc: '2.0', id, ...(right === undefined ? refused : { result: right }) }
      })
      response.end(JSON.stringify(body.startsWith('[') ? answers : answers[0]))
    })
    for (const how of [[], ['--json']]) {
      const ended = await hexline(['probe', '--rpc', rpc, '--no-rate', ...how])
      expect(ended.stdout).toContain('hexline: done')
      expectHarmless(ended)
    }
  })

  it('a block that does not link, and blocks on a terminal; a file has the node’s bytes', async () => {
    const extra = `\u009b31m\u202e`
    const chain = await startChain({ head: 2, answer: (_, right) => (right instanceof Object ? { result: { ...right, extra } } : undefined) })
    onTestFinished(() => chain.close())
    const args = ['blocks', '--rpc', chain.url, '--from', '0', '--to', '2', '--quiet']
    expect((await hexline(args)).stdout).toContain(`"extra":"${extra}"`)
    const shown = await hexlineOnTerminal(args)
    expect(shown.stdout).toContain('"extra":"\\u009b31m\\u202e"')
    expectHarmless(shown)

    const forked = await startChain({ head: 2, answer: (_, right) => (right instanceof Object ? { result: { ...right, parentHash: HOSTILE } } : undefined) })
    onTestFinished(() => forked.close())
    for (const how of [[], ['--json']])
      expectHarmless({ stdout: '', stderr: (await hexline(['blocks', '--rpc', forked.url, '--from', '0', '--to', '2', ...how])).stderr })
  })

  it('--raw keeps the value on a terminal, and the node’s bytes elsewhere', async () => {
    const rpc = await serverOf((response, body) =>
      response.end(`{"jsonrpc":"2.0","id":${JSON.parse(body).id},"result":{\r\n\t"a" :"\u009b\u202e\u007f","b":1.0}}`),
    )
    const args = ['call', 'x_y', '--raw', '--rpc', rpc]
    expect((await hexline(args)).stdout).toBe('{\r\n\t"a" :"\u009b\u202e\u007f","b":1.0}\n')
    expect((await spawnOnTerminal(args)).stdout).toBe('{   "a" :"\\u009b\\u202e\\u007f","b":1.0}\n')
  })
})

describe('random text of control characters', () => {
  const hostile = fc.array(fc.oneof(fc.constantFrom(...OBEYED), fc.string({ unit: 'grapheme' })), { maxLength: 30 }).map((parts) => parts.join(''))
  const value = fc.oneof(hostile, fc.dictionary(hostile, fc.oneof(hostile, fc.array(hostile))), fc.array(fc.array(hostile)))

  it('is harmless in the output of every printer', () => {
    fc.assert(
      fc.property(value, hostile, fc.boolean(), (result, text, isTerminal) => {
        let said = ''
        const stderr = new Writable({
          decodeStrings: false,
          write(more, _, done) {
            said += more
            done()
          },
        })
        for (const json of [false, true]) {
          const messages = messagesFor({ json }, { stderr, args: [] })
          messages.tell(text, { text, [text]: result })
          messages.warn(text)
          messages.fail(new HexlineError(text, 'server', { method: text, endpoint: text }))
          messages.fail(new OptionError(text, text, show(text)))
          messages.fail(text)
        }
        expect(said).not.toMatch(obeyed)
        expect(said.trimEnd().split('\n')).toHaveLength(10)
        expect(forPerson(result, 'x_y', isTerminal)).not.toMatch(obeyed)
        expect(table([{ title: 'A', of: (record) => record }], [result, text]).split('\n')).toHaveLength(3)
        expect(table([{ title: 'A', of: (record) => record }], [result, text], isTerminal ? 20 : undefined)).not.toMatch(obeyed)
        expect(excerpt(text) + show(text)).not.toMatch(obeyed)
      }),
      runs(300, 7),
    )
  })
})
