import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from './support/installed-package.ts'
import { hasRedis, startRedis } from './support/redis.ts'

describe.runIf(hasRedis)('examples/scale/compose.yaml', () => {
  it('runs the worker so that SIGTERM, as docker sends it to the first process, ends it in order', async () => {
    const redis = await startRedis()
    onTestFinished(() => redis.stop())
    const [, words] = /command: \[sh, -c, "(.*)"\]/.exec(await readFile(join(root, 'examples/scale/compose.yaml'), 'utf8')) as unknown as [string, string]

    // The package is already there: `hexline` is the build, and `npm` has nothing to install.
    const folder = await mkdtemp(join(tmpdir(), 'hexline-compose-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'hexline'), `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/src/cli/bin.js')}' "$@"\n`)
    await writeFile(join(folder, 'npm'), '#!/bin/sh\n')
    for (const name of ['hexline', 'npm']) await chmod(join(folder, name), 0o755)

    const child = spawn('sh', ['-c', words], {
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, HEXLINE_REDIS_URL: redis.url, HEXLINE_RPC_URL: 'http://127.0.0.1:1' },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const closed = once(child, 'close')
    const said: string[] = []
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line)
      if (line === 'waiting for ranges') child.kill('SIGTERM')
    }
    expect(await closed).toEqual([0, null])
    expect(said).toEqual(['waiting for ranges', 'SIGTERM: finishing, or giving back, its ranges'])
  })
})
