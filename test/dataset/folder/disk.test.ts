import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cannotRead, lookAt, replaceFile, writing } from '../../../src/dataset/folder/disk.ts'
import { hexline, inShell } from '../../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'

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

/** Before a command: root may read and write anyway, so it becomes someone else. */
const asOther = process.getuid?.() === 0 ? 'setpriv --reuid 65534 --regid 65534 --clear-groups ' : ''

it('a read-only folder is refused with its reason', async () => {
  const dir = join(folder, 'data')
  await mkdir(dir)
  await chmod(folder, 0o755)
  await chmod(dir, 0o555)
  const { stderr, code } = await inShell(`exec ${asOther}$hexline ${argsFor(dir).join(' ')}`)
  expect({ code, stderr }).toEqual({ code: 1, stderr: `hexline: ${dir}/.lock cannot be written: permission denied\n` })
  expect(await readdir(dir)).toEqual([])
})

it('what may not be read is not called missing, but named with the reason', async () => {
  const dir = join(folder, 'data')
  expect(await hexline(argsFor(dir))).toMatchObject({ code: 0, stderr: '' })
  await chmod(folder, 0o755)
  const says = async (...args: string[]) => {
    const { code, stderr } = await inShell(`exec ${asOther}$hexline ${args.join(' ')}`)
    expect(code).toBe(1)
    return stderr.trimEnd()
  }
  const first = '000000001-000000009.ndjson'
  const commands = [
    ['verify', dir],
    ['sql', dir, '"select 1"'],
  ]
  for (const [path, mode, named] of [
    [`${dir}/logs`, 0o755, `logs/${first}`],
    [`${dir}/manifest.json`, 0o644, 'manifest.json'],
    [dir, 0o755, '(?:manifest\\.json|parts)'],
  ] as const) {
    await chmod(path, 0)
    for (const command of commands) expect(await says(...command)).toMatch(new RegExp(`^hexline: ${dir}/${named} cannot be read: permission denied$`))
    await chmod(path, mode)
  }
  for (const table of ['blocks', 'logs']) {
    await chmod(join(dir, table, first), 0)
    expect(await says('verify', dir)).toBe(`hexline: ${dir}/${table}/${first} cannot be read: permission denied`)
    await chmod(join(dir, table, first), 0o644)
  }
  await chmod(folder, 0)
  for (const command of [...commands, ['merge', dir]]) expect(await says(...command)).toBe(`hexline: ${dir} cannot be read: permission denied`)
  await chmod(folder, 0o755)
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

it('only what is not there counts as nothing, and only errors of the system are put in words', async () => {
  expect(await lookAt(join(folder, 'none/below'))).toBeUndefined()
  const stale = Object.assign(new Error('ESTALE'), { code: 'ESTALE', syscall: 'lstat' })
  await expect(lookAt('/x', () => Promise.reject(stale))).rejects.toMatchObject({ message: '/x cannot be read: the network share has lost it', cause: stale })
  const other = new Error('other')
  expect(cannotRead('/x', other)).toBe(other)
  expect(cannotRead('/x', Object.assign(new Error('gone'), { code: 'ENOENT', syscall: 'open' }))).toMatchObject({
    message: '/x cannot be read: it does not exist',
  })
})
