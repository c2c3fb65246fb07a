import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const cwd = fileURLToPath(new URL('../../', import.meta.url))
const program = ['--import', 'tsx', 'demo/run.ts', '100']

describe('npm run demo', () => {
  it('ends by a signal, and leaves no process behind', async () => {
    const demo = spawn(process.execPath, program, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void demo.kill('SIGKILL'))
    await new Promise<void>((resolve) => {
      demo.stdout.setEncoding('utf8').on('data', (chunk) => {
        if (chunk.includes('default settings')) resolve()
      })
    })
    const started = execFileSync('ps', ['-o', 'pid=', '--ppid', `${demo.pid}`], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
    const anvils = started.filter((pid) => existsSync(`/proc/${pid}/exe`))
    expect(anvils.length).toBeGreaterThan(0)
    demo.kill('SIGINT')
    expect(await once(demo, 'exit')).toEqual([130, null])
    await expect.poll(() => anvils.filter((pid) => existsSync(`/proc/${pid}/exe`))).toEqual([])
  })
})
