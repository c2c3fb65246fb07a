import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceFile, writing } from '../../src/dataset/disk.ts'
import { hexline, inShell } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { digestsOf } from '../support/dataset-kills.ts'

let server: DatasetChain
let folder: string
beforeAll(async () => {
  server = await startDatasetChain({ head: 60 })
})
afterAll(() => server.close())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-disk-'))
})
afterEach(() => rm(folder, { recursive: true }))

const argsFor = (dir: string) => [
  ...['export', '--rpc', server.url, '--from', '1', '--to', '60', '--out', dir, '--blocks-per-file', '10', '--quiet'],
  ...['--format', 'ndjson', '--tables', 'blocks,transactions,receipts,logs'],
]

/** The folder of an export that had no trouble. */
async function expected(): Promise<Record<string, string>> {
  const dir = join(folder, 'expected')
  expect(await hexline(argsFor(dir))).toMatchObject({ code: 0, stderr: '' })
  return await digestsOf(dir)
}

/** Whether this process may mount a file system. */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

describe('a disk that runs full', () => {
  it('ends the export with the reason, keeps the whole files and no part of the others; with room, it continues', async () => {
    const whole = await expected()
    const dir = join(folder, 'data')
    await mkdir(dir)
    let stderr: string
    if (canMount) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'none', dir])
      try {
        ;({ stderr } = await hexline(argsFor(dir)))
        expect(stderr).toContain('no space left on the disk')
        await checkLeft()
        execFileSync('mount', ['-o', 'remount,size=10m', dir])
        expect(await hexline(argsFor(dir))).toMatchObject({ code: 0, stderr: '' })
        expect(await digestsOf(dir)).toEqual(whole)
      } finally {
        execFileSync('umount', [dir])
      }
    } else {
      // Without the right to mount, a limit on the size of a file, in KiB: those of the logs exceed
      // it.
      ;({ stderr } = await inShell(`trap '' XFSZ; ulimit -f 12; exec $hexline ${argsFor(dir).join(' ')}`))
      expect(stderr).toContain('the file would be too large')
      await checkLeft()
      expect(await hexline(argsFor(dir))).toMatchObject({ code: 0, stderr: '' })
      expect(await digestsOf(dir)).toEqual(whole)
    }

    async function checkLeft(): Promise<void> {
      expect(stderr).toMatch(/^hexline: .+ cannot be written: .+\n$/)
      const { 'manifest.json': _, ...left } = await digestsOf(dir)
      expect(Object.keys(left).length % 4).toBe(0)
      expect(whole).toMatchObject(left)
    }
  })
})

it('a read-only folder is refused with its reason', async () => {
  const dir = join(folder, 'data')
  await mkdir(dir)
  await chmod(folder, 0o755)
  await chmod(dir, 0o555)
  // Root may write anyway, so it becomes someone else.
  const isRoot = process.getuid?.() === 0
  const { stderr, code } = await inShell(`${isRoot ? 'exec setpriv --reuid 65534 --regid 65534 --clear-groups' : 'exec'} $hexline ${argsFor(dir).join(' ')}`)
  expect({ code, stderr }).toEqual({ code: 1, stderr: `hexline: ${dir}/.lock cannot be written: permission denied\n` })
  expect(await readdir(dir)).toEqual([])
})

it('a file that replaces another is complete, and the other one stays if it cannot be', async () => {
  const path = join(folder, 'file')
  await replaceFile(path, 'one')
  await mkdir(join(folder, 'taken'))
  await expect(replaceFile(join(folder, 'taken'), 'two')).rejects.toThrow(`${join(folder, 'taken')} cannot be written: `)
  expect((await readdir(folder)).sort()).toEqual(['file', 'taken'])
})

it('an error of the system names the path and the reason, and is the cause', async () => {
  const cause = Object.assign(new Error('EROFS'), { code: 'EROFS' })
  await expect(
    writing('/x', () => {
      throw cause
    }),
  ).rejects.toMatchObject({ message: '/x cannot be written: the disk is read-only', cause })
})
