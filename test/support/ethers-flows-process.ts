/*
 * A program that uses a HexlineProvider and then has nothing more to do. Anything that is left
 * behind (a timer, a socket) keeps the process alive, which the test that started it detects.
 * Arguments: the node's URL, and what to do.
 */
import { HexlineProvider } from '../../adapters/ethers/index.ts'

const [url = '', what = ''] = process.argv.slice(2)
const nobody = `0x${'12'.repeat(20)}`
const never = `0x${'12'.repeat(32)}`
const listener = () => {}
/** Longer than any test: what is left behind never ends by itself. */
const LONG = 2_000_000_000
const patient = { timeoutMs: LONG, deadlineMs: LONG }

/** A used provider with listeners. */
async function used(): Promise<HexlineProvider> {
  const provider = new HexlineProvider(url, undefined, { ...patient, pollingInterval: 20 })
  await Promise.all(Array.from({ length: 50 }, (_, i) => provider.getStorage(nobody, i)))
  await provider.on('block', listener)
  await provider.on({ address: nobody }, listener)
  await provider.on('pending', listener)
  return provider
}

const programs: Record<string, () => Promise<unknown>> = {
  async 'destroyed when done'() {
    const provider = await used()
    await provider.removeAllListeners()
    provider.destroy()
  },
  async 'destroyed while busy'() {
    const provider = await used()
    const calls = [provider.getBalance(nobody), provider.waitForTransaction(never), provider.waitForTransaction(never, 1, LONG)]
    provider.destroy()
    if ((await Promise.allSettled(calls)).some(({ status }) => status === 'fulfilled')) throw new Error('a call that was ended has an answer')
  },
  async 'destroyed while a transaction is waited for'() {
    const provider = await used()
    const sent = await (await provider.getSigner()).sendTransaction({ to: nobody, gasLimit: 21_000 })
    // One that is mined has a receipt, whose `confirmations()` ethers does not handle.
    await provider.send('anvil_dropAllTransactions', [])
    const send = provider.send.bind(provider)
    let looks = 0
    provider.send = (method, params) => {
      const answer = send(method, params)
      // The first look is that of `wait()` itself, which rejects. The next ones are its listener's.
      if (method === 'eth_getTransactionCount' && ++looks === 2) provider.destroy()
      return answer
    }
    // ethers never settles this. At each block it looks for a replacement, and if that fails it
    // listens for the next block.
    void sent.wait(100)
    while (!provider.destroyed) await send('evm_mine', []).catch(() => {})
  },
  'connect fails': () => HexlineProvider.connect('http://127.0.0.1:1', { ...patient, retry: false }).catch(() => {}),
  'never used': async () => new HexlineProvider(url, undefined, patient),
  'answered, and not destroyed': () => new HexlineProvider(url, undefined, patient).getBlockNumber(),
}

await programs[what]?.()
console.log('done')
