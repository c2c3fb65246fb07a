import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ChainOptions, type ChainServer, startChain } from '../support/chain-server.ts'
import { type Ended, hexline } from '../support/command.ts'

let folder: string
let server: ChainServer | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-bad-'))
})
afterEach(async () => {
  await server?.close()
  server = undefined
  await rm(folder, { recursive: true })
})

/** `hexline blocks` of 0 to 900 into a file, from a chain of 1,000. */
async function blocks(chain: Partial<ChainOptions>, ...args: string[]): Promise<Ended> {
  server = await startChain({ head: 1000, ...chain })
  return hexline(['blocks', '--rpc', server.url, '--from', '0', '--to', '900', '--out', join(folder, 'blocks.ndjson'), ...args])
}

/** Asserts that it failed with one line, and left nothing. */
async function expectOneLine({ code, stdout, stderr }: Ended, message: RegExp): Promise<void> {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(await readdir(folder)).toEqual([])
}

describe('a node', () => {
  it('that dies halfway', async () => {
    // From block 300 on, every connection is cut, and then none is accepted.
    const gate: ChainOptions['gate'] = (calls) => (calls.some(({ params }) => Number(params[0]) >= 300) ? void server?.close() : undefined)
    await expectOneLine(
      await blocks({ gate }, '--batch', '50', '--deadline', '2'),
      /^hexline: 127\.0\.0\.1:\d+: (no connection|the connection ended)[^\n]*; is the node running, and is the URL right\?\n$/,
    )
  })

  it('that never answers', async () => {
    const ended = await blocks({ gate: () => new Promise(() => {}) }, '--deadline', '1')
    await expectOneLine(ended, /^hexline: 127\.0\.0\.1:\d+: eth_blockNumber: no answer before its deadline \(--deadline\); is the node down or overloaded\?\n$/)
  })

  it('that stops answering halfway', async () => {
    const gate: ChainOptions['gate'] = (calls) => (calls.some(({ params }) => Number(params[0]) >= 300) ? new Promise(() => {}) : undefined)
    const { stderr, ...ended } = await blocks({ gate }, '--batch', '50', '--deadline', '1')
    // On a slow machine its progress is reported first, and the block may still be waiting in line.
    const last = stderr.replace(/^\d+ % \|.*\n/gm, '')
    await expectOneLine({ ...ended, stderr: last }, /^hexline: (?:127\.0\.0\.1:\d+: )?eth_getBlockByNumber: no answer before its deadline/)
  })

  it('that rejects the key', async () => {
    const guard = createServer((_, response) => response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"Invalid API key"}'))
    await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(guard.address() as AddressInfo).port}`
    const env = { HEXLINE_RPC_BASE_URL: url, HEXLINE_API_KEY: 'no-such-key' }
    const ended = await hexline(['blocks', '--chain', 'eth', '--from', '0', '--to', '9', '--out', join(folder, 'blocks.ndjson')], { env })
    await new Promise((resolve) => guard.close(resolve))
    await expectOneLine(ended, /^hexline: 127\.0\.0\.1:\d+ answered HTTP 401: \{"message":"Invalid API key"\}; check the key\n$/)
  })
})

describe('a file', () => {
  it.skipIf(!existsSync('/dev/full'))('for which the disk has no room', async () => {
    server = await startChain({ head: 1000 })
    const ended = await hexline(['blocks', '--rpc', server.url, '--from', '0', '--to', '900', '--out', '/dev/full'])
    await expectOneLine(ended, /^hexline: \/dev\/full cannot be written: no space left on the disk; nothing was written\n$/)
  })

  it('in a folder that does not exist, that is a folder, or without a name', async () => {
    server = await startChain({ head: 10 })
    const out = (path: string) => hexline(['blocks', '--rpc', (server as ChainServer).url, '--from', '0', '--to', '9', '--out', path])
    const nowhere = join(folder, 'no', 'blocks.ndjson')
    expect(await out(nowhere)).toMatchObject({
      code: 2,
      stderr: `hexline: --out: expected a file that can be written, received "${nowhere}" (no such folder)\n`,
    })
    expect(await out(folder)).toMatchObject({ code: 2, stderr: `hexline: --out: expected a file, received "${folder}", which is a folder\n` })
    expect(await out('')).toMatchObject({ code: 2, stderr: 'hexline: --out: expected the path of a file, received ""\n' })
    expect(server.calls).toEqual([])
  })

  it('that exists is replaced with --force, once the new one is complete', async () => {
    await blocks({})
    const ended = await hexline([
      'blocks',
      '--rpc',
      (server as ChainServer).url,
      '--from',
      '0',
      '--to',
      '3',
      '--out',
      join(folder, 'blocks.ndjson'),
      '--force',
      '--quiet',
    ])
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await readdir(folder)).toEqual(['blocks.ndjson'])
  })
})

it('is reported as JSON, with the block to continue from', async () => {
  server = await startChain({
    head: 1000,
    answer: ({ params }, right) => (params[0] === '0x1f4' ? { result: { ...(right as object), hash: null } } : undefined),
  })
  const { code, stderr, stdout } = await hexline(['blocks', '--rpc', server.url, '--from', '0', '--to', '900', '--json'])
  expect(code).toBe(1)
  expect(stdout.trimEnd().split('\n')).toHaveLength(500)
  expect(JSON.parse(stderr)).toMatchObject({ type: 'error', kind: 'integrity', next: '500', exitCode: 1 })
})
