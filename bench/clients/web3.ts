import { importPeer } from '../peers.ts'
import { balances, calls, inParallel, type Job, Tally, type Way, type Ways } from './way.ts'

/** What is used of web3, whose types are not installed with the project. */
interface Web3 {
  readonly eth: {
    getBlock(number: number, hydrated: boolean): Promise<{ number: bigint; transactions: readonly unknown[] }>
    getBalance(address: string): Promise<bigint>
  }
}

/** Its BatchRequest gives raw JSON, and only where one makes the batches by hand: what is measured is `web3.eth`. */
export const web3: Ways = {
  'full blocks': blocks(true),
  'blocks with hashes': blocks(false),
  'small calls, 64 in parallel': small('small calls, 64 in parallel'),
  'small calls, in sequence': small('small calls, in sequence'),
}

function blocks(hydrated: boolean): Way {
  return way(`20 getBlock(n, ${hydrated}) at a time`, (web3) => async (first, count) => {
    const tally = new Tally()
    await inParallel(20, first, count, async (i) => {
      const { number, transactions } = await web3.eth.getBlock(i, hydrated)
      tally.add(number, transactions.length)
    })
    return tally
  })
}

function small(name: keyof typeof calls): Way {
  return way('getBalance', (web3) => balances(calls[name], (address) => web3.eth.getBalance(address)).run)
}

function way(asked: string, jobOf: (web3: Web3) => Job['run']): Way {
  return {
    settings: `new Web3(url), which does not batch; ${asked}`,
    async load(url) {
      // The one class that is used, as above.
      const { Web3 } = (await importPeer('web3')) as { Web3: new (url: string) => Web3 }
      return { run: jobOf(new Web3(url)), end() {} }
    },
  }
}
