import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Lets every thread that could decompress wait for a writer of a pipe, until the test ends or calls
 * the function that it gets. Not for Windows.
 */
export async function holdThreads(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-'))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const held = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, () => open(pipe, 'r'))
  let isHeld = true
  const release = async () => {
    if (!isHeld) return
    isHeld = false
    const writer = openSync(pipe, 'r+')
    for (const file of await Promise.all(held)) await file.close()
    closeSync(writer)
    await rm(folder, { recursive: true })
  }
  onTestFinished(release)
  return release
}
