import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Contract, id, Wallet } from 'ethers'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Anvil, startAnvil } from '../../support/anvil.ts'
import { alice, askNode, bob, carol, failureOf, fast, lineUrl } from '../../support/ethers-flows.ts'
import { named, namedAbi, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'
import { type Line, lineTo, watchQuiet } from '../../support/ethers-flows-line.ts'
import { eventually } from '../../support/eventually.ts'
import { nightly } from '../../support/runs.ts'

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil({ timestamp: 1_700_000_000 })
  await askNode(anvil.url, 'evm_setAutomine', false)
})
afterAll(() => anvil?.stop())

const never = id('nothing has this hash')
const cancelled = { code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' }

const urlOf = lineUrl()

function providerOf({ url }: Line, options: HexlineProviderOptions = {}) {
  const provider = new HexlineProvider(urlOf(url), undefined, { ...fast, ...options })
  onTestFinished(() => provider.destroy())
  return provider
}

/** Calls of every kind, and waits. */
function manyCalls(provider: HexlineProvider): Promise<unknown>[] {
  const signer = new Wallet(bob.privateKey, provider)
  return [
    ...Array.from({ length: 300 }, (_, i) => provider.getStorage(carol, i)),
    provider.getNetwork(),
    provider.getFeeData(),
    provider.getBlock('latest', true),
    provider.getBlock(-1),
    provider.getLogs({ fromBlock: 0 }),
    provider.getBlockReceipts('latest'),
    provider.getBlocks(0).next(),
    provider.getSigner(),
    provider.estimateGas({ to: carol }),
    provider.waitForTransaction(never),
    provider.waitForTransaction(never, 2, 60_000),
    new Contract(named, namedAbi, provider).name?.() as Promise<unknown>,
    new Contract(token, tokenAbi, provider).queryFilter('Transfer'),
    signer.sendTransaction({ to: carol }),
    signer.sendTransaction({ to: carol }),
  ]
}

/** Listeners of every kind. */
const listeners: Record<string, (provider: HexlineProvider) => Promise<unknown>> = {
  "on('block')": (provider) => provider.on('block', () => {}),
  "on('pending')": (provider) => provider.on('pending', () => {}),
  'on({ address })': (provider) => provider.on({ address: token }, () => {}),
  'contract.on': (provider) => new Contract(token, tokenAbi, provider).on('Transfer', () => {}),
  'on(hash)': (provider) => provider.on(never, () => {}),
  "on('safe')": (provider) => provider.on('safe', () => {}),
  "on('finalized')": (provider) => provider.on('finalized', () => {}),
}

/** Destroys the provider, and asserts that it leaves nothing behind. */
async function endQuietly(provider: HexlineProvider, line: Line, assertQuiet: () => Promise<void>) {
  provider.destroy()
  await eventually(() => expect(line.open).toBe(0))
  await assertQuiet()
}

describe('destroy while busy', () => {
  const moments: [string, (line: Line) => Promise<void>][] = [
    ['in the turn in which they are made', async () => {}],
    ['in the next turn', () => new Promise((resolve) => setImmediate(resolve))],
    ['when the requests have reached the node', (line) => line.sent()],
  ]
  for (const [moment, come] of moments)
    it(`ends many calls and waits, ${moment}`, async () => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(anvil.url)
      const provider = providerOf(line)
      line.hold()
      const coming = come(line)
      const calls = manyCalls(provider).map(failureOf)
      await coming
      provider.destroy()
      for (const failure of await Promise.all(calls)) expect(failure).toMatchObject(cancelled)
      await endQuietly(provider, line, assertQuiet)
    })

  const kinds: [string, (provider: HexlineProvider) => Promise<unknown>, boolean][] = [
    ...Object.entries(listeners).map(([name, listen]) => [name, listen, false] as [string, typeof listen, boolean]),
    ['on({ address }) by polling', listeners['on({ address })'] as never, true],
    ['all kinds at once', (provider) => Promise.all(Object.values(listeners).map((listen) => listen(provider))), false],
  ]
  describe.each(kinds)('ends a listener, %s', (_, listen, polling) => {
    it('in the turn in which it is made', async () => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(anvil.url)
      const provider = providerOf(line, { polling })
      await listen(provider)
      await endQuietly(provider, line, assertQuiet)
    })

    it('whose call is in flight', async () => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(anvil.url)
      const provider = providerOf(line, { polling })
      line.hold()
      const sent = line.sent()
      await listen(provider)
      await sent
      await endQuietly(provider, line, assertQuiet)
    })

    it('that has begun, during a wait', async () => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(anvil.url)
      const provider = providerOf(line, { polling })
      await listen(provider)
      const wait = failureOf(provider.waitForTransaction(never, 2, 60_000))
      await mineUntil(line, new Promise((resolve) => void provider.once('block', resolve)))
      await endQuietly(provider, line, assertQuiet)
      expect(await wait).toMatchObject(cancelled)
    })
  })

  it('ends silently during a wait for a transaction', async () => {
    const assertQuiet = watchQuiet()
    const line = await lineTo(anvil.url)
    const provider = providerOf(line)
    const sent = await (await provider.getSigner(alice)).sendTransaction({ to: carol, value: 1, gasLimit: 21_000 })
    // ethers never settles it.
    void sent.wait().catch(() => {})
    const block = new Promise((resolve) => void provider.once('block', resolve))
    await askNode(anvil.url, 'anvil_dropAllTransactions')
    await mineUntil(line, block)
    await endQuietly(provider, line, assertQuiet)
  })

  it('may be called by listeners', async () => {
    const assertQuiet = watchQuiet()
    const line = await lineTo(anvil.url)
    const provider = providerOf(line)
    const ended = new Promise<void>((resolve) => {
      void provider.on('block', () => {
        provider.destroy()
        resolve()
      })
    })
    await listeners['on({ address })']?.(provider)
    await listeners["on('pending')"]?.(provider)
    await mineUntil(line, ended)
    await endQuietly(provider, line, assertQuiet)
    expect(await failureOf(provider.getBlockNumber())).toMatchObject(cancelled)
  })
})

/**
 * Mines until it has come, each block once the provider has asked for something: a listener that
 * has just begun does not know the first one as new.
 */
async function mineUntil(line: Line, done: Promise<unknown>): Promise<void> {
  let isDone = false
  const end = done.then(() => {
    isDone = true
  })
  while (!isDone) {
    const sent = line.sent()
    await askNode(anvil.url, 'evm_mine')
    await Promise.race([end, sent])
  }
}

describe('a program exits on its own', () => {
  it.each([
    'destroyed while a transaction is waited for',
    ...nightly('connect fails', 'after its calls are answered, without destroy', 'destroyed when done', 'destroyed while busy', 'never used'),
  ])('%s', async (what) => {
    const script = fileURLToPath(new URL('../../support/ethers-flows-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script, urlOf(anvil.url), what], { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    // Whatever it leaves behind outlasts the test.
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => child.on('close', (...end) => resolve(end)))
    expect({ code, signal, output, errors }).toEqual({ code: 0, signal: null, output: 'done\n', errors: '' })
  })
})
