import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const cwd = fileURLToPath(new URL('../../', import.meta.url))
const program = ['--import', 'tsx', 'demo/run.ts', '100']

describe('npm run demo, with 100 blocks', () => {
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

  it('shows both clients in 80 columns, and ends with the answer of a query', async () => {
    const command = `stty cols 80 rows 40 && ${process.execPath} --import tsx demo/run.ts 100`
    const demo = spawn('script', ['-qec', command, '/dev/null'], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const [output, [code]] = await Promise.all([text(demo.stdout), once(demo, 'close')])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those of the terminal
    const lines = output.replaceAll(/\x1b\[\??[\d;]*[a-zA-Z]/g, '\n').split(/[\r\n]+/)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    expect(lines).toContainEqual(expect.stringMatching(/^hexline █+ 100 % 100 blocks$/))
    expect(lines).toContainEqual(expect.stringMatching(/^viem +█*░* +\d+ % +\d+ blocks/))
    expect(lines).toContain("demo/out/blocks.ndjson has 100 lines: the node's own JSON, one block a line.")
    expect(lines).toContainEqual(expect.stringMatching(/^5 files verified in [\d.]+ s without the node: /))
    expect(lines).toContainEqual(expect.stringMatching(/^0x[0-9a-f]{40} +\d+$/))
    expect(lines.filter((line) => line !== '').at(-1)).toMatch(/^3 rows in [\d.]+ s$/)
    expect(code).toBe(0)
  })
})
