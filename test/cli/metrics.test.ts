import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hexline, startHexline } from '../support/command.ts'
import { type DatasetChain, startDatasetChain } from '../support/dataset-chain.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { nightly } from '../support/runs.ts'
import { serve } from '../support/server.ts'

let server: DatasetChain
/** What each POST waits for. */
let gate: () => void | Promise<void> = () => {}
beforeAll(async () => {
  server = await startDatasetChain({ head: 60, gate: () => gate() })
})
afterAll(() => server.close())

/** The address of the metrics, as a command says it on stderr. */
function addressFrom(child: ReturnType<typeof startHexline>): Promise<string> {
  let text = ''
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (piece: string) => {
      text += piece
      const [, url] = /^metrics: (\S+)$/m.exec(text) ?? []
      if (url !== undefined) resolve(url)
    })
    void child.ended.then(() => reject(new Error(`it has ended: ${text}`)))
  })
}

const sum = (text: string, name: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)

describe('--metrics', () => {
  it.each<[string, 'goes on' | 'is ended', number]>([
    ['export', 'goes on', 0],
    ...nightly<[string, 'goes on' | 'is ended', number]>(['blocks', 'goes on', 0], ['logs', 'is ended', 130]),
  ])('serves metrics while `%s` runs, and no longer', async (command, then, code) => {
    const folder = mkdtempSync(join(tmpdir(), 'hexline-metrics-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let posts = 0
    const held = new Promise<void>((resolve) => {
      gate = () => {
        if (++posts < 2) return
        resolve()
        return released
      }
    })
    onTestFinished(() => {
      release()
      gate = () => {}
    })
    const child = startHexline([command, '--rpc', server.url, '--from', '1', '--to', '40', '--batch', '5', '--out', join(folder, 'out'), '--metrics', ':0'])
    const url = await addressFrom(child)
    await held
    const text = await (await fetch(url)).text()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
    expect(sum(text, 'hexline_posts_total')).toBeGreaterThan(0)
    expect(text).toMatch(/^hexline_posts_in_flight [1-9]/m)
    if (then === 'goes on') release()
    else child.kill('SIGINT')
    expect((await child.ended).code).toBe(code)
    await expect(fetch(url)).rejects.toThrow()
  })

  it('serves metrics while `follow` runs until it is ended', async () => {
    const node = await serve(new ForkingChain(12).node())
    const child = startHexline(['follow', '--rpc', node.url, '--from', '10', '--metrics', '127.0.0.1:0'])
    const url = await addressFrom(child)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const text = await (await fetch(url)).text()
    expect(sum(text, 'hexline_calls_total')).toBeGreaterThan(0)
    expect(sum(text, 'hexline_call_duration_seconds_count')).toBe(sum(text, 'hexline_calls_total'))
    child.kill('SIGINT')
    expect((await child.ended).code).toBe(130)
    await expect(fetch(url)).rejects.toThrow()
  })

  it('fails at once if the port is in use, before anything is sent or written', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const address = `:${(other.address() as AddressInfo).port}`
    const before = server.posts
    const { code, stdout, stderr } = await hexline(['blocks', '--rpc', server.url, '--from', '1', '--to', '40', '--metrics', address])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: `hexline: --metrics: expected an address to listen at, received ${address} (in use)\n`,
    })
    expect(server.posts).toBe(before)
  })

  it('refuses what is no address', async () => {
    const { code, stderr } = await hexline(['follow', '--rpc', server.url, '--metrics', 'http://localhost/'])
    expect(code).toBe(2)
    expect(stderr).toContain('--metrics: expected a port, such as :9464, or HOST:PORT, received a URL')
  })

  it('says the address as a line of JSON with --json, and nothing with --quiet', async () => {
    const args = ['blocks', '--rpc', server.url, '--from', '1', '--to', '2', '--metrics', ':0']
    const { stderr } = await hexline([...args, '--json'])
    expect(JSON.parse(stderr.split('\n')[0] as string)).toEqual({ type: 'metrics', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/) })
    expect((await hexline([...args, '--quiet'])).stderr).toBe('')
  })
})
