import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from './support/eventually.ts'
import { type ExampleChain, PRIVATE_KEY, RICH, startExampleChain, TOKEN } from './support/example-chain.ts'
import { type InstalledPackage, installPackage, root } from './support/installed-package.ts'
import { installRuntimes, runtimes } from './support/runtimes.ts'
import { deadPort, each, serve } from './support/server.ts'

/*
 * The programs of examples as a user has them: one file, copied beside the installed package, run
 * by tsx on Node.js 20 and by Node.js 24 itself, and ended by Ctrl-C.
 */

let chain: ExampleChain
let installed: InstalledPackage
beforeAll(async () => {
  installRuntimes()
  chain = await startExampleChain([3, 0, 2])
  installed = await installPackage()
  for (const name of ['viem', 'ethers', '@duckdb', '@foundry-rs', 'libsql', '@libsql', '@neon-rs', 'detect-libc', '@opentelemetry']) await installed.lay(name)
})
afterAll(async () => {
  await installed?.remove()
  await chain?.stop()
})

/**
 * How a user runs a program, by the runtime. tsx is loaded into the program's own process, because
 * the command `tsx` kills a program that takes longer than 30 ms to notice Ctrl-C.
 */
const commands = {
  'Node.js 20 with tsx': [process.execPath, '--import', join(root, 'node_modules/tsx/dist/loader.mjs')],
  'Node.js 24': runtimes['Node.js 24'],
} as const

/** Starts a program in a folder of its own. */
async function start(runtime: keyof typeof commands, name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(installed.folder, 'example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, basename(`${name}.ts`))
  await cp(join(root, `examples/${name}.ts`), file)
  const [command, ...before] = commands[runtime]
  const child = spawn(command as string, [...before, file, ...args], {
    cwd: folder,
    env: {
      ...process.env,
      HEXLINE_RPC_URL: chain.anvil.url,
      HEXLINE_DATA_URL: chain.sandbox.dataUrl,
      HEXLINE_API_KEY: chain.sandbox.apiKey,
      PRIVATE_KEY,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const stderr = text(child.stderr)
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    stdout += piece
  })
  return {
    line: (pattern: RegExp) =>
      eventually(() => {
        const found = pattern.exec(stdout)
        if (found === null) throw new Error(`no ${pattern} in ${stdout}`)
        return found[0]
      }),
    interrupt: () => void child.kill('SIGINT'),
    ended: closed.then(async ([code]) => ({ code: code as number | null, stdout, stderr: await stderr })),
  }
}

it('runs each program', async () => {
  const folder = join(root, 'examples')
  const programs = (await readdir(folder, { recursive: true })).flatMap((file) => /^(?!follow\/|observability\/|verification\/)(.*)\.ts$/.exec(file)?.[1] ?? [])
  expect(programs.toSorted()).toEqual([...finite.map(([name]) => name), ...endless.map(([name]) => name)].toSorted())
})

const finite: readonly [string, () => string[], RegExp][] = [
  ['erc20-to-duckdb', () => [TOKEN, '0', 'latest'], /^blocks 0 to \d+: 5 transfers\n(0x0{37}\w{3} received \d transfers, in all \d\.0\n){3}$/],
  ['top-gas-users', () => [], /^\d+ gas in blocks 0 to \d+\n.* transactions {2}0x/],
  ['three-nodes', () => ['3000'], /^3000 answers, 0 failures$/m],
  ['wallet-tokens', () => [RICH], /^ETH {4}10000 *\n$/],
  ['viem-script/before', () => [RICH], /^0x\w{40} 10000 ETH\n\d+ transactions in blocks \d+ to \d+\n$/],
  ['viem-script/after', () => [RICH], /^0x\w{40} 10000 ETH\n\d+ transactions in blocks \d+ to \d+\n$/],
  ['viem', () => [], /^20 accounts received 10 ETH\n/],
  ['ethers', () => [], /^20 accounts received 10\.0 ETH\n/],
]
let accounts = 0
const endless: readonly [string, () => Promise<string[]>, RegExp][] = [
  ['follow-to-sqlite', async () => [TOKEN, '0'], /^block 3: 2 transfers$/m],
  ['balances-server', async () => ['0'], /^http:\/\/127\.0\.0\.1:\d+\/balance\/0x…$/m],
  ['prometheus', async () => [String(await deadPort())], /^block \d+$/m],
  ['ethers-bot/before', async () => [`0x${String(++accounts).padStart(40, 'e')}`], /^0x\w{40} gets 1\.0 ETH$/m],
  ['ethers-bot/after', async () => [`0x${String(++accounts).padStart(40, 'e')}`], /^0x\w{40} gets 1\.0 ETH$/m],
]

const both = Object.keys(commands) as (keyof typeof commands)[]

describe.each(both)('on %s', (runtime) => {
  it.each(finite)('%s.ts ends by itself', async (name, args, output) => {
    const { code, stdout, stderr } = await (await start(runtime, name, args())).ended
    expect(stderr.replaceAll(/^.*(?:ExperimentalWarning|--trace-warnings).*\n/gm, '')).toBe('')
    expect(stdout).toMatch(output)
    expect(code).toBe(0)
  })

  it.each(endless)('%s.ts ends by Ctrl-C', async (name, args, output) => {
    const program = await start(runtime, name, await args())
    await program.line(output)
    program.interrupt()
    expect(await program.ended).toMatchObject({ code: 0 })
  })
})

it.each(['erc20-to-duckdb', 'top-gas-users', 'three-nodes', 'wallet-tokens', 'viem-script/after', 'viem', 'ethers'])(
  '%s.ts says that the node is missing, and ends with 1',
  async (name) => {
    const url = `http://127.0.0.1:${await deadPort()}`
    const args = { 'wallet-tokens': [RICH], 'viem-script/after': [RICH], 'three-nodes': ['30'] }[name] ?? []
    const { code, stdout, stderr } = await (await start('Node.js 24', name, args, { HEXLINE_RPC_URL: url, HEXLINE_DATA_URL: url })).ended
    expect(stdout + stderr).toContain('ECONNREFUSED')
    expect(stdout + stderr).not.toMatch(/^ {4}at /m)
    expect(code).toBe(1)
  },
)

it('a bot without hexline and with it look at each block', async () => {
  for (const name of ['ethers-bot/before', 'ethers-bot/after']) {
    const account = `0x${String(++accounts).padStart(40, 'e')}`
    const program = await start('Node.js 24', name, [account, RICH])
    await program.line(/gets 1\.0 ETH/)
    const calls = [
      { jsonrpc: '2.0', id: 1, method: 'anvil_setBalance', params: [account, '0x0'] },
      { jsonrpc: '2.0', id: 2, method: 'evm_mine', params: [] },
    ]
    // Again and again: the bot begins to listen at a moment that it does not tell.
    const mining = setInterval(() => {
      void request(chain.anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(calls) }).then(({ body }) =>
        body.dump(),
      )
    }, 1000)
    onTestFinished(() => clearInterval(mining))
    await program.line(/(?:gets 1\.0 ETH\n.*){2}/s)
    clearInterval(mining)
    program.interrupt()
    expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
  }
})

it('the back end answers 500 requests a second, for five seconds, in fewer POSTs', async () => {
  // A node that answers after 30 ms, as over a network.
  const node = await serve(async (received, response) => {
    await setTimeout(30)
    return each(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1' }))(received, response)
  })
  const program = await start('Node.js 24', 'balances-server', ['0'], { HEXLINE_RPC_URL: node.url })
  const url = await program.line(/^http.*(?=\/balance)/m)
  const dispatcher = new Agent({ connections: 100 })
  onTestFinished(() => dispatcher.close())
  const times: number[] = []
  const get = async (i: number) => {
    const at = performance.now()
    const { statusCode, body } = await request(`${url}/balance/0x${i.toString(16).padStart(40, '0')}`, { dispatcher })
    await body.dump()
    times.push(performance.now() - at)
    return statusCode
  }
  const count = 2500
  const answers: Promise<number>[] = []
  const from = performance.now()
  while (answers.length < count) {
    while (answers.length < Math.min(count, (performance.now() - from) / 2)) answers.push(get(answers.length))
    await setTimeout(1)
  }
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]))
  const [seconds, sorted] = [(performance.now() - from) / 1000, times.toSorted((a, b) => a - b)]
  const within = (share: number) => `${sorted[Math.floor(count * share)]?.toFixed(0)} ms`
  console.log(`${count} requests in ${seconds.toFixed(1)} s and ${node.requests.length} POSTs: half within ${within(0.5)}, 99 % within ${within(0.99)}`)
  expect(node.requests.flatMap(({ entries }) => entries)).toHaveLength(count)
  expect(node.requests.length).toBeLessThan(count * 0.75)
  program.interrupt()
  expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
})
