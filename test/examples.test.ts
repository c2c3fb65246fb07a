import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startAnvil } from './support/anvil.ts'
import { nightly } from './support/runs.ts'
import { deadPort } from './support/server.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs an example as its first lines say, and returns its output. */
function example(name: string, url: string) {
  return run(process.execPath, ['--import', 'tsx', `examples/${name}.ts`, url], { cwd: root })
}

describe('examples/viem.ts', () => {
  it('runs on a fresh node, and exits on its own', async () => {
    const anvil = await startAnvil({ pruneHistory: true })
    onTestFinished(() => anvil.stop())
    const { stdout } = await example('viem', anvil.url)
    expect(stdout.trimEnd().split('\n')).toEqual([
      '20 accounts received 10 ETH',
      'their blocks hold 20 transactions, which used 420000 gas',
      expect.stringMatching(/^TransactionExecutionError: The total cost .* exceeds the balance/),
    ])
  })

  it.each(nightly('a missing node'))('reports %s', async () => {
    const failure = await example('viem', `http://127.0.0.1:${await deadPort()}`).catch((error) => error)
    expect(failure).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^HttpRequestError: HTTP request failed\. 127\.0\.0\.1:\d+: no connection.*ECONNREFUSED/),
    })
  })
})

describe('examples/ethers.ts', () => {
  it('runs on a fresh node, and exits on its own', async () => {
    const anvil = await startAnvil()
    onTestFinished(() => anvil.stop())
    const { stdout } = await example('ethers', anvil.url)
    expect(stdout.trimEnd().split('\n')).toEqual([
      '20 accounts received 10.0 ETH',
      'their blocks hold 20 transactions, worth 10.0 ETH',
      expect.stringMatching(/^INSUFFICIENT_FUNDS: insufficient funds/),
    ])
  })

  it.each(nightly('a missing node'))('reports %s', async () => {
    const failure = await example('ethers', `http://127.0.0.1:${await deadPort()}`).catch((error) => error)
    expect(failure).toMatchObject({ code: 1, stdout: expect.stringMatching(/^NETWORK_ERROR: 127\.0\.0\.1:\d+: no connection.*ECONNREFUSED/) })
  })
})
