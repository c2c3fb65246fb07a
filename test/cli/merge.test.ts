import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { hexline } from '../support/command.ts'
import { digestsOf } from '../support/dataset-kills.ts'
import { FIRST, startValidChain, type ValidChain } from '../support/valid-chain.ts'

const LAST = FIRST + 3
let server: ValidChain
let folder: string
let dir: string
beforeAll(async () => {
  server = await startValidChain(4)
})
afterAll(() => server.close())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-merge-command-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const exported = (out: string, ...args: string[]) =>
  hexline([
    ...['export', '--rpc', server.url, '--from', String(FIRST), '--to', String(LAST), '--out', out, '--format', 'ndjson', '--tables', 'blocks'],
    ...['--blocks-per-file', '2', ...args],
  ])

it('joins what shards exported, which verify and others read as one dataset', async () => {
  const { code, stderr } = await exported(dir, '--shard', '1/2')
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`${dir} has shard 1/2 of blocks 8 to 11: added 1 file, 2 rows, `) })
  expect(await hexline(['verify', dir])).toEqual({
    code: 1,
    stdout: '',
    stderr: `hexline: ${dir} has parts of shards that are not merged: run \`hexline merge ${dir}\` first\n`,
  })
  expect(await hexline(['merge', dir])).toEqual({
    code: 1,
    stdout: '',
    stderr: `hexline: ${dir} lacks shard 2/2: blocks 10 to 11; export them up to block 11, and merge again; nothing was changed\n`,
  })
  const second = await exported(dir, '--shard', '2/2', '--json')
  expect(JSON.parse(second.stderr.trimEnd().split('\n').at(-1) as string)).toMatchObject({ type: 'dataset', shard: { index: 2, of: 2 }, ranges: 1 })
  const { stderr: merged } = await hexline(['merge', dir])
  expect(merged).toMatch(`${dir} has blocks 8 to 11: 2 ranges, 2 files, 4 rows, `)
  expect((await hexline(['verify', dir, '--quiet'])).code).toBe(0)
  await exported(join(folder, 'plain'), '--quiet')
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(folder, 'plain')))
})

it('joins folders of shards into a new one', async () => {
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  await exported(one, '--shard', '1/2', '--quiet')
  await exported(two, '--shard', '2/2', '--quiet')
  const { code, stderr } = await hexline(['merge', one, two, '--into', dir, '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(stderr)).toEqual({ type: 'dataset', from: '8', to: '11', ranges: 2, files: 2, rows: 4, bytes: expect.any(Number) })
  expect(await hexline(['verify', dir, '--quiet'])).toMatchObject({ code: 0, stderr: '' })
})

it.each([
  [['--shard', '0/8'], '--shard: expected a share such as 3/8, from 1/8 to 8/8, received 0/8'],
  [['--shard', '9/8'], '--shard: expected a share such as 3/8, from 1/8 to 8/8, received 9/8'],
  [['--shard', 'https://rpc.example.com/SECRET-KEY'], '--shard: expected a share such as 3/8, from 1/8 to 8/8, received a URL'],
  [['--shard', '3'], '--shard: expected a share such as 3/8, from 1/8 to 8/8, received 3'],
  [['--shard', '1/100001'], '--shard: expected a share of at most 100000 shards, received 1/100001'],
  [['--shard', ''], '--shard: expected a share such as 3/8, from 1/8 to 8/8, received ""'],
  [['--shard', '1/8', '--to', 'follow'], '--shard: expected a last block or finalized with --to: shards share a range that has an end, received --to follow'],
])('wrong use of shards is refused: %j', async (args, message) => {
  expect(await exported(dir, ...args)).toEqual({ code: 2, stdout: '', stderr: `hexline: ${message}\n` })
})

it('leaves no new folder where it fails, and an old one as it was', async () => {
  await exported(dir, '--shard', '1/2', '--quiet')
  const into = join(folder, 'new/below/it')
  const args = ['merge', dir, '--into', into]
  expect(await hexline(args)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${dir} lacks shard 2/2`) })
  expect(await readdir(folder)).toEqual(['data'])
  await mkdir(join(folder, 'new/below'), { recursive: true })
  expect(await hexline(args)).toMatchObject({ code: 1 })
  expect(await readdir(join(folder, 'new'), { recursive: true })).toEqual(['below'])
})

it('wrong folders are refused', async () => {
  const none = join(folder, 'none')
  const refused = (args: string[], message: string) =>
    hexline(['merge', ...args]).then((ended) => expect(ended).toEqual({ code: 2, stdout: '', stderr: `hexline: ${message}\n` }))
  await refused([none], `<folder>: expected a folder, received "${none}", which does not exist`)
  await refused(['https://rpc.example.com/SECRET-KEY'], '<folder>: expected a folder, received a URL, which does not exist')
  await refused([folder, '--into', ''], '--into: expected the path of a folder, received ""')
  expect(await hexline(['merge'])).toMatchObject({ code: 2, stderr: expect.stringContaining("missing required argument 'folder'") })
})
