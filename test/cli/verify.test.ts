import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tableNames } from '../../src/dataset/tables.ts'
import { hexline } from '../support/command.ts'
import { forward } from '../support/forward.ts'
import { always, serve } from '../support/server.ts'
import { FIRST, startValidChain, type ValidChain } from '../support/valid-chain.ts'

const LAST = FIRST + 3
const LOGS = 'logs/000000008-000000009.ndjson'
let server: ValidChain
let folder: string
let whole: string
let part: string
beforeAll(async () => {
  server = await startValidChain(4)
  folder = await mkdtemp(join(tmpdir(), 'hexline-verify-'))
  whole = join(folder, 'whole')
  part = join(folder, 'part')
  await using client = createClient(server.url)
  const range = { from: FIRST, to: LAST, format: 'ndjson', blocksPerFile: 5 } as const
  await exportDataset(client, { ...range, dir: whole, tables: tableNames })
  await exportDataset(client, { ...range, dir: part, tables: ['blocks', 'logs'] })
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const hash = () => server.blocks.get(LAST)?.block.hash as string

it('prints what was proven, and what could not be with the reason', async () => {
  const { code, stdout, stderr } = await hexline(['verify', part])
  expect(code).toBe(0)
  expect(stdout.replace(/\d+\.\d kB/, '…')).toBe(`blocks 8 to 11 of chain 1: 4 files, 28 rows, …

check                                      proven  not  why not
digests and sizes of all files                  4
rows: counts, order, and what they repeat       4
each names the block before as its parent       4
hash of the header                              4
hash of each transaction                        0    4  not stored: transactions
transactions root                               0    4  not stored: transactions
receipts root, with the logs                    0    4  not stored: receipts
logs bloom                                      4
withdrawals root                                4
no uncles                                       4
prices of gas                                   0    4  not stored: transactions
size of the block                               0    4  not stored: transactions

covered by no hash or root: blocks.size, logs.*
what is proven follows from the hash of block 11:
  ${hash()}
`)
  expect(stderr).toMatch(/^4 blocks, /)
})

it('prints notes of at most 80 columns', async () => {
  const narrow = join(folder, 'narrow')
  await using client = createClient(server.url)
  const columns = ['transactions.value', 'receipts.gasUsed', 'logs.data', 'withdrawals.amount']
  await exportDataset(client, { from: FIRST, to: LAST, dir: narrow, format: 'parquet', tables: tableNames, columns })
  const { stdout } = await hexline(['verify', narrow])
  const notes = stdout.slice(stdout.indexOf('covered by'))
  expect(notes).toBe(`covered by no hash or root: blocks.size, blocks.transactionCount, logs.*,
  receipts.*, transactions.*, withdrawals.*
what is proven follows from the hash of block 11:
  ${hash()}
`)
})

it('does not say that anything follows from a hash that no header makes', async () => {
  const dir = join(folder, 'withdrawals')
  await using client = createClient(server.url)
  await exportDataset(client, { from: FIRST, to: LAST, dir, tables: ['withdrawals'] })
  const { code, stdout } = await hexline(['verify', dir, '--quiet'])
  expect(code).toBe(0)
  expect(stdout).toContain(`\nhash of block 11, from which nothing follows, since not all headers are proven:\n  ${hash()}\n`)
  expect(stdout).not.toContain('what is proven')
})

it('--json prints the report', async () => {
  const { code, stdout, stderr } = await hexline(['verify', whole, '--json', '--quiet', '--senders'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({
    chainId: 1,
    from: FIRST,
    to: LAST,
    lastHash: hash(),
    checks: { header: 4, senders: 4 },
    skipped: {},
    uncovered: [],
  })
})

it('--against compares with a node, and says how to repeat that', async () => {
  const first = await hexline(['verify', whole, '--against', server.url, '--sample', '3', '--quiet'])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/\nrows at the node +3\n/)
  const seed = /compared with the node: 3 blocks \(--seed (\d+)\)/.exec(first.stdout)?.[1] as string
  const again = await hexline(['verify', whole, '--against', '--sample', '3', '--seed', seed, '--quiet'], { env: { HEXLINE_RPC_URL: server.url } })
  expect(again.stdout).toBe(first.stdout)
})

it('--against takes several nodes from the environment, of which one may be dead', async () => {
  const { code, stderr } = await hexline(['verify', whole, '--against', '--sample', '3', '--quiet'], {
    env: { HEXLINE_RPC_URL: `http://127.0.0.1:1/KEY ${server.url}` },
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

it('--against counts the calls that the node throttled', async () => {
  const busy = await serve(always('', { status: 429, headers: { 'retry-after': '0' } }), forward(server.url))
  const { code, stderr } = await hexline(['verify', whole, '--against', busy.url, '--sample', '3'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/ blocks\/s\) \| \d+ calls? throttled\n$/) })
})

it('exits with 1 at the first mismatch, and names file, block and field', async () => {
  const path = join(whole, LOGS)
  const right = await readFile(path)
  const forged = Buffer.from(right)
  forged[200] = (forged[200] as number) ^ 1
  await writeFile(path, forged)
  const { code, stdout, stderr } = await hexline(['verify', whole])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(
    new RegExp(
      `^hexline: ${LOGS}: sha256: expected [0-9a-f]{64}, found [0-9a-f]{64}\\. The same options export the blocks of this file to another folder: copy the file from there\n$`,
    ),
  )
  const json = JSON.parse((await hexline(['verify', whole, '--json'])).stderr)
  expect(json).toMatchObject({ type: 'error', kind: 'integrity', file: LOGS, field: 'sha256', exitCode: 1 })
  await writeFile(path, right)
})

it('names the block at which a node disagrees, with both hashes in full', async () => {
  const other = await startValidChain(4, {
    answer: ({ method, params }) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) === LAST
        ? { result: { ...server.blocks.get(LAST)?.block, hash: `0x${'99'.repeat(32)}`, transactions: [] } }
        : undefined,
  })
  const { code, stderr } = await hexline(['verify', whole, '--against', other.url, '--quiet'])
  await other.close()
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `hexline: blocks/000000010-000000011.ndjson: block 11: hash: expected 0x${'99'.repeat(32)}, found ${hash()}; expected is what the node says\n`,
  })
})

it.each([
  [['nothing-is-here'], '<folder>: expected a folder, received "nothing-is-here", which does not exist'],
  [['package.json'], '<folder>: expected a folder, received "package.json", which is a file'],
  [['https://rpc.example.com/s3cr3t'], '<folder>: expected a folder, received a URL, which does not exist'],
  [['.', '--sample', '3'], '--sample: expected --against as well, received no --against'],
  [['.', '--deadline', '5'], '--deadline: expected --against as well, received no --against'],
  [['.', '--timeout', 'x'], '--timeout: expected --against as well, received no --against'],
  [['.', '--against'], "--against: expected the node's URL, here or in HEXLINE_RPC_URL, received nothing"],
  [['.', '--against', 'SECRET'], '--against: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an invalid URL'],
  [['.', '--against', 'http://127.0.0.1:1', '--seed', '-1'], '--seed: expected a whole number from 0 to 2147483647, received -1'],
  [['.', '--against', 'http://127.0.0.1:1', '--sample', 'x'], '--sample: expected a number, received "x"'],
])('%o is refused', async (args, message) => {
  expect(await hexline(['verify', ...args])).toEqual({ code: 2, stdout: '', stderr: `hexline: ${message}\n` })
})

it('a key in the URL is not printed, and warned of', async () => {
  const { stderr } = await hexline(['verify', whole, '--against', 'http://127.0.0.1:1/v3/0123456789abcdef', '--deadline', '0.001'])
  expect(stderr).toContain('warning: other users of this machine can see a URL')
  expect(stderr).not.toContain('0123456789abcdef')
})

it.each([['--rpc', 'http://127.0.0.1:1/v3/0123456789abcdef'], ['--rpc=http://127.0.0.1:1/v3/0123456789abcdef']])('%s is --against here', async (...args) => {
  const { code, stderr } = await hexline(['verify', whole, ...args])
  expect([code, stderr]).toEqual([2, "hexline: unknown option '--rpc': here '--against [url]' names the node\n"])
})
