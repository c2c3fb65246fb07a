import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ChainServer, startChain } from '../support/chain-server.ts'
import { inShell, startHexline } from '../support/command.ts'
import { nightly } from '../support/runs.ts'

let folder: string
let server: ChainServer
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-resume-'))
  server = await startChain({ head: 3000, inputBytes: 500 })
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const blocks = (to: number) => `$hexline blocks --rpc ${server.url} --from 0 --to ${to}`

/** The number of a file's complete lines, each checked, and whether part of a line follows. */
async function contentOf(path: string): Promise<{ lines: number; isCut: boolean }> {
  const parts = (await readFile(path, 'utf8')).split('\n')
  const rest = parts.pop()
  for (const [number, line] of parts.entries()) expect(Number(JSON.parse(line).number)).toBe(number)
  return { lines: parts.length, isCut: rest !== '' }
}

/** Asserts that the hint is the first missing block, and mentions a partial line. */
async function expectTrueHint(stderr: string, path: string, reason: string): Promise<void> {
  const { lines, isCut } = await contentOf(path)
  const said = stderr.replace(/^\d+ % \|.*\n/gm, '')
  const cut = isCut ? `the output ends in the middle of the line of block ${lines}: remove that part, and ` : ''
  expect(said).toBe(`hexline: standard output cannot be written: ${reason}; ${cut}continue with --from ${lines}\n`)
}

describe('the hint to continue counts the lines of the file', () => {
  it('when the disk is full', async () => {
    // A size limit has the effect of a full disk; where disks can be mounted, a full one is tried.
    const disk = join(folder, 'disk')
    await mkdir(disk)
    let isMounted = false
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'ignore' })
      isMounted = true
    } catch {}
    try {
      const { code, stderr } = await inShell(`${isMounted ? '' : 'ulimit -f 1024; '}${blocks(3000)} > ${disk}/y`)
      expect(code).toBe(1)
      await expectTrueHint(stderr, join(disk, 'y'), isMounted ? 'no space left on the disk' : 'the file would be too large')
    } finally {
      if (isMounted) execFileSync('umount', [disk])
    }
  })

  it.each([256, ...nightly(7, 1021)])('when the file may have %i kB', async (kilobytes) => {
    const { code, stderr } = await inShell(`ulimit -f ${kilobytes}; ${blocks(3000)} > ${folder}/y`)
    expect(code).toBe(1)
    await expectTrueHint(stderr, join(folder, 'y'), 'the file would be too large')
  })

  it('is absent when nothing could be written', async () => {
    const [limit, path, reason] = existsSync('/dev/full')
      ? ['', '/dev/full', 'no space left on the disk']
      : ['ulimit -f 0; ', `${folder}/y`, 'the file would be too large']
    expect(await inShell(`${limit}${blocks(3000)} > ${path}`)).toEqual({
      code: 1,
      stdout: '',
      stderr: `hexline: standard output cannot be written: ${reason}; nothing was written\n`,
    })
  })

  it.each(nightly('JSON'))('as %s, too', async () => {
    const { stderr } = await inShell(`ulimit -f 64; ${blocks(3000)} --json > ${folder}/y`)
    const { lines, isCut } = await contentOf(join(folder, 'y'))
    const said = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string)
    expect(said).toMatchObject({ type: 'error', next: String(lines), exitCode: 1 })
    expect(said.isCut ?? false).toBe(isCut)
  })

  it('after Ctrl-C', async () => {
    // Block 2500 is never answered, so the command is stopped in the middle.
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const slow = await startChain({
      head: 3000,
      gate: (calls) => {
        if (!calls.some(({ params }) => params[0] === '0x9c4')) return
        asked()
        return new Promise(() => {})
      },
    })
    const running = inShell(`exec $hexline blocks --rpc ${slow.url} --from 0 --to 3000 > ${folder}/y & echo $! > ${folder}/pid; wait $!`)
    await isAsked
    process.kill(Number(await readFile(join(folder, 'pid'), 'utf8')), 'SIGINT')
    const { code, stderr } = await running
    await slow.close()
    expect(code).toBe(130)
    const { lines, isCut } = await contentOf(join(folder, 'y'))
    expect(isCut).toBe(false)
    expect(stderr).toContain(`hexline: ended by Ctrl-C; continue with --from ${lines}\n`)
  })
})

describe('through a pipe', () => {
  it('a reader that is gone after Ctrl-C gets no hint, since its position is unknown', async () => {
    const long = await startChain({ head: 100, inputBytes: 1_000_000 })
    const child = startHexline(['blocks', '--rpc', long.url, '--from', '0', '--to', '100'])
    child.stdout?.once('data', () => {
      child.stdout?.pause()
      child.kill('SIGINT')
    })
    let told = ''
    child.stderr?.on('data', (text) => {
      told += text
      // A busy machine may first have waited for the node.
      if (told.includes('waiting for the reader')) child.stdout?.destroy()
    })
    const { code, stderr } = await child.ended
    await long.close()
    expect(code).toBe(130)
    expect(stderr).toMatch(/^waiting for the reader of the output\nhexline: ended by Ctrl-C\n$/)
  })
})

it.each(nightly('other output'))('%s is not cut silently either', async () => {
  for (const args of ['call eth_blockNumber', 'call eth_blockNumber --raw', 'probe --quiet --no-rate'])
    expect(await inShell(`ulimit -f 0; $hexline ${args} --rpc ${server.url} > ${folder}/y`)).toMatchObject({
      code: 1,
      stderr: 'hexline: standard output cannot be written: the file would be too large; nothing was written\n',
    })
})
