import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const cwd = fileURLToPath(new URL('../../', import.meta.url))
describe('npm run demo, with 100 blocks', () => {
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
