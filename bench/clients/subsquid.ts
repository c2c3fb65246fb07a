import { CONTRACT, MOST_BLOCKS } from '../logs.ts'
import { importPeer } from '../peers.ts'
import { addressOf, balances, calls, hex, inParallel, type Job, logsByHand, PARALLEL, Tally, throttledBalances, type Way, type Ways } from './way.ts'

/** The parts of @subsquid/rpc-client in use. Its types are not installed with the project. */
interface RpcClient {
  call(method: string, params: readonly unknown[]): Promise<unknown>
  batchCall(calls: readonly { method: string; params: readonly unknown[] }[]): Promise<unknown[]>
  close(): void
}

interface RawBlock {
  readonly number: string
  readonly transactions: readonly unknown[]
}

const blockCall = (i: number, full: boolean) => ({ method: 'eth_getBlockByNumber', params: [hex(i), full] })

/** Ranges of logs in parallel. */
const LOG_RANGES = 16

/** Returns raw JSON; it does not decode. */
export const subsquid: Ways = {
  'full blocks': blocks(true, 10),
  'blocks with hashes': blocks(false, 50),
  'full blocks with receipts': way({}, 'batchCall of 5 blocks and their receipts, 8 at a time', (client) => async (first, count) => {
    const tally = new Tally()
    await inBatches(5, first, count, async (at, length) => {
      const numbers = Array.from({ length }, (_, i) => at + i)
      const results = await client.batchCall(numbers.flatMap((i) => [blockCall(i, true), { method: 'eth_getBlockReceipts', params: [hex(i)] }]))
      for (let i = 0; i < results.length; i += 2) tally.add((results[i] as RawBlock).number, (results[i + 1] as unknown[]).length)
    })
    return tally
  }),
  '10,000 logs': way({}, 'call, one at a time', (client) => async (first, count) => {
    let parts = 0
    for (let i = first; i < first + count; i++) {
      parts += ((await client.call('eth_getLogs', [{ fromBlock: hex(i), toBlock: hex(i + 99) }])) as unknown[]).length
    }
    return { items: count, parts }
  }),
  logs: rangeOfLogs(LOG_RANGES),
  'small calls, 64 in parallel': way({}, 'batchCall of 64', (client) => async (first, count) => {
    const tally = new Tally()
    for (let at = first; at < first + count; at += PARALLEL) {
      const batch = Array.from({ length: Math.min(PARALLEL, first + count - at) }, (_, i) => balanceCall(addressOf(at + i)))
      for (const balance of await client.batchCall(batch)) tally.add(balance as string, 0)
    }
    return tally
  }),
  'small calls, in sequence': way({}, 'call', (client) => balances(calls['small calls, in sequence'], (address) => balanceOf(client, address)).run),
  '50 ms latency': blocks(true, 10),
  throttled: way({ rateLimit: 'the rate', retryAttempts: 20 }, 'call', (client) => throttledBalances((address) => balanceOf(client, address)).run),
}

const balanceCall = (address: string) => ({ method: 'eth_getBalance', params: [address, 'latest'] })

async function balanceOf(client: RpcClient, address: string): Promise<string> {
  const { method, params } = balanceCall(address)
  return (await client.call(method, params)) as string
}

function blocks(full: boolean, batch: number): Way {
  return way({}, `batchCall of ${batch} blocks, 8 at a time`, (client) => async (first, count) => {
    const tally = new Tally()
    await inBatches(batch, first, count, async (at, length) => {
      const results = await client.batchCall(Array.from({ length }, (_, i) => blockCall(at + i, full)))
      for (const { number, transactions } of results as RawBlock[]) tally.add(number, transactions.length)
    })
    return tally
  })
}

function rangeOfLogs(width: number): Way {
  const asked = `call of ${MOST_BLOCKS} blocks, ${width} at a time; a range with too many results in halves`
  return way(
    { capacity: width },
    asked,
    (client) => (first, count) =>
      logsByHand(
        width,
        first,
        count,
        async (from, to) => (await client.call('eth_getLogs', [{ address: CONTRACT, fromBlock: hex(from), toBlock: hex(to) }])) as { blockNumber: string }[],
        ({ blockNumber }) => blockNumber,
      ),
  )
}

function inBatches(batch: number, first: number, count: number, one: (at: number, length: number) => Promise<void>): Promise<void> {
  return inParallel(8, 0, Math.ceil(count / batch), (k) => one(first + k * batch, Math.min(batch, count - k * batch)))
}

function way(options: Readonly<Record<string, unknown>>, asked: string, jobOf: (client: RpcClient) => Job['run']): Way {
  const said = Object.entries(options).map(([name, value]) => `, ${name}: ${value}`)
  return {
    settings: `RpcClient({ url${said.join('')} }); ${asked}`,
    async load(url) {
      // The class in use, as declared above.
      const { RpcClient } = (await importPeer('@subsquid/rpc-client')) as { RpcClient: new (options: object) => RpcClient }
      const rate = 'rateLimit' in options ? { rateLimit: Number(new URL(url).pathname.split('/')[2]) } : {}
      const client = new RpcClient({ url, log: null, ...options, ...rate })
      return { run: jobOf(client), end: () => client.close() }
    },
  }
}
