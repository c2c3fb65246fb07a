import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type ExampleChain, PRIVATE_KEY, startExampleChain } from '../support/example-chain.ts'
import { type InstalledPackage, installPackage, root } from '../support/installed-package.ts'
import { textOf } from '../support/pages.ts'
import { hasRedis, type RedisServer, startRedis } from '../support/redis.ts'
import { installRuntimes, runtimes } from '../support/runtimes.ts'
import { each, type Received, send, serve, silent } from '../support/server.ts'
import { cert, key } from '../support/tls.ts'

/*
 * The packed package on each runtime, against real servers. docs/install.md has a table of it,
 * which says what does not work: the last test compares it with what was found.
 */

type Runtime = keyof typeof runtimes
const names = Object.keys(runtimes) as Runtime[]

let chain: ExampleChain
let installed: InstalledPackage
let redis: RedisServer | undefined
beforeAll(async () => {
  installRuntimes()
  chain = await startExampleChain([2, 0, 3])
  if (hasRedis) redis = await startRedis()
  installed = await installPackage()
  for (const name of ['viem', 'ethers', '@duckdb', '@opentelemetry', 'bullmq', 'ioredis']) await installed.lay(name)
  const { code } = await transform(await readFile(join(root, 'test/support/runtime-process.ts'), 'utf8'), { loader: 'ts' })
  await writeFile(join(installed.folder, 'program.mjs'), code)
  // Whole, as a user writes it: with types, and as CommonJS.
  await copyFile(join(root, 'examples/top-gas-users.ts'), join(installed.folder, 'top-gas-users.ts'))
  await writeFile(
    join(installed.folder, 'program.cjs'),
    `const { createClient } = require('hexline')
const { getBlocks } = require('hexline/bulk')
const { HexlineProvider } = require('hexline/ethers')
const { JsonRpcProvider } = require('ethers')
async function main(url) {
  const client = createClient(url)
  let blocks = 0
  for await (const block of getBlocks(client, { from: 0, to: 3 })) blocks++
  await client.close()
  const provider = new HexlineProvider(url)
  console.log(blocks, provider instanceof JsonRpcProvider, await provider.getBlockNumber() >= 3)
  provider.destroy()
}
main(process.argv[2])
`,
  )
})
afterAll(async () => {
  await installed?.remove()
  await chain?.stop()
  await redis?.stop()
})

interface Ended {
  readonly code: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a file of the folder to its end. */
function run(runtime: Runtime, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const [file, ...before] = runtimes[runtime]
  const { FORCE_COLOR: _, ...own } = process.env
  return new Promise((resolve) => {
    const options = { cwd: installed.folder, env: { ...own, NO_COLOR: '1', PRIVATE_KEY, CERTIFICATE: cert, REDIS_URL: redis?.url, ...env }, timeout: 120_000 }
    execFile(file, [...before, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal ?? null), stdout, stderr }),
    )
  })
}

/** What a feature of the program prints. Throws, with all of its output, if it fails. */
async function feature(runtime: Runtime, name: string, url: string): Promise<unknown> {
  const { code, stdout, stderr } = await run(runtime, ['program.mjs', name, url])
  if (code !== 0) throw new Error(`${code} ${stdout} ${stderr}`)
  return JSON.parse(stdout)
}

const balance = '0x1234'
const honest = each(({ id }) => ({ jsonrpc: '2.0', id, result: balance }))
const gzipped = ({ entries: [entry] }: Received) => gzipSync(JSON.stringify({ jsonrpc: '2.0', id: entry?.id, result: balance }))

/** Each feature of the table, and what shows that it works. */
const features: Readonly<Record<string, (runtime: Runtime) => Promise<void>>> = {
  async 'HTTP, batches'(runtime) {
    const server = await serve(honest)
    expect(await feature(runtime, 'HTTP, batches', server.url)).toEqual(['4660n', '4660n', '4660n'])
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([3])
  },

  async HTTPS(runtime) {
    const server = createServer({ cert, key }, (request, response) => {
      request.resume().on('end', () => response.end(`{"jsonrpc":"2.0","id":1,"result":"${balance}"}`))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    await new Promise((resolve) => server.once('listening', resolve))
    expect(await feature(runtime, 'HTTPS', `https://localhost:${(server.address() as AddressInfo).port}`)).toBe('4660n')
  },

  async compression(runtime) {
    const server = await serve((received, response) => send(response, gzipped(received), { headers: { 'content-encoding': 'gzip' } }))
    expect(await feature(runtime, 'compression', server.url)).toBe('4660n')
    expect(server.requests[0]?.headers['accept-encoding']).toContain('gzip')
  },

  async 'retries after 429'(runtime) {
    const server = await serve((_, response) => send(response, '', { status: 429, headers: { 'retry-after': '0' } }), honest)
    expect(await feature(runtime, 'retries after 429', server.url)).toBe('4660n')
    expect(server.requests).toHaveLength(2)
  },

  async timeouts(runtime) {
    const server = await serve(silent)
    expect(await feature(runtime, 'timeouts', server.url)).toBe('TimeoutError')
  },

  async 'aborted calls'(runtime) {
    const server = await serve(silent)
    expect(await feature(runtime, 'aborted calls', server.url)).toBe('enough')
    // The socket is cut, since nobody waits for the reply.
    await server.requests[0]?.hungUp
  },

  async 'a process that ends without `close`'(runtime) {
    expect(await feature(runtime, 'a process that ends without `close`', chain.url)).toBe(31337)
  },

  async 'WebSocket, `subscribe`'(runtime) {
    expect(await feature(runtime, 'WebSocket, `subscribe`', chain.anvil.url)).toBe('bigint')
  },

  async getBlocks(runtime) {
    expect(await feature(runtime, 'getBlocks', chain.url)).toEqual([4, 5])
  },

  async 'getLogs, follow'(runtime) {
    expect(await feature(runtime, 'getLogs, follow', chain.url)).toEqual([5, 5])
  },

  async 'hexline/viem'(runtime) {
    expect(await feature(runtime, 'viem', chain.url)).toEqual([true, ['1n', '2n', '3n']])
  },

  async 'hexline/ethers'(runtime) {
    expect(await feature(runtime, 'ethers', chain.url)).toBe(1)
  },

  async 'hexline/otel'(runtime) {
    const { spans, children, metrics } = (await feature(runtime, 'otel', chain.url)) as Record<string, string[]>
    expect(spans).toEqual(['eth_chainId', 'hexline POST', 'mine'])
    expect(children).toEqual(['eth_chainId'])
    expect(metrics).toContain('hexline.post.duration')
  },

  async 'hexline/bullmq'(runtime) {
    expect(await feature(runtime, 'bullmq', chain.url)).toEqual([2, '0n', '3n'])
  },

  async 'exportDataset, verifyDataset'(runtime) {
    expect(await feature(runtime, 'exportDataset, verifyDataset', chain.url)).toEqual([4, 4])
  },

  async 'hexline/sandbox, hexline/rest'(runtime) {
    expect(await feature(runtime, 'hexline/sandbox', chain.anvil.url)).toEqual([31337, ['ETH']])
  },

  async 'diagnostics channels'(runtime) {
    expect(await feature(runtime, 'diagnostics channels', chain.url)).toEqual(['eth_chainId'])
  },

  async 'inside an HTTP server'(runtime) {
    expect(await feature(runtime, 'inside an HTTP server', chain.url)).toEqual(['31337'])
  },

  async 'the command'(runtime) {
    const command = 'node_modules/hexline/dist/src/cli/bin.js'
    expect(await run(runtime, [command, 'call', 'eth_chainId', '--rpc', chain.url])).toMatchObject({ code: 0, stdout: '31337\n' })
    const args = ['blocks', '--from', '0', '--to', '3', '--rpc', chain.url, '--out', `${runtime}.ndjson`]
    expect(await run(runtime, [command, ...args])).toMatchObject({ code: 0 })
    expect((await readFile(join(installed.folder, `${runtime}.ndjson`), 'utf8')).trimEnd().split('\n')).toHaveLength(4)
  },

  async '`hexline sql`'(runtime) {
    const command = 'node_modules/hexline/dist/src/cli/bin.js'
    const dir = `sql-${runtime.replaceAll(' ', '-')}`
    expect(await run(runtime, [command, 'export', '--from', '0', '--to', '3', '--rpc', chain.url, '--out', dir])).toMatchObject({ code: 0 })
    expect(await run(runtime, [command, 'sql', dir, 'SELECT count(*) AS n FROM blocks', '--json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('4'),
    })
  },

  async require(runtime) {
    expect(await run(runtime, ['program.cjs', chain.url])).toMatchObject({ code: 0, stdout: '4 true true\n' })
  },

  async 'a program in TypeScript'(runtime) {
    expect(await run(runtime, ['top-gas-users.ts'], { HEXLINE_RPC_URL: chain.url })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(' gas in blocks 0 to '),
    })
  },
}

/** The table of docs/install.md: what works, by feature and runtime. */
function table(): Map<string, boolean> {
  const rows = (textOf('docs/install.md').split('<!-- runtimes -->')[1] ?? '')
    .trim()
    .split('\n')
    .map((line) => line.split('|').slice(1, -1))
  const [head = [], , ...rest] = rows
  return new Map(
    rest.flatMap(([feature, ...cells]) => cells.map((cell, i) => [`${feature?.trim()} on ${head[i + 1]?.trim()}`, cell.trim().startsWith('yes')] as const)),
  )
}

it('the table of docs/install.md has each feature and runtime', () => {
  expect([...table().keys()]).toEqual(Object.keys(features).flatMap((feature) => names.map((runtime) => `${feature} on ${runtime}`)))
})

describe.each(names)('%s', (runtime) => {
  for (const [name, check] of Object.entries(features))
    it.skipIf(name === 'hexline/bullmq' && !hasRedis)(`${name}: as the table says`, async () => {
      const failure = await check(runtime).then(
        () => undefined,
        (error) => error as Error,
      )
      if (table().get(`${name} on ${runtime}`) === true) expect(failure?.message).toBeUndefined()
      else expect(failure).toBeInstanceOf(Error)
    })
})

it('on Deno, --allow-net and --allow-env are all that calls need', async () => {
  const server = await serve(honest)
  const [deno] = runtimes.Deno
  const { stdout } = await promisify(execFile)(deno, ['run', '--no-prompt', '--allow-net', '--allow-env', 'program.mjs', 'HTTP, batches', server.url], {
    cwd: installed.folder,
  })
  expect(JSON.parse(stdout)).toEqual(['4660n', '4660n', '4660n'])
})
