import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { hexline, startHexline } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { CONTRACT, ForkingChain, headerOf, TOPIC } from '../support/forking-chain.ts'
import { itemOf, Replay } from '../support/replay.ts'
import { always, serve } from '../support/server.ts'

/** The first lines that the command writes; then it is ended. */
async function linesOf(args: readonly string[], count: number, between: (lines: number) => void = () => {}) {
  const child = startHexline(args)
  let text = ''
  let seen = 0
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (piece: string) => {
      text += piece
      const lines = text.split('\n').length - 1
      for (; seen < lines; seen++) between(seen + 1)
      if (lines >= count) resolve()
    })
    void child.ended.then(() => resolve())
  })
  child.kill('SIGINT')
  const { code, stderr } = await child.ended
  return { lines: text.split('\n').slice(0, -1), code, stderr }
}

const folderOf = () => {
  const folder = mkdtempSync(join(tmpdir(), 'hexline-follow-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

it('writes blocks with logs in the bytes of the node, and rollbacks', async () => {
  const chain = new ForkingChain(12)
  const server = await serve(chain.node())
  const { lines, code, stderr } = await linesOf(['follow', '--rpc', server.url, '--from', '10', '--address', CONTRACT, '--topic', TOPIC], 7, (count) => {
    if (count === 3) chain.reorganise(2, 3)
  })
  const replay = new Replay(10)
  for (const line of lines) replay.apply(itemOf(line))
  expect(replay.hashes).toEqual(chain.hashes.slice(10))
  expect(replay.logs.map(({ length }) => length)).toEqual(chain.blocks.slice(10).map(({ logs }) => logs))
  expect(JSON.parse(lines[0] as string)).toMatchObject({ type: 'block', block: headerOf(chain.blocks[10] as never) })
  expect(JSON.parse(lines[3] as string)).toEqual({ type: 'rollback', to: 10, blocks: [12, 11].map((number) => ({ number, hash: expect.any(String) })) })
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: '2 blocks were rolled back\nhexline: ended by Ctrl-C; with --cursor, hexline follow continues where it ended\n',
  })
})

it('says on a terminal how far it is, and what was throttled', async () => {
  const chain = new ForkingChain(12)
  const server = await serve(always('', { status: 429, headers: { 'retry-after': '0' } }), chain.node())
  // The reader of the blocks, such as `head`, goes once the line is there.
  const stdout = new PassThrough().resume()
  let said = ''
  const stderr = new Writable({
    write(text, _, done) {
      said += text
      if (said.includes('at the head')) stdout.destroy(Object.assign(new Error('the reader is gone'), { code: 'EPIPE' }))
      done()
    },
  })
  vi.stubEnv('TERM', 'xterm')
  onTestFinished(() => void vi.unstubAllEnvs())
  const args = ['follow', '--rpc', server.url, '--from', '10']
  expect(await main('0.0.0', { args, env: {}, stdout, stderr: Object.assign(stderr, { isTTY: true, columns: 80 }) })).toBe(0)
  expect(said).toMatch(/\rblock 12 \| 3 blocks \| at the head \| \d+ calls? throttled/)
  expect(said.endsWith('\r\u001b[K')).toBe(true)
})

it('with receipts, with all logs, and with neither', async () => {
  const chain = new ForkingChain(12)
  const server = await serve(chain.node())
  const first = async (...flags: string[]) => JSON.parse((await linesOf(['follow', '--rpc', server.url, ...flags], 1)).lines[0] as string)
  const { logs } = chain.blocks[10] as { logs: number }
  expect(await first('--confirmations', '2', '--receipts')).toMatchObject({ block: { number: '0xa', receipts: [{ status: '0x1' }] } })
  expect((await first('--confirmations', 'safe', '--logs')).logs).toHaveLength(logs)
  expect(Object.keys(await first())).toEqual(['type', 'block'])
})

it('blocks --to follow is the same', async () => {
  const chain = new ForkingChain(12)
  const server = await serve(chain.node())
  const { lines } = await linesOf(['blocks', '--rpc', server.url, '--from', '10', '--to', 'follow', '--transactions', 'hashes'], 3)
  expect(lines.map((line) => JSON.parse(line).block.number)).toEqual(['0xa', '0xb', '0xc'])
})

describe('a cursor file', () => {
  it('says where to go on, from a pipe, too', async () => {
    const chain = new ForkingChain(12)
    const server = await serve(chain.node())
    const cursor = join(folderOf(), 'cursor.json')
    const args = ['follow', '--rpc', server.url, '--from', '10', '--cursor', cursor]
    const { stderr, code } = await linesOf(args, 3)
    expect({ stderr, code }).toEqual({ stderr: 'hexline: ended by Ctrl-C; run the same command again to continue\n', code: 130 })
    expect(JSON.parse(readFileSync(cursor, 'utf8')).cursor).toMatchObject({ from: 10, number: 12 })
    chain.mine(2)
    expect((await linesOf(args, 2)).lines.map((line) => JSON.parse(line).block.number)).toEqual(['0xd', '0xe'])
  })

  it.each([
    ['', 'which holds something else'],
    ['{"cursor":5}', 'in which cursor is wrong: expected an object'],
    ['{"cursor":{"chainId":1,"genesis":null,"from":3,"number":3,"hashes":["0x"]}}', 'in which cursor.hashes[0] is wrong: expected a hash (32 bytes in hex)'],
    ['{"cursor":{"chainId":1,"genesis":null,"from":3,"number":2,"hashes":[]},"lines":{"file":1}}', 'which holds something else'],
  ])('that holds something else is refused: %s', async (text, why) => {
    const cursor = join(folderOf(), 'cursor.json')
    writeFileSync(cursor, text)
    const { code, stderr } = await hexline(['follow', '--rpc', 'http://127.0.0.1:1', '--cursor', cursor])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `hexline: --cursor: expected a file of hexline follow, or one that does not exist yet, received "${cursor}", ${why}\n`,
    })
    expect(readFileSync(cursor, 'utf8')).toBe(text)
  })

  it('of another chain, and without a name, is named by its flag before anything is written', async () => {
    const server = await serve(new ForkingChain(12).node())
    const path = join(folderOf(), 'cursor.json')
    writeFileSync(path, JSON.stringify({ cursor: { chainId: 5, genesis: null, from: 0, number: -1, hashes: [] } }))
    const run = (file: string) => hexline(['follow', '--rpc', server.url, '--cursor', file])
    expect(await run(path)).toEqual({
      code: 2,
      stdout: '',
      stderr: "hexline: --cursor: expected a cursor of the node's chain (chain id 1), received one of chain id 5\n",
    })
    expect(await run('')).toEqual({ code: 2, stdout: '', stderr: 'hexline: --cursor: expected the name of a file, received an empty one\n' })
  })

  it('in a folder that does not exist is said to be so', async () => {
    const server = await serve(new ForkingChain(12).node())
    const { code, stderr } = await hexline(['follow', '--rpc', server.url, '--cursor', join(folderOf(), 'no', 'cursor.json')])
    expect(code).toBe(2)
    expect(stderr).toMatch(/--cursor: expected a file that can be written, received ".*cursor\.json" \(no such folder\)\n$/)
  })
})

it('says once that the node is down, and that it answers again', async () => {
  const chain = new ForkingChain(12)
  const server = await serve(chain.node())
  const { stderr } = await linesOf(['follow', '--rpc', server.url, '--from', '12', '--json'], 2, (count) => {
    if (count > 1) return
    chain.mine()
    let refusals = 0
    const right = chain.node()
    server.script((request, response) => (refusals++ < 12 ? void response.writeHead(502).end('no') : right(request, response)))
  })
  const types = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).type)
  expect(types.slice(0, 2)).toEqual(['waiting', 'recovered'])
  expect(types.filter((type) => type === 'waiting')).toHaveLength(1)
})

it.each([
  [['--from', '14'], 'waiting for block 14: the newest block is 12\n'],
  [['--from', '14', '--confirmations', '2'], 'waiting for block 14: the newest block with 2 confirmations is 10\n'],
  [['--from', '14', '--confirmations', '13'], 'waiting for block 14: there is no block with 13 confirmations yet\n'],
  [['--confirmations', '13'], 'waiting for the first block with 13 confirmations\n'],
  [['--from', '14', '--confirmations', 'finalized', '--json'], '{"type":"waiting","block":"14","head":"8"}\n'],
])('says once what it waits for where the first block is not there yet: %j', async (flags, expected) => {
  const chain = new ForkingChain(12)
  const server = await serve(chain.node())
  const pieces: string[] = []
  const stderr = new Writable({ write: (piece, _, done) => done(void pieces.push(String(piece))) })
  // A reader that has what it wants, such as `head`.
  const stdout = new Writable({ write: (_, __, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })) })
  const ended = main('0.0.0', { args: ['follow', '--rpc', server.url, ...flags], env: {}, stdout, stderr })
  await eventually(() => expect(pieces).toHaveLength(1))
  // Some looks later it has not been said again.
  await server.received(server.requests.length + 3)
  // Enough for 13 confirmations of block 14.
  chain.mine(16)
  expect(await ended).toBe(0)
  expect(pieces).toEqual([expected])
})

it.each([
  [['--from', 'first'], '--from: expected a block number (decimal or hex) or latest, received "first"'],
  [['--confirmations', '-1'], `--confirmations: expected a whole number of at least 0, 'safe' or 'finalized', received "-1"`],
  [['--confirmations', 'latest'], `--confirmations: expected a whole number of at least 0, 'safe' or 'finalized', received "latest"`],
  [['--receipts', '--logs'], '--receipts: expected no --logs, --address, --event or --topic, since receipts have all logs, received one of them'],
  [['--logs', '--address', CONTRACT], '--logs: expected no --address, --event or --topic with it, received one of them'],
  [['--event', 'Transfer'], '--event: '],
])('%j is refused', async (flags, message) => {
  const { code, stderr } = await hexline(['follow', '--rpc', 'http://127.0.0.1:1', ...flags])
  expect(code).toBe(2)
  expect(stderr.startsWith(`hexline: ${message}`)).toBe(true)
})

it.each([
  [['--out', 'x.ndjson'], '--out: expected redirected output with --to follow, as in `>> blocks.ndjson`, since it has no end, received a file'],
  [['--verify', 'full'], `--verify: expected 'link' with --to follow, received "full"`],
])('blocks --to follow %j is refused', async (flags, message) => {
  const { code, stderr } = await hexline(['blocks', '--rpc', 'http://127.0.0.1:1', '--from', '0', '--to', 'follow', ...flags])
  expect({ code, stderr }).toEqual({ code: 2, stderr: `hexline: ${message}\n` })
})

it('export --to follow adds whole ranges as they become final, and nothing before', async () => {
  const chain = new ForkingChain(30)
  // The newest final block is 4 below the head.
  const server = await serve(chain.node())
  const out = join(folderOf(), 'dataset')
  const args = [
    'export',
    '--rpc',
    server.url,
    '--from',
    '3',
    '--to',
    'follow',
    '--out',
    out,
    '--tables',
    'blocks',
    '--format',
    'ndjson',
    '--blocks-per-file',
    '10',
    '--json',
  ]
  const child = startHexline(args)
  const added: string[] = []
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', (text: string) => {
      for (const line of text.trim().split('\n')) {
        const { type, to } = JSON.parse(line)
        if (type !== 'dataset') continue
        added.push(to)
        chain.reorganise(3, 13)
        if (added.length === 3) resolve()
      }
    })
    void child.ended.then(() => resolve())
  })
  child.kill('SIGINT')
  const { code, stderr } = await child.ended
  expect({ added, code }, stderr).toEqual({ added: ['19', '29', '39'], code: 130 })
  const { ranges } = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'))
  expect(ranges.map(({ from, to, lastHash }: Record<string, unknown>) => [from, to, lastHash])).toEqual([
    [3, 9, chain.hashes[9]],
    [10, 19, chain.hashes[19]],
    [20, 29, chain.hashes[29]],
    [30, 39, chain.hashes[39]],
  ])
})
