import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CreateAnvilOptions, createAnvil } from '@viem/anvil'

export interface Anvil {
  readonly url: string
  stop(): Promise<void>
}

/** Starts anvil, a real node, on a free port of the loopback interface. */
export async function startAnvil(options: CreateAnvilOptions = {}): Promise<Anvil> {
  // Anvil writes the states of older blocks to disk, by default below the home directory, and
  // leaves them there when it is stopped.
  const states = await mkdtemp(join(tmpdir(), 'hexline-anvil-'))
  const settings = { host: '127.0.0.1', startTimeout: 300_000, stopTimeout: 60_000, ...options, port: 0, cachePath: states }
  const anvil = createAnvil({ anvilBinary: anvilBinary(), ...settings })
  let port: string | undefined
  // With port 0 the system picks a free one, which anvil prints.
  anvil.on('stdout', (text) => {
    port ??= /Listening on \S+:(\d+)/.exec(text)?.[1]
  })
  const stop = async () => {
    await anvil.stop()
    await rm(states, { recursive: true, force: true })
  }
  await anvil.start()
  if (port === undefined) throw new Error(`anvil does not say where it listens: ${anvil.logs.join('')}`)
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** The binary is in a separate package for each platform. */
function anvilBinary(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'))
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const suffix = process.platform === 'win32' ? '.exe' : ''
  return require.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil${suffix}`)
}
