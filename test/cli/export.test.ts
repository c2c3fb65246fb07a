import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readCheckedManifest } from '../../src/dataset/folder/check-manifest.ts'
import { hexline, inShell, startHexline } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { nightly } from '../support/runs.ts'

let server: DatasetChain
let onPost: () => void | Promise<void> = () => {}
let folder: string
let dir: string
beforeAll(async () => {
  server = await startDatasetChain({ head: 60, gate: () => onPost() })
})
afterAll(() => server.close())
beforeEach(async () => {
  onPost = () => {}
  folder = await mkdtemp(join(tmpdir(), 'hexline-export-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const run = (...args: string[]) => hexline(['export', '--rpc', server.url, '--from', '1', '--out', dir, '--format', 'ndjson', ...args])

describe('hexline export', () => {
  it('says what it added, and what the folder has', async () => {
    const first = await run('--to', '9', '--tables', 'blocks, logs')
    expect({ ...first, stderr: first.stderr.replace(/in .*/, 'in …') }).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^9 blocks, .* in …/),
    })
    expect(first.stderr).toContain(`${dir} has blocks 1 to 9: added 2 files, `)
    expect((await run('--to', '9', '--tables', 'logs,blocks')).stderr).toBe(`${dir} has blocks 1 to 9: nothing to add\n`)
    const { stderr } = await run('--to', 'latest', '--tables', 'logs,blocks', '--json')
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.at(-1)).toMatchObject({ type: 'dataset', from: '1', to: '60', ranges: 1, files: 2 })
    expect((await readdir(dir)).sort()).toEqual(['blocks', 'logs', 'manifest.json'])
  })

  it('takes columns and the size of files', async () => {
    const { code } = await hexline([
      'export',
      '--rpc',
      server.url,
      '--from',
      '1',
      '--to',
      '20',
      '--out',
      dir,
      '--columns',
      'blocks.number,transactions.hash',
      '--blocks-per-file',
      '10',
      '--quiet',
    ])
    expect(code).toBe(0)
    const manifest = JSON.parse(await readFile(join(dir, 'manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ format: 'parquet', blocksPerFile: 10, columns: { blocks: ['number'], transactions: ['hash'] } })
    expect(manifest.ranges).toHaveLength(3)
  })

  it.each<[string, string[], string]>([
    ['tables', ['--to', '9', '--tables', 'traces'], '--tables: expected only blocks, transactions'],
    ['columns', ['--to', '9', '--columns', 'logs.data'], '--columns: expected no columns with NDJSON'],
    ['size of files', ['--to', '9', '--blocks-per-file', '0'], '--blocks-per-file: expected'],
    ['range', ['--to', '0'], '--to: expected at least the first block'],
    ['range', ['--to', '61'], "--to: expected at most the node's latest block, 60"],
  ])('refuses an invalid %s as wrong usage, and writes nothing', async (_, args, message) => {
    const { code, stderr } = await run(...args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(await readdir(folder)).toEqual([])
  })

  it('refuses other options than the folder was started with, by their flags', async () => {
    await run('--to', '9')
    const { code, stderr } = await run('--to', '9', '--format', 'ndjson.gz')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `hexline: --format: expected ndjson, which ${dir} was started with, received ndjson.gz; nothing was changed\n`,
    })
    await run('--to', '9', '--tables', 'blocks', '--out', join(folder, 'blocks'))
    expect((await run('--to', '9', '--out', join(folder, 'blocks'))).stderr).toBe(
      `hexline: --tables: expected blocks, which ${join(folder, 'blocks')} was started with, received blocks, transactions, the default; nothing was changed\n`,
    )
  })

  it('refuses a node of another chain, by its flag', async () => {
    await run('--to', '9')
    const other = await startDatasetChain({ head: 60, answer: ({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined) })
    const { code, stderr } = await hexline(['export', '--rpc', other.url, '--from', '1', '--to', '19', '--out', dir, '--format', 'ndjson']).finally(() =>
      other.close(),
    )
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('hexline: --rpc: expected a node of chain id 1, which ') })
  })

  it('ends with 1 when another process has the folder, and says which', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    let posts = 0
    // The first process has locked the folder when it asks for blocks; it gets them at the end.
    onPost = () => {
      if (++posts <= 2) return undefined
      begun()
      return gate
    }
    const args = ['export', '--rpc', server.url, '--from', '1', '--to', '60', '--out', dir, '--quiet', '--batch', '100']
    const first = startHexline(args)
    await hasBegun
    const holder = JSON.parse(await readFile(join(dir, '.lock'), 'utf8'))
    expect(holder.pid).toBe(first.pid)
    onPost = () => {}
    expect(await hexline(args)).toMatchObject({ code: 1, stderr: `hexline: ${dir} is in use by process ${first.pid}\n` })
    open()
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it.each([['SIGINT', 130, 'Ctrl-C'], ...nightly(['SIGTERM', 143, 'SIGTERM'] as const)] as const)(
    'ends at %s with a folder that the same command continues',
    async (signal, code, name) => {
      const args = ['export', '--rpc', server.url, '--from', '1', '--to', '60', '--out', dir, '--blocks-per-file', '5', '--batch', '5', '--quiet']
      let posts = 0
      const child = startHexline(args)
      onPost = () => {
        if (++posts === 8) child.kill(signal)
        return posts < 8 ? undefined : new Promise(() => {})
      }
      expect(await child.ended).toMatchObject({ code, stderr: `hexline: ended by ${name}; the same command continues ${dir}\n` })
      onPost = () => {}
      expect((await readdir(dir, { recursive: true })).filter((each) => /\.partial|\.lock/.test(each))).toEqual([])
      expect((await startHexline(args).ended).code).toBe(0)
    },
  )

  it('leaves no file that the manifest does not name, where the manifest is the first that has no room', async () => {
    const command = `$hexline export --rpc ${server.url} --from 1 --to 60 --out ${dir} --format ndjson --tables blocks --blocks-per-file 1 --quiet`
    const failed = await inShell(`ulimit -f 8; ${command}`)
    expect(failed).toEqual({ code: 1, stdout: '', stderr: `hexline: ${dir}/manifest.json cannot be written: the file would be too large\n` })
    const named = async () => (await readCheckedManifest(dir)).ranges.flatMap(({ files }) => files.map(({ name }) => name))
    const there = async () => (await readdir(join(dir, 'blocks'))).map((name) => `blocks/${name}`).sort()
    expect(await there()).toEqual(await named())
    expect(await inShell(command)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await there()).toEqual(await named())
    expect(await named()).toHaveLength(60)
  })

  it('names the folder that ends with a block which the node has replaced', async () => {
    expect(await run('--to', '9', '--quiet')).toMatchObject({ code: 0 })
    const other = await startDatasetChain({ head: 60, branch: () => 'c' })
    const { code, stderr } = await hexline(['export', '--rpc', other.url, '--from', '1', '--to', '20', '--out', dir, '--format', 'ndjson', '--quiet'])
    await other.close()
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^hexline: block 10 names 0x[0-9a-f]{64} as its parent, but /)])
    expect(stderr).toContain(`but ${dir} ends with block 9 as 0x`)
  })

  it('as a shard, leaves nothing where there is no room to say who writes', async () => {
    const { code, stderr } = await inShell(`ulimit -f 0; $hexline export --rpc ${server.url} --from 1 --to 9 --out ${dir} --shard 1/1`)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\/process\.json cannot be written: the file would be too large\n$/)])
    expect(await readdir(dir)).toEqual([])
  })
})
