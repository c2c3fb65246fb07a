import { execFileSync } from 'node:child_process'
import { lstat, mkdtemp, open, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fileOutput, nameWithoutLinks } from '../../../src/cli/output/file-output.ts'
import { type ChainOptions, type ChainServer, startChain } from '../../support/chain-server.ts'
import { hexline, spawnHexline } from '../../support/command.ts'
import { errorOf } from '../../support/server.ts'

let folder: string
let out: string
let server: ChainServer | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-out-'))
  out = join(folder, 'blocks.ndjson')
})
afterEach(async () => {
  await server?.close()
  server = undefined
  await rm(folder, { recursive: true })
})

/** `hexline blocks` of 0 to 3 into `out`; `gate` is called while they are fetched. */
async function blocks(args: readonly string[] = [], gate?: ChainOptions['gate']) {
  await server?.close()
  server = await startChain({ head: 3, ...(gate && { gate }) })
  return hexline(['blocks', '--rpc', server.url, '--from', '0', '--to', '3', '--quiet', '--out', out, ...args])
}

const linesOf = async (path: string) => (await readFile(path, 'utf8')).trimEnd().split('\n').length

it('a pipe whose reader leaves ends the output without an error', async () => {
  execFileSync('mkfifo', [out])
  const reading = open(out)
  const output = await fileOutput(out, false)
  await (await reading).close()
  await output.write([Buffer.from('{}\n')])
  expect(output.isClosedByReader).toBe(false)
  await errorOf(output.commit())
  expect(output.isClosedByReader).toBe(true)
  await output.abandon(() => {})
})

describe('a name that is taken during the job', () => {
  it('by a file: that is unchanged, and the output is kept beside it', async () => {
    const { code, stderr } = await blocks([], () => writeFile(out, 'mine'))
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `hexline: another program created ${out} in the meantime, and it was not replaced: the output is in ${out}.2\n`,
    })
    expect(await readFile(out, 'utf8')).toBe('mine')
    expect(await linesOf(`${out}.2`)).toBe(4)
    expect(await readdir(folder)).toEqual(['blocks.ndjson', 'blocks.ndjson.2'])
  })

  it('by a broken link: the same', async () => {
    expect((await blocks([], () => symlink('nowhere', out).catch(() => {}))).code).toBe(1)
    expect(await readlink(out)).toBe('nowhere')
    expect(await readdir(folder)).toEqual(['blocks.ndjson', 'blocks.ndjson.2'])
  })

  it('by a second writer: one of them gets it, and both outputs are kept', async () => {
    let begun = 0
    let open = () => {}
    const bothBegan = new Promise<void>((resolve) => {
      open = resolve
    })
    // Neither gets its blocks before both have started.
    server = await startChain({
      head: 3,
      gate: (calls) => {
        if (calls.some(({ method }) => method === 'eth_blockNumber') && ++begun === 2) open()
        return bothBegan
      },
    })
    const args = ['blocks', '--rpc', server.url, '--from', '0', '--to', '3', '--quiet', '--out', out]
    const codes = (await Promise.all([spawnHexline(args), spawnHexline(args)])).map(({ code }) => code)
    expect(codes.sort()).toEqual([0, 1])
    expect(await readdir(folder)).toEqual(['blocks.ndjson', 'blocks.ndjson.2'])
  })

  it('is replaced with --force', async () => {
    expect((await blocks(['--force'], () => writeFile(out, 'mine'))).code).toBe(0)
    expect(await linesOf(out)).toBe(4)
  })
})

describe('a link', () => {
  it.each([
    ['to a file', 'file', 'which exists'],
    ['to nothing', 'none', 'which is a broken link'],
  ])('%s is not written without --force; with it, its target is', async (_, name, what) => {
    const target = join(folder, name)
    await symlink(name, join(folder, 'inner'))
    await symlink('inner', out)
    if (name === 'file') await writeFile(target, 'mine')
    const refused = await blocks()
    expect(refused).toMatchObject({ code: 2, stderr: `hexline: --out: expected a file that does not exist yet, or --force, received "${out}", ${what}\n` })
    expect(server?.calls).toEqual([])
    expect(await blocks(['--force'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await linesOf(target)).toBe(4)
    expect((await lstat(out)).isSymbolicLink()).toBe(true)
    expect((await readdir(folder)).sort()).toEqual(['blocks.ndjson', 'inner', name].sort())
  })

  it('to itself is reported', async () => {
    await symlink('blocks.ndjson', out)
    expect(await blocks(['--force'])).toMatchObject({ code: 2, stderr: expect.stringContaining('(too many levels of symbolic links)') })
  })
})

it('without hard links, a name is also taken only if it is free, and once', async () => {
  const sources = ['a', 'b', 'c'].map((name) => join(folder, name))
  for (const source of sources) await writeFile(source, source)
  const given = await Promise.all(sources.map((source) => nameWithoutLinks(source, out)))
  expect(given.filter(Boolean)).toHaveLength(1)
  expect(await readFile(out, 'utf8')).toBe(sources[given.indexOf(true)])
  expect(await readdir(folder)).toHaveLength(3)
})
