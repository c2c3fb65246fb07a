import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

/* Copies of the built file, where a package or a bundle would have it. */

const built = (path: string) => fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-worker-file-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** Copies the module, without the place of its source map. */
async function copyAs(name: string): Promise<void> {
  const text = await readFile(built('src/verify/worker-file.js'), 'utf8')
  await writeFile(join(dir, name), text.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
}

/** What a copy under this name finds. */
async function foundBy(name: string): Promise<string | undefined> {
  await copyAs(name)
  const { workerFile } = await import(pathToFileURL(join(dir, name)).href)
  return workerFile('worker')
}

describe('the file of a worker', () => {
  test('is the one beside this module, in both builds', async () => {
    const { workerFile } = await import(pathToFileURL(built('src/verify/worker-file.js')).href)
    expect(workerFile('worker')).toBe(built('src/verify/worker.js'))
    expect(createRequire(import.meta.url)('../../dist/cjs/src/verify/worker-file.js').workerFile('worker')).toBe(built('cjs/src/verify/worker.js'))
  })

  test('has the extension of the module', async () => {
    await writeFile(join(dir, 'worker.mjs'), '')
    expect(await foundBy('worker-file.mjs')).toBe(join(dir, 'worker.mjs'))
  })

  test('is undefined in a bundle, whatever stands beside it', async () => {
    await writeFile(join(dir, 'worker.mjs'), '')
    expect(await foundBy('bundle.mjs')).toBeUndefined()
  })

  test('is undefined where it does not exist', async () => expect(await foundBy('worker-file.mjs')).toBeUndefined())

  test('is found in a process that changes stacks, and the change stays', async () => {
    await copyAs('worker-file.mjs')
    await writeFile(join(dir, 'worker.mjs'), '')
    const program = `
      Error.prepareStackTrace = () => 'changed'
      const { workerFile } = await import('./worker-file.mjs')
      console.log(workerFile('worker'), new Error('x').stack)
    `
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd: dir })
    expect(stdout.trim()).toBe(`${join(dir, 'worker.mjs')} changed`)
  })
})
