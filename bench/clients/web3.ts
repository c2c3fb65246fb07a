import { importPeer } from '../peers.ts'
import { balances, calls, inParallel, type Job, Tally, type Way, type Ways } from './way.ts'

/** The parts of web3 in use. Its types are not installed with the project. */
interface Web3 {
  readonly eth: {
    getBlock(number: number, hydrated: boolean): Promise<{ number: bigint; transactions: readonly unknown[] }>
    getBalance(address: string): Promise<bigint>
  }
}

/**
 * Measures `web3.eth`. web3's BatchRequest returns raw JSON, and the caller has to make the
 * batches.
 */
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
      // The class in use, as declared above.
      const { Web3 } = (await importPeer('web3')) as { Web3: new (url: string) => Web3 }
      return { run: jobOf(new Web3(url)), end() {} }
    },
  }
}
