import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import Database from 'libsql'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from './support/eventually.ts'
import { runExample } from './support/example.ts'
import { type ExampleChain, PRIVATE_KEY, RICH, startExampleChain, TOKEN } from './support/example-chain.ts'
import { deadPort } from './support/server.ts'

/*
 * The programs of examples, as they are, in this process: what they print, how they end, and what
 * they leave. examples.nightly.test.ts runs them as a user does.
 */

/** Transfers in each block, from block 1 on. */
const COUNTS = [3, 0, 2, 1, 4]
const OTHER_TOKEN = `0x${'c2'.repeat(20)}`
const receiver = (i: number) => `0x${(1000 + i).toString(16).padStart(40, '0')}`

let chain: ExampleChain
beforeAll(async () => {
  chain = await startExampleChain(COUNTS)
})
afterAll(() => chain?.stop())

/** A folder for what a program writes. */
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'hexline-example-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const node = () => ({ HEXLINE_RPC_URL: chain.url })

describe('erc20-to-duckdb.ts', () => {
  it('stores each transfer once, also when it is started again', async () => {
    const file = join(folder(), 'transfers.duckdb')
    const run = (last: string, token: string = TOKEN) => runExample('erc20-to-duckdb', [token, '0', last, file], node())
    const first = run('3')
    expect(await first.ended).toBe(0)
    expect(first.stdout).toEqual([
      'blocks 0 to 3: 5 transfers',
      `${receiver(0)} received 2 transfers, in all 0.0`,
      `${receiver(1)} received 2 transfers, in all 2.0`,
      `${receiver(2)} received 1 transfers, in all 2.0`,
    ])
    const second = run('latest')
    expect(await second.ended).toBe(0)
    expect(second.stdout.slice(0, 2)).toEqual(['blocks 4 to 5: 5 transfers', `${receiver(0)} received 4 transfers, in all 0.0`])
    // Nothing is new, also for the same token in another spelling; another token has no transfers.
    for (const [last, token] of [
      ['latest', TOKEN],
      ['3', TOKEN.replaceAll('c', 'C')],
    ] as const) {
      const again = run(last, token)
      expect(await again.ended).toBe(0)
      expect(again.stdout).toEqual([`nothing new up to block ${last === '3' ? 3 : 5}`, ...second.stdout.slice(1)])
    }
    const other = run('3', OTHER_TOKEN)
    expect(await other.ended).toBe(0)
    expect(other.stdout).toEqual(['blocks 0 to 3: 0 transfers'])
    const instance = await DuckDBInstance.create(file)
    const rows = (
      await (await instance.connect()).runAndReadAll('SELECT block, count(DISTINCT log), count(*) FROM transfers GROUP BY block ORDER BY block')
    ).getRows()
    instance.closeSync()
    expect(rows).toEqual(COUNTS.flatMap((count, i) => (count === 0 ? [] : [[BigInt(i + 1), BigInt(count), BigInt(count)]])))
  })
})

describe('follow-to-sqlite.ts', () => {
  it('has the transfers of the chain after a reorganisation, Ctrl-C and another start', async () => {
    const file = join(folder(), 'transfers.sqlite')
    const run = (token: string = TOKEN) => runExample('follow-to-sqlite', [token, '0', file], node())
    const stored = () => {
      const database = new Database(file, { readonly: true })
      const rows = database.prepare('SELECT number, count(*) AS count FROM transfers GROUP BY number ORDER BY number').all()
      database.close()
      return rows
    }
    const first = run()
    await first.line(/^block 5: 4 transfers$/)
    first.interrupt()
    expect(await first.ended).toBe(0)
    expect(first.stdout).toEqual([1, 3, 4, 5].map((number) => `block ${number}: ${COUNTS[number - 1]} transfers`))
    expect(stored()).toMatchObject([1, 3, 4, 5].map((number) => ({ number, count: COUNTS[number - 1] })))

    // Blocks 5 and 6 become three others: the transfers of block 5 are gone.
    await chain.transfer(2)
    await chain.reorganise(2)
    await chain.transfer(4)
    const second = run()
    await second.line(/^block 8: 4 transfers$/)
    second.interrupt()
    expect(await second.ended).toBe(0)
    expect(second.stdout[0]).toBe('undone: blocks 5')
    expect(stored()).toMatchObject([1, 3, 4, 8].map((number) => ({ number, count: number === 8 ? 4 : COUNTS[number - 1] })))

    // Another token begins at its own first block, and leaves the first one's transfers alone.
    const other = run(OTHER_TOKEN)
    await eventually(() => {
      const database = new Database(file, { readonly: true })
      const place = database.prepare('SELECT cursor FROM place WHERE token = ?').get(OTHER_TOKEN)
      database.close()
      expect(place).toBeDefined()
    })
    other.interrupt()
    expect(await other.ended).toBe(0)
    expect(stored()).toHaveLength(4)
  })
})

describe('top-gas-users.ts', () => {
  it('adds up the gas of the receipts of the last blocks', async () => {
    for (let i = 0; i < 3; i++) await chain.transfer(i)
    const program = runExample('top-gas-users', ['3'], node())
    expect(await program.ended).toBe(0)
    const [, gas, from, to] = /^(\d+) gas in blocks (\d+) to (\d+)$/.exec(program.stdout[0] as string) as unknown as [string, string, string, string]
    expect(Number(gas)).toBeGreaterThan(3 * 21_000)
    expect(Number(to) - Number(from)).toBe(2)
    expect(program.stdout.slice(1)).toEqual([`100.00 % ${gas.padStart(15)} gas       3 transactions  ${TOKEN}`])
  })

  it('takes all blocks of a chain that has fewer', async () => {
    const program = runExample('top-gas-users', [], node())
    expect(await program.ended).toBe(0)
    expect(program.stdout[0]).toMatch(/ in blocks 0 to \d+$/)
  })

  it('refuses an invalid number of blocks', async () => {
    const program = runExample('top-gas-users', ['many'], node())
    expect(await program.ended).toBe(1)
    expect(program.stderr).toEqual([expect.stringContaining('many')])
  })

  it('says why it fails', async () => {
    const port = await deadPort()
    const program = runExample('top-gas-users', [], { HEXLINE_RPC_URL: `http://127.0.0.1:${port}/secret` })
    expect(await program.ended).toBe(1)
    expect(program.stderr).toEqual([expect.stringMatching(`^NetworkError: 127.0.0.1:${port}: no connection`)])
  })
})

describe.each<[string, () => string[], number]>([
  ['erc20-to-duckdb', () => [TOKEN, '0', '9', join(folder(), 'a.duckdb')], 130],
  ['follow-to-sqlite', () => [TOKEN, '0', join(folder(), 'a.sqlite')], 0],
  ['top-gas-users', () => [], 130],
  ['wallet-tokens', () => [RICH], 130],
])('%s.ts', (name, args, code) => {
  it('ends quietly at Ctrl-C while it waits for a reply', async () => {
    let asked = () => {}
    const request = new Promise<void>((resolve) => {
      asked = resolve
    })
    const server = createServer(() => asked()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const program = runExample(name, args(), { HEXLINE_RPC_URL: url, HEXLINE_DATA_URL: url, HEXLINE_API_KEY: 'key' })
    expect(await Promise.race([request, program.ended])).toBeUndefined()
    program.interrupt()
    expect(await program.ended).toBe(code)
    expect([...program.stdout, ...program.stderr]).toEqual([])
  })
})

describe('balances-server.ts', () => {
  it('answers, and says what is wrong with a request', async () => {
    const program = runExample('balances-server', ['0'], node())
    await program.ended
    const server = await program.line(/^http/)
    const get = async (path: string) => {
      const { statusCode, body } = await request(new URL(path, server))
      return { status: statusCode, ...((await body.json()) as object) }
    }
    const wei = String(10_000n * 10n ** 18n)
    expect(await Promise.all(Array.from({ length: 50 }, () => get(`/balance/${RICH}`)))).toEqual(Array(50).fill({ status: 200, address: RICH, wei }))
    expect(await get('/balance/0x12')).toMatchObject({ status: 400, error: expect.stringContaining('expected') })
    expect(await get('/')).toMatchObject({ status: 404 })
    program.interrupt()
    await eventually(() => expect(get('/')).rejects.toMatchObject({ code: 'ECONNREFUSED' }))
  })
})

describe('three-nodes.ts', () => {
  it('answers every read though one of the nodes dies', async () => {
    const program = runExample('three-nodes', ['600'], { HEXLINE_RPC_URL: chain.anvil.url })
    expect(await program.ended).toBe(0)
    const dead = /^(\S+) stops$/.exec(program.stdout[0] as string)?.[1]
    // It is probed, and reported again when it is still dead.
    expect(new Set(program.stdout.slice(1, -2))).toEqual(new Set([`${dead} is left out: it fails`]))
    expect(program.stdout.at(-2)).toBe('600 answers, 0 failures')
    expect(program.stdout.at(-1)).toMatch(/^calls: \d+ to \S+, \d+ to \S+, \d+ to \S+$/)
  })

  it('listens to nothing after its end, here as in a process of its own', () => {
    expect(channel('hexline:route').hasSubscribers).toBe(false)
  })
})

describe('prometheus.ts', () => {
  it('serves the figures of its calls', async () => {
    const port = await deadPort()
    const program = runExample('prometheus', [String(port)], node())
    await program.line(/^block \d+$/)
    const { body } = await request(`http://127.0.0.1:${port}/metrics`)
    const endpoint = new URL(chain.url).host
    expect((await body.text()).split('\n')).toContainEqual(expect.stringMatching(new RegExp(`^hexline_calls_total\\{.*endpoint="${endpoint}".*\\} \\d+`)))
    program.interrupt()
    expect(await program.ended).toBe(0)
  })
})

describe('wallet-tokens.ts', () => {
  it('prints the tokens of a wallet, of all pages', async () => {
    const { dataUrl, apiKey } = chain.sandbox
    const program = runExample('wallet-tokens', [RICH], { HEXLINE_DATA_URL: dataUrl, HEXLINE_API_KEY: apiKey })
    expect(await program.ended).toBe(0)
    expect(program.stdout).toEqual(['ETH    10000             '])
  })

  it('says what it needs', async () => {
    const program = runExample('wallet-tokens', [])
    expect(await program.ended).toBe(1)
    expect(program.stderr).toEqual(['Error: needs ADDRESS, HEXLINE_DATA_URL and HEXLINE_API_KEY'])
  })
})

describe('viem-script', () => {
  it('after.ts prints what before.ts prints', async () => {
    const before = runExample('viem-script/before', [RICH], node())
    expect(await before.ended).toBe(0)
    expect(before.stdout).toEqual([`${RICH} 10000 ETH`, expect.stringMatching(/^\d+ transactions in blocks \d+ to \d+$/)])
    const after = runExample('viem-script/after', [RICH], node())
    expect(await after.ended).toBe(0)
    expect(after.stdout).toEqual(before.stdout)
  })
})

describe('ethers-bot', () => {
  it('after.ts tops an account up, and ends at Ctrl-C', async () => {
    const poor = `0x${'ab'.repeat(20)}`
    const program = runExample('ethers-bot/after', [poor, RICH], { ...node(), PRIVATE_KEY })
    await program.line(new RegExp(`^${poor} gets 1.0 ETH$`))
    program.interrupt()
    expect(await program.ended).toBe(0)
    expect(program.stderr).toEqual([])
  })
})

describe.each(['before', 'after'])('ethers-bot/%s.ts', (name) => {
  it('ends at once without a key', async () => {
    const program = runExample(`ethers-bot/${name}`, [RICH], { ...node(), PRIVATE_KEY: '' })
    await expect(program.ended).rejects.toThrow('invalid private key')
  })
})

describe.each(['viem-script', 'ethers-bot'])('%s', (folder) => {
  it('before.ts and after.ts differ by one line, and the import of what stands in it', () => {
    const [before, after] = [linesOf(`${folder}/before`), linesOf(`${folder}/after`)]
    const only = (these: readonly string[], those: readonly string[]) => these.filter((line) => !those.includes(line))
    const imports = (lines: readonly string[]) => lines.filter((line) => line.startsWith('import '))
    const others = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('import '))
    const [removed, added] = [only(before, after), only(after, before)]
    const [line, instead] = [others(removed), others(added)]
    expect([line.length, instead.length]).toEqual([1, 1])
    const named = (text: string) => /(?:transport: |new )(\w+)\(/.exec(text)?.[1] as string
    expect(instead[0]).toBe(line[0]?.replace(named(line[0]), named(instead[0] as string)))
    // The imports lose the one name, and gain the other, which comes from hexline.
    const names = (from: readonly string[]) => from.flatMap((text) => /\{ (.*) \}/.exec(text)?.[1]?.split(', ') ?? [])
    expect(only(names(imports(before)), names(imports(after)))).toEqual([named(line[0] as string)])
    expect(only(names(imports(after)), names(imports(before)))).toEqual([named(instead[0] as string)])
    expect(imports(after).filter((text) => text.includes(named(instead[0] as string)))).toEqual([expect.stringContaining("from 'hexline/")])
  })
})

describe('viem.ts', () => {
  it('runs on a local node', async () => {
    const program = runExample('viem', [], { HEXLINE_RPC_URL: chain.anvil.url })
    expect(await program.ended).toBe(0)
    expect(program.stdout).toEqual([
      '20 accounts received 10 ETH',
      'their blocks hold 20 transactions, which used 420000 gas',
      expect.stringMatching(/^TransactionExecutionError: The total cost .* exceeds the balance/),
    ])
  })
})

describe('ethers.ts', () => {
  it('runs on a local node', async () => {
    const program = runExample('ethers', [], { HEXLINE_RPC_URL: chain.anvil.url })
    expect(await program.ended).toBe(0)
    expect(program.stdout).toEqual([
      '20 accounts received 10.0 ETH',
      'their blocks hold 20 transactions, worth 10.0 ETH',
      expect.stringMatching(/^INSUFFICIENT_FUNDS: insufficient funds/),
    ])
  })
})

/** Lines of a program without its header comment. */
function linesOf(path: string): string[] {
  const text = readFileSync(new URL(`../examples/${path}.ts`, import.meta.url), 'utf8')
  return text.slice(text.indexOf('*/')).split('\n')
}
