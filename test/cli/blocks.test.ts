import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blockOf, type ChainOptions, type ChainServer, startChain, withLongFields } from '../support/chain-server.ts'
import { hexline, startHexline } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { madeChain, startMadeChain } from '../support/made-chain.ts'
import { nightly } from '../support/runs.ts'

let folder: string
const servers: ChainServer[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-'))
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
  await rm(folder, { recursive: true })
})

async function chain(options: ChainOptions): Promise<ChainServer> {
  const server = await startChain(options)
  servers.push(server)
  return server
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('hexline blocks', () => {
  it('writes one block a line to stdout, as the node sent it', async () => {
    const { url } = await chain({ head: 250, transactions: (number) => number % 3 })
    const { code, stdout } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '250'])
    expect(code).toBe(0)
    expect(linesOf(stdout)).toEqual(Array.from({ length: 251 }, (_, number) => blockOf(number, true, { transactions: (each) => each % 3 })))
  })

  it('warns of a node on another chain, which it does not use', async () => {
    const [right, wrong] = [await chain({ head: 250 }), await chain({ head: 250, chainId: 5 })]
    const args = ['blocks', '--rpc', right.url, '--rpc', wrong.url, '--from', '0', '--to', '250', '--batch', '10', '--out', '/dev/null']
    const { code, stderr } = await hexline(args)
    expect(code).toBe(0)
    expect(stderr).toMatch(new RegExp(`^hexline: warning: ${new URL(wrong.url).host} is on chain 5, not 1, and is not used\n251 blocks`))
    const warning = { type: 'warning', message: expect.stringContaining('is on chain 5') }
    expect(linesOf((await hexline([...args, '--json'])).stderr)).toEqual([warning, expect.objectContaining({ type: 'done' })])
  })

  it.each([
    [
      ['--last', '3'],
      [8, 9, 10],
    ],
    [
      ['--last', '3', '--to', '6'],
      [4, 5, 6],
    ],
    [
      ['--last', '2', '--to', '0x6'],
      [5, 6],
    ],
    // The chain has no more.
    [
      ['--last', '500', '--to', '2'],
      [0, 1, 2],
    ],
  ])('writes the last blocks with %j', async (args, numbers) => {
    const { url } = await chain({ head: 10 })
    const { code, stdout } = await hexline(['blocks', '--rpc', url, ...args])
    expect(code).toBe(0)
    expect(linesOf(stdout).map(({ number }) => Number(number))).toEqual(numbers)
  })

  it('writes to stdout with --out -, too', async () => {
    const { url } = await chain({ head: 2 })
    const { code, stdout } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '2', '--out', '-'])
    expect(code).toBe(0)
    expect(linesOf(stdout)).toHaveLength(3)
  })

  it('writes a file that appears once complete, and a summary on stderr', async () => {
    const { url } = await chain({ head: 250 })
    const out = join(folder, 'blocks.ndjson')
    const { code, stdout, stderr } = await hexline(['blocks', '--rpc', url, '--from', '10', '--to', 'latest', '--transactions', 'hashes', '--out', out])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(linesOf(await readFile(out, 'utf8'))).toEqual(Array.from({ length: 241 }, (_, i) => blockOf(i + 10, false)))
    expect(await readdir(folder)).toEqual(['blocks.ndjson'])
    expect(stderr).toMatch(/^241 blocks, [\d.]+ kB in [\d.]+ s \([\d,]+ blocks\/s\)\n$/)
  })

  it('verifies blocks, and says what was verified and what was not', async () => {
    const made = await madeChain(3)
    const right = await startMadeChain(made)
    servers.push(right)
    const args = ['blocks', '--from', '0', '--to', '3', '--verify', 'full']
    const whole = await hexline([...args, '--receipts', '--rpc', right.url])
    expect(whole.code).toBe(0)
    expect(whole.stderr).toMatch(/ \| verified: hash, uncles, withdrawals, transactions, receipts, prices, size\n$/)
    const { stderr } = await hexline([...args, '--rpc', right.url])
    expect(stderr).toMatch(
      / \| verified: hash, uncles, withdrawals, transactions, prices, size \| not verified: receipts: there are no receipts \(4 blocks\)\n$/,
    )
    const wrong = await startMadeChain(made, 2, ({ block }) => Object.assign(block, { gasLimit: '0x1' }))
    servers.push(wrong)
    const bad = await hexline([...args, '--rpc', wrong.url])
    expect(bad.code).not.toBe(0)
    expect(bad.stderr).toContain('block 2: hash: expected 0x')
    expect(linesOf(bad.stdout)).toHaveLength(2)
  })

  it('counts repeated and throttled calls, not POSTs', async () => {
    const refused: number[] = []
    const { url } = await chain({
      head: 60,
      reply({ calls }) {
        if (calls.length < 2 || refused.length === 2) return undefined
        refused.push(calls.length)
        return refused.length === 1 ? { status: 500, body: 'Internal Server Error' } : { status: 429, body: 'Too many requests' }
      },
    })
    const { code, stderr } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '60', '--out', join(folder, 'blocks.ndjson')])
    expect(code).toBe(0)
    expect(stderr.trimEnd().split(' | ')[1]).toBe(`${refused[0]} calls repeated, ${refused[1]} calls throttled`)
  })

  it('adds the receipts of a block to its line', async () => {
    const { url } = await chain({ head: 5, transactions: () => 2 })
    const { stdout } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '5', '--receipts'])
    for (const { transactions, receipts } of linesOf(stdout)) {
      expect(receipts.map(({ transactionHash }: { transactionHash: string }) => transactionHash)).toEqual(
        transactions.map(({ hash }: { hash: string }) => hash),
      )
    }
  })

  it('keeps every token of the node, and removes white space', async () => {
    const odd =
      '{ "number" : "0x0",\n\t"hash":"0xaa", "parentHash":"0x00", "text":"a \\u0041 \\" } , b", "big":12345678901234567890.50, "e":1E+2 , "transactions" : [ ] }'
    const { url } = await chain({ head: 0, body: (json) => (json.includes('parentHash') ? json.replace(/"result":\{.*\}/, `"result": ${odd} }`) : json) })
    const { stdout, stderr } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '0'])
    expect(stderr).toContain('1 block, ')
    expect(stdout).toBe(
      '{"number":"0x0","hash":"0xaa","parentHash":"0x00","text":"a \\u0041 \\" } , b","big":12345678901234567890.50,"e":1E+2,"transactions":[]}\n',
    )
  })

  it('omits fields after a result, however long', async () => {
    const options: ChainOptions = { head: 12, transactions: () => 7, body: withLongFields }
    const { url } = await chain(options)
    const { stdout } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '12', '--receipts'])
    const lines = linesOf(stdout)
    expect(lines.map(({ receipts, ...block }) => [block, receipts.length])).toEqual(Array.from({ length: 13 }, (_, i) => [blockOf(i, true, options), 7]))
  })

  it('reads the node from HEXLINE_RPC_URL', async () => {
    const { url } = await chain({ head: 1 })
    const { code, stdout } = await hexline(['blocks', '--from', '1', '--to', '1'], { env: { HEXLINE_RPC_URL: url } })
    expect(code).toBe(0)
    expect(linesOf(stdout)).toHaveLength(1)
  })

  it('succeeds when its reader stops early', async () => {
    const { url } = await chain({ head: 20_000 })
    const child = startHexline(['blocks', '--rpc', url, '--from', '0', '--to', '20000'])
    child.stdout?.once('data', () => child.stdout?.destroy())
    const { code, stderr } = await child.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})

describe('a job that fails', () => {
  it('leaves no file, and says what happened in one line', async () => {
    const { url } = await chain({
      head: 300,
      answer: ({ params }, right) => (params[0] === '0x64' ? { result: { ...(right as object), parentHash: '0xdead' } } : undefined),
    })
    const { code, stdout, stderr } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '300', '--out', join(folder, 'blocks.ndjson')])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^hexline: block 100 names 0xdead as its parent.*\n$/)
    expect(await readdir(folder)).toEqual([])
  })

  it.each(['SIGINT', ...nightly('SIGTERM' as const)] as const)('%s ends it at once and leaves no file', async (signal) => {
    const { url } = await chain({ head: 1000, gate: (calls) => (calls.some(({ params }) => params[0] === '0xfa') ? new Promise(() => {}) : undefined) })
    const child = startHexline(['blocks', '--rpc', url, '--from', '0', '--to', '1000', '--out', join(folder, 'blocks.ndjson')])
    // Block 250 is never answered: once it is requested, the command runs until it is stopped.
    await new Promise<void>((resolve) => {
      const look = setInterval(() => {
        if (!servers[0]?.calls.some(({ params }) => params[0] === '0xfa')) return
        clearInterval(look)
        resolve()
      }, 5)
    })
    child.kill(signal)
    const { code, stderr } = await child.ended
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
    expect(stderr).toContain(`ended by ${signal === 'SIGINT' ? 'Ctrl-C' : 'SIGTERM'}`)
    expect(await readdir(folder)).toEqual([])
  })

  /** Ctrl-C while nobody reads; then the rest is read. */
  async function interruptedWhileNobodyReads() {
    const { url } = await chain({ head: 100, inputBytes: 1_000_000 })
    const child = startHexline(['blocks', '--rpc', url, '--from', '0', '--to', '100'])
    child.stdout?.pause()
    // A block is 2 MB, more than a pipe holds: after the first bytes, the command waits for room.
    await eventually(() => expect(child.stdout?.readableLength).toBeGreaterThan(0))
    let said = ''
    child.stderr?.on('data', (text) => {
      said += text
    })
    child.kill('SIGINT')
    await eventually(() => expect(said).toContain('waiting for the reader'))
    child.stdout?.resume()
    return child.ended
  }

  it('Ctrl-C ends it even while its output is not read, and it says where to continue', async () => {
    const { code, stderr } = await interruptedWhileNobodyReads()
    expect(code).toBe(130)
    expect(stderr).toMatch(/^waiting for the reader of the output\nhexline: ended by Ctrl-C; continue with --from \d+\n$/)
  })

  it('continuing as it says after Ctrl-C repeats no block: a line that was begun is completed', async () => {
    const { stdout, stderr } = await interruptedWhileNobodyReads()
    expect(stderr).toContain(`continue with --from ${linesOf(stdout).length}\n`)
  })

  it('by a line break inside a string, which would split a line, writes nothing', async () => {
    const { url } = await chain({ head: 3, body: (json) => json.replaceAll('"hash":', '"extra":"a\nb","hash":') })
    const { code, stdout, stderr } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '3', '--deadline', '1'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^hexline: .+\n$/)
  })

  it('never prints the key in the URL', async () => {
    const key = 'k3y-0123456789abcdef'
    const { url } = await chain({ head: 3, answer: () => ({ error: { code: -32000, message: `no route for /eth/${key}` } }) })
    for (const rpc of [`${url}/eth/${key}`, `http://127.0.0.1:1/eth/${key}`, `htp://x/${key}`, `http://[/${key}`]) {
      const { code, stdout, stderr } = await hexline(['blocks', '--rpc', rpc, '--from', '0', '--to', '3'])
      expect(code).not.toBe(0)
      expect(stderr).toMatch(/^(?:hexline: warning: other users of this machine can see a URL given as an argument, .+\n)?hexline: .+\n$/)
      expect(stdout + stderr).not.toContain(key)
    }
  })
})

describe('wrong usage ends with 2 and one clear line', () => {
  it.each([
    [['--from', '5', '--to', '2'], '--to: expected at least the first block, 5, received 2'],
    [['--from', '-5', '--to', '2'], '--from: expected a block number'],
    [['--from', '1.5', '--to', '2'], '--from: expected a block number'],
    [['--from', '0', '--to', '999'], "--to: expected at most the node's latest block, 10, received 999"],
    [
      ['--from', '0', '--to', 'newest'],
      '--to: expected a block number (a whole number that is not negative), or one of latest, safe, finalized, earliest, received "newest"',
    ],
    [['--from', '0'], "required option '--to <block>' not specified\n"],
    [['--to', '1'], "required option '--from <block>' not specified, nor '--last <count>'"],
    [['--last', '0'], '--last: expected a number of blocks, at least 1, received "0"'],
    [['--last', '-3'], '--last: expected a number of blocks, at least 1, received "-3"'],
    [['--last', '3', '--from', '2', '--to', '5'], '--last: expected no --from with it, received "2"'],
    [['--last', '3', '--to', '999'], "--to: expected at most the node's latest block, 10, received 999"],
    [['--last', '3', '--to', 'follow'], '--last: expected no --last with --to follow, received "3"'],
    [['--from', '0', '--to', '1', '--transactions', 'all'], "argument 'all' is invalid. Allowed choices are full, hashes."],
    [['--from', '0', '--to', '1', '--form', '2'], "unknown option '--form'"],
    [
      ['--from', '0', '--to', '1', '--transactions', 'hashes', '--verify', 'full'],
      '--verify: expected --transactions full or --receipts with \'full\', received "full" without them',
    ],
  ])('%j', async (args, message) => {
    const { url } = await chain({ head: 10 })
    const { code, stdout, stderr } = await hexline(['blocks', '--rpc', url, ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^hexline: /)
    expect(stderr).toContain(message)
  })

  it('no node', async () => {
    const { code, stderr } = await hexline(['blocks', '--from', '0', '--to', '1'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: "hexline: --rpc: expected the node's URL, here or in HEXLINE_RPC_URL, or --chain, received nothing\n" })
  })

  it('a file that exists is not overwritten', async () => {
    const { url } = await chain({ head: 10 })
    const out = join(folder, 'blocks.ndjson')
    await writeFile(out, 'mine')
    const { code, stderr } = await hexline(['blocks', '--rpc', url, '--from', '0', '--to', '1', '--out', out])
    expect(code).toBe(2)
    expect(stderr).toContain('--out: expected a file that does not exist yet')
    expect(await readFile(out, 'utf8')).toBe('mine')
  })
})
