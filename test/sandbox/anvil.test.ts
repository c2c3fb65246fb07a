import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, NetworkError, OptionError } from '../../src/index.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { errorOf } from '../support/server.ts'

/** A folder in which a script is installed as anvil; it is removed when the test ends. */
function installed(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'hexline-anvil-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  for (const name of ['anvil', `anvil-${process.platform}-${arch}/bin`]) mkdirSync(join(folder, 'node_modules/@foundry-rs', name), { recursive: true })
  writeFileSync(join(folder, 'node_modules/@foundry-rs/anvil/package.json'), '{}')
  const bin = join(folder, `node_modules/@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`)
  writeFileSync(bin, `#!/bin/sh\n${script}\n`)
  chmodSync(bin, 0o755)
  return join(folder, 'package.json')
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('anvil', () => {
  it('serves the given chain on a free port, until it is stopped', async () => {
    const [one, two] = await Promise.all([startAnvil(8453), startAnvil(1)])
    onTestFinished(async () => void (await Promise.all([one.stop(), two.stop()])))
    await using client = createClient(one.url, { retry: false })
    expect(await client.call('eth_chainId')).toBe(8453)
    expect(two.url).not.toBe(one.url)
    await one.stop()
    await expect(client.call('eth_chainId')).rejects.toThrow(NetworkError)
    await one.stop()
  })

  it('is looked up in several places, in order', async () => {
    const nowhere = join(tmpdir(), 'hexline-nowhere/package.json')
    const { url, stop } = await startAnvil(1, [nowhere, installed('echo "Listening on 127.0.0.1:12345"; exec sleep 600')])
    onTestFinished(stop)
    expect(url).toBe('http://127.0.0.1:12345')
  })

  it('that is not installed is an OptionError with the command to install it', async () => {
    const error = await errorOf(startAnvil(1, [join(tmpdir(), 'hexline-nowhere/package.json')]))
    expect(error).toBeInstanceOf(OptionError)
    expect(error.message).toContain('npm install --save-dev @foundry-rs/anvil')
  })

  it.each([
    ['exits', 'echo "address in use" >&2; exit 3', 'anvil exited with code 3: address in use'],
    ['says nothing and exits', 'exit 0', 'anvil exited with code 0'],
  ])('that %s at its start is a NetworkError with its last words', async (_, script, message) => {
    const error = await errorOf(startAnvil(1, [installed(script)]))
    expect(error).toBeInstanceOf(NetworkError)
    expect(error.message).toBe(message)
  })

  it('that ignores SIGTERM is killed', async () => {
    // Its process id stands in for the port.
    const { url, stop } = await startAnvil(1, [installed('trap "" TERM; echo "Listening on 127.0.0.1:$$"; while :; do sleep 1; done')])
    const pid = Number(url.split(':')[2])
    expect(isRunning(pid)).toBe(true)
    await stop()
    expect(isRunning(pid)).toBe(false)
  })
})
