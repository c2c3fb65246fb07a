import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

/* What the release script refuses before it does anything. */

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

let folder: string
const git = (...args: readonly string[]) => run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder })
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-release-'))
  await cp(join(root, '.ci/release'), join(folder, '.ci/release'), { recursive: true })
  // In place of CI: it must not be reached.
  await writeFile(join(folder, '.ci/run'), 'echo CI is reached >&2; exit 1\n')
  await writeFile(join(folder, 'package.json'), '{ "name": "a", "version": "1.0.0" }')
  await git('init', '--quiet')
  await git('add', '.')
  await git('commit', '--quiet', '--message', 'a')
})
afterAll(() => rm(folder, { recursive: true }))

async function release(...args: readonly string[]): Promise<string> {
  const { stderr } = await run('bash', ['.ci/release', ...args], { cwd: folder }).catch((error) => error)
  return stderr
}

it('tries each entry point of the package', async () => {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json')
  const script = await readFile(join(root, '.ci/release'), 'utf8')
  const tried = script.match(/(?<=^ {2}try ).*/gm)?.flatMap((line) => line.split(' '))
  expect(tried?.toSorted()).toEqual(entries.map((entry) => entry.replace('.', 'hexline')).toSorted())
})

it('reaches CI from a clean checkout, without --publish', async () => {
  expect(await release()).toBe('CI is reached\n')
})

it('publishes nothing whose repository is unknown', async () => {
  expect(await release('--publish')).toBe('release: package.json has no repository, without which nothing proves where the package comes from\n')
})

it('refuses flags that it does not know', async () => {
  expect(await release('--public')).toBe('release: expected --dry-run or --publish, received --public\n')
})

it('refuses a version that is tagged, and a checkout with changes', async () => {
  await git('tag', 'v1.0.0')
  expect(await release()).toBe('release: version 1.0.0 is tagged: raise it in package.json and src/version.ts\n')
  await writeFile(join(folder, 'new'), '')
  expect(await release()).toBe('release: the checkout has changes: commit them, or remove them\n')
})
