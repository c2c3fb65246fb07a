import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from 'hexline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { deploy, logsCode, viemOn } from '../sandbox/contracts.ts'
import { startHexline as start, hexline as untilEnd } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { minedReceipt } from '../support/mined.ts'
import { nightly } from '../support/runs.ts'
import { errorOf } from '../support/server.ts'

let node: Sandbox
let folder: string
const running = new Set<ReturnType<typeof start>>()

beforeAll(async () => {
  node = await startSandbox()
  folder = await mkdtemp(join(tmpdir(), 'hexline-sandbox-'))
})
afterEach(() => {
  for (const each of running) each.kill('SIGKILL')
})
afterAll(async () => {
  await node?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Starts `hexline sandbox`, and waits for its first output. */
async function sandbox(...args: string[]): Promise<{ child: ReturnType<typeof start>; said: string }> {
  const child = start(['sandbox', ...args])
  running.add(child)
  void child.ended.then(() => running.delete(child))
  const [said] = await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), child.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])
  return { child, said }
}

const over = (...args: string[]) => sandbox('--upstream', node.upstream, ...args)
const exportsIn = (text: string) => Object.fromEntries([...text.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]))

describe('hexline sandbox', () => {
  it('prints addresses and a key, serves, and ends with everything it started', async () => {
    const { child, said } = await sandbox()
    const env = exportsIn(said) as Record<string, string>
    const { HEXLINE_DATA_URL: url, HEXLINE_API_KEY: key } = env
    expect(Object.keys(env)).toEqual(['HEXLINE_RPC_BASE_URL', 'HEXLINE_DATA_URL', 'HEXLINE_NFT_URL', 'HEXLINE_STREAMS_URL', 'HEXLINE_API_KEY'])
    expect(said).toMatch(
      /^The service runs at http:\/\/127\.0\.0\.1:\d+ for eth, on top of anvil \(http:\/\/127\.0\.0\.1:\d+, chain id 1\)\. Press Ctrl-C to stop\.\n/,
    )
    // The command itself, with the printed values.
    expect(await untilEnd(['call', 'eth_chainId', '--chain', 'eth'], { env })).toMatchObject({ code: 0, stdout: '1\n' })
    const streams = await fetch(`${url}/streams/evm?limit=2`, { headers: { 'x-api-key': key as string } })
    expect(await streams.json()).toMatchObject({ total: 4 })

    const anvil = /on top of anvil \((\S+),/.exec(said)?.[1] as string
    await using client = createClient(anvil, { retry: false })
    expect(await client.call('eth_chainId')).toBe(1)
    child.kill('SIGINT')
    expect(await child.ended).toMatchObject({ code: 130, stderr: 'hexline: ended by Ctrl-C\n' })
    expect(await errorOf(client.call('eth_chainId'))).toMatchObject({ kind: 'network' })
    expect(await errorOf(fetch(`${url}/`))).toBeInstanceOf(TypeError)
  })

  it('ends at once while clients are connected and requests wait, and on SIGTERM with 143', async () => {
    const { child, said } = await over('--latency', '600000')
    const url = new URL(exportsIn(said).HEXLINE_DATA_URL as string)
    const idle = connect(Number(url.port), url.hostname).on('error', () => {})
    await once(idle, 'connect')
    const waiting = errorOf(fetch(`${url.origin}/nothing`))
    child.kill('SIGTERM')
    expect(await child.ended).toMatchObject({ code: 143, stderr: 'hexline: ended by SIGTERM\n' })
    expect(await waiting).toBeInstanceOf(TypeError)
  })

  it('--json prints it as one line', async () => {
    const { said } = await over('--json', '--chain', 'base')
    const facts = JSON.parse(said)
    expect(facts).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      chain: 'base',
      chainId: 1,
      rpcUrl: facts.url,
      dataUrl: facts.url,
      nftUrl: facts.url,
      streamsUrl: facts.url,
      apiKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      quotaKeys: [`${facts.apiKey}-used-up`],
      nodeUrl: `${facts.url}/base/${facts.apiKey}`,
    })
    expect(said.split('\n')).toHaveLength(2)
  })

  it('reports an upstream node of another chain', async () => {
    const { child } = await over('--chain', 'base')
    child.kill('SIGINT')
    expect((await child.ended).stderr).toMatch(/^hexline: warning: the node has chain id 1, but base is 8453/)
  })

  it.each(nightly('--upstream'))('shows only the host of %s', async () => {
    const { said } = await sandbox('--upstream', `${node.nodeUrl()}`)
    expect(said).toContain(`on top of ${new URL(node.url).host}. Press Ctrl-C to stop.`)
    expect(said).not.toContain(node.apiKey)
  })

  it('--seed, --rate and --faults take effect', async () => {
    const file = join(folder, 'seed.json')
    await writeFile(file, JSON.stringify({ streams: [{ id: 'mine' }] }))
    const { said } = await over('--json', '--seed', file, '--rate', '0.01')
    const { url, apiKey } = JSON.parse(said)
    const ask = () => fetch(`${url}/streams/evm?limit=2`, { headers: { 'x-api-key': apiKey } })
    expect(await (await ask()).json()).toEqual({ result: [{ id: 'mine' }], cursor: '', total: 1 })
    expect((await ask()).status).toBe(429)
    const faulty = JSON.parse((await over('--json', '--faults', '1')).said)
    expect(await (await fetch(`${faulty.url}/nothing`)).json()).toEqual({ message: 'internal server error, on purpose' })
  })
})

describe.each(nightly('a node with limits'))('%s', () => {
  /** The results and error messages of calls to the node of a sandbox. */
  async function ask(said: string, ...calls: readonly (readonly [method: string, ...params: unknown[]])[]): Promise<unknown[]> {
    const body = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))
    const reply = await fetch(JSON.parse(said).nodeUrl, { method: 'POST', body: JSON.stringify(body) })
    return ((await reply.json()) as { result?: unknown; error?: { message: string } }[]).map(({ result, error }) => error?.message ?? result)
  }

  it('is what --max-batch, --max-log-range, --max-results, --drop-logs, --lag and --pruned-below make', async () => {
    await using own = await startSandbox()
    const viem = viemOn(own.upstream)
    const address = await deploy(viem, logsCode)
    // Five logs in block 2, and 20 blocks after it.
    await minedReceipt(viem, await viem.sendTransaction({ to: address, data: `0x${'5'.padStart(64, '0')}` }))
    await viem.mine({ blocks: 20 })
    const limited = async (...flags: string[]) => (await sandbox('--json', '--upstream', own.upstream, ...flags)).said
    const logs = ['eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' }] as const

    expect(await ask(await limited('--max-batch', '1'), logs, logs)).toEqual(['batch too large'])
    expect(await ask(await limited('--max-log-range', '10'), logs)).toEqual(['query exceeds max block range 10'])
    expect(await ask(await limited('--max-results', '4'), logs)).toEqual(['query returned more than 4 results'])
    expect(await ask(await limited('--max-results', '4,silent'), logs)).toEqual([expect.objectContaining({ length: 4 })])
    expect(await ask(await limited('--drop-logs', '1'), logs)).toEqual([[]])
    const old = ['eth_getBlockByNumber', '0x1', false] as const
    expect(await ask(await limited('--lag', '3', '--pruned-below', '2'), ['eth_blockNumber'], old)).toEqual(['0x13', 'pruned history unavailable'])
  })
})

describe('the answers', () => {
  it('have the prices of --prices, and the documented types without --like-production', async () => {
    const file = join(folder, 'prices.json')
    await writeFile(file, JSON.stringify({ native: { usd: 2000, usd24hAgo: 1600 } }))
    const ask = async (said: string, path: string) => {
      const { url, apiKey } = JSON.parse(said)
      return (await fetch(`${url}/${path}`, { headers: { 'x-api-key': apiKey } })).json()
    }
    const path = `api/v2.2/wallets/0x${'f3'.repeat(20)}/tokens`
    const priced = await over('--json', '--prices', file)
    expect(await ask(priced.said, path)).toMatchObject({ cursor: '', result: [{ native_token: true, usd_price: 2000, usd_price_24hr_usd_change: 400 }] })
    const real = await over('--json', '--like-production')
    expect(await ask(real.said, path)).toMatchObject({ cursor: null, result: [{ native_token: true, usd_price: null }] })
    expect(await ask(real.said, 'streams/evm?limit=100')).not.toHaveProperty('cursor')
  })

  it('are given to names of this machine, and to those of --allow-host', async () => {
    const { said } = await over('--json', '--allow-host', 'box.test', 'other.test')
    const { url, apiKey } = JSON.parse(said)
    const statusFor = (host: string) =>
      new Promise((resolve, reject) => {
        const headers = { host, 'x-api-key': apiKey }
        request(`${url}/streams/evm?limit=1`, { headers }, ({ statusCode }) => resolve(statusCode))
          .on('error', reject)
          .end()
      })
    expect(await Promise.all(['localhost', 'box.test', 'other.test:80', 'evil.test'].map(statusFor))).toEqual([200, 200, 200, 403])
  })
})

describe('anvil ends', () => {
  /** Runs until it has printed the URL of its anvil. */
  async function withAnvil(args: readonly string[]): Promise<{ child: ChildProcess; anvil: string; exit: Promise<unknown[]>; said: string }> {
    // In its own process group, as on a terminal.
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    const exit = once(child, 'exit')
    const [said] = await once(child.stdout as NodeJS.ReadableStream, 'data')
    return { child, anvil: /http:\/\/127\.0\.0\.1:\d+(?=, chain id|$)/m.exec(String(said))?.[0] as string, exit, said: String(said) }
  }
  const dist = fileURLToPath(new URL('../../dist/src/', import.meta.url))
  const isGone = (url: string) => eventually(() => expect(fetch(url)).rejects.toThrow('fetch failed'))

  it('when Ctrl-C reaches it as well, as on a terminal', async () => {
    const { child, anvil, exit } = await withAnvil([join(dist, 'cli/bin.js'), 'sandbox'])
    expect((await fetch(anvil)).status).toBeGreaterThan(0)
    process.kill(-(child.pid as number), 'SIGINT')
    expect(await exit).toEqual([130, null])
    await isGone(anvil)
  })

  it.each(['SIGTERM', 'SIGKILL', ...nightly('SIGINT', 'SIGHUP')] as ('SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGKILL')[])(
    'with a program that %s ends',
    async (signal) => {
      const program = `import { startSandbox } from '${dist}sandbox/index.js'
      console.log((await startSandbox()).upstream)`
      const { child, anvil, exit } = await withAnvil(['--input-type=module', '-e', program])
      child.kill(signal)
      expect(await exit).toEqual([null, signal])
      await isGone(anvil)
    },
  )

  it.each(nightly('a program’s signals'))('and does not affect %s', async () => {
    const program = `import { startSandbox } from '${dist}sandbox/index.js'
      const { upstream } = await startSandbox()
      console.log(upstream, process.listenerCount('SIGINT'), process.listenerCount('SIGTERM'))
      process.stdout.write('', () => process.exit())`
    const { said } = await withAnvil(['--input-type=module', '-e', program])
    expect(said).toMatch(/ 0 0\n$/)
  })

  it('but not with a signal that the program handles', async () => {
    const program = `import { startSandbox } from '${dist}sandbox/index.js'
      const sandbox = await startSandbox()
      process.once('SIGTERM', async () => {
        const { status } = await fetch(sandbox.upstream)
        await sandbox.stop()
        process.exitCode = status > 0 ? 7 : 1
      })
      console.log(sandbox.upstream)`
    const { child, anvil, exit } = await withAnvil(['--input-type=module', '-e', program])
    child.kill('SIGTERM')
    expect(await exit).toEqual([7, null])
    await isGone(anvil)
  })

  it.each(nightly('stop()'))('with a program that ends without %s', async () => {
    const program = `import { startSandbox } from '${dist}sandbox/index.js'
      console.log((await startSandbox()).upstream)
      process.stdout.write('', () => process.exit(3))`
    const { anvil, exit } = await withAnvil(['--input-type=module', '-e', program])
    expect(await exit).toEqual([3, null])
    await isGone(anvil)
  })
})

describe('invalid input is reported in one line, with exit code 2', () => {
  it.each([
    [['--port', 'http'], 'hexline: --port: expected a number, received "http"\n'],
    [['--port', '70000'], 'hexline: --port: expected a port from 0 (any free one) to 65535, received 70000\n'],
    [['--upstream', 'localhost'], 'hexline: --upstream: expected an http or https URL, received an invalid URL\n'],
    [['--latency', '-1'], 'hexline: --latency: expected a number of ms from 0 to 2147483647, received -1\n'],
    [['--rate', '0'], 'hexline: --rate: expected a number above 0, received 0\n'],
    [['--notification-faults', '2'], 'hexline: --notification-faults: expected a share from 0 to 1, received 2\n'],
    [['--faults', '2'], 'hexline: --faults: expected a share from 0 to 1, received 2\n'],
    [['--faults', 'error 500=2'], 'hexline: --faults error 500: expected a share from 0 to 1, received 2\n'],
    [['--notification-faults', 'cut=0.1,late=-1'], 'hexline: --notification-faults late: expected a share from 0 to 1, received -1\n'],
    [['--notification-faults', 'stalled=0.1'], 'hexline: --notification-faults: expected only cut, late, double, received "stalled"\n'],
    [['--max-batch', '0'], 'hexline: --max-batch: expected a whole number of at least 1, received 0\n'],
    [['--max-log-range', '-5'], 'hexline: --max-log-range: expected a whole number of at least 1, received -5\n'],
    [['--max-results', '0,silent'], 'hexline: --max-results: expected a whole number of at least 1, received 0\n'],
    [['--max-results', '10,quiet'], 'hexline: --max-results: expected a number of logs, such as 10000, or 10000,silent, received "10,quiet"\n'],
    [['--drop-logs', '2'], 'hexline: --drop-logs: expected a share from 0 to 1, received 2\n'],
    [['--lag', '1.5'], 'hexline: --lag: expected a whole number of at least 0, received 1.5\n'],
    [['--pruned-below', '-1'], 'hexline: --pruned-below: expected a whole number of at least 0, received -1\n'],
    [['--allow-host', 'box.test:80'], 'hexline: --allow-host: expected a host name without a port, received "box.test:80"\n'],
    [['--fault', '2'], "hexline: unknown option '--fault' (Did you mean --faults?)\n"],
  ])('%j', async (args, stderr) => {
    expect(await untilEnd(['sandbox', ...args])).toEqual({ code: 2, stdout: '', stderr })
  })

  it('and then nothing listens to signals any more', async () => {
    const listeners = () => (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => process.listenerCount(signal))
    const before = listeners()
    await untilEnd(['sandbox', '--lag', '1.5'])
    expect(listeners()).toEqual(before)
  })

  it('an unknown chain', async () => {
    expect(await untilEnd(['sandbox', '--chain', 'ethereum'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^hexline: --chain: expected one of eth, sepolia, .*\n$/),
    })
  })

  it('an unreadable seed file, and an invalid one', async () => {
    const file = join(folder, 'bad.json')
    await writeFile(file, '{"streams":[{}]}')
    expect(await untilEnd(['sandbox', '--seed', file])).toMatchObject({
      code: 2,
      stderr: 'hexline: --seed: seed.streams[0].id: expected a string, received nothing\n',
    })
    await writeFile(file, '{')
    expect(await untilEnd(['sandbox', '--seed', file])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^hexline: --seed: expected a JSON file, received ".*" \(.+\)\n$/),
    })
    await writeFile(file, '{"native":{"usd":"2000"}}')
    expect(await untilEnd(['sandbox', '--prices', file])).toMatchObject({
      code: 2,
      stderr: 'hexline: --prices: prices["native"].usd: expected a number above 0, received "2000"\n',
    })
    expect((await untilEnd(['sandbox', '--seed', join(folder, 'none.json')])).stderr).toMatch(
      /^hexline: --seed: expected a JSON file, received ".*" \(ENOENT: .+\)\n$/,
    )
  })

  it('a node that does not answer, with 1', async () => {
    expect(await untilEnd(['sandbox', '--upstream', 'http://127.0.0.1:1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'hexline: 127.0.0.1:1: no connection: connect ECONNREFUSED 127.0.0.1:1; is the node running, and is the URL right?\n',
    })
  })

  it.each(nightly('a missing anvil'))('%s: what to install or pass instead', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const place = join(folder, 'without-anvil')
    await mkdir(join(place, 'node_modules'), { recursive: true })
    await cp(join(root, 'dist'), join(place, 'dist'), { recursive: true })
    await cp(join(root, 'package.json'), join(place, 'package.json'))
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@foundry-rs' && !name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(place, 'node_modules', name))
    const ended = await errorOf(promisify(execFile)(process.execPath, [join(place, 'dist/src/cli/bin.js'), 'sandbox'], { cwd: place }))
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: "hexline: --upstream: expected a node's URL, or anvil installed (npm install --save-dev @foundry-rs/anvil), received neither\n",
    })
  })
})
