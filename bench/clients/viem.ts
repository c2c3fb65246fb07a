import type { HexlineTransportConfig } from 'hexline/viem'
import type { HttpTransportConfig, PublicClient } from 'viem'
import { CONTRACT, MOST_BLOCKS } from '../logs.ts'
import { balances, calls, inParallel, type Job, logsByHand, Tally, throttledBalances, type Way, type Ways } from './way.ts'

/** The default for all hosts but this machine. */
const COMPRESSED: HexlineTransportConfig = { compression: true }

const NOT_BATCHED: HttpTransportConfig = {}
/**
 * Longest time for a POST, in ms. viem's own `timeout` ends at the headers, so a stalled body would
 * never time out.
 */
const BODY_TIMEOUT_MS = 5_000

/** Ranges of logs in parallel. */
const LOG_RANGES = 16

/** viem makes batches of all calls in one turn of the event loop, up to `batchSize`. */
export const viemBatched: Ways = {
  'full blocks': blocks(true, batchesOf(20), 20),
  'full blocks, gzip': blocks(true, batchesOf(20), 20),
  'full blocks, https, gzip': blocks(true, batchesOf(20), 20),
  'blocks with hashes': blocks(false, batchesOf(100), 100),
  'full blocks with receipts': receipts(batchesOf(20), 10),
  'small calls, 64 in parallel': small('small calls, 64 in parallel', batchesOf(100)),
  'small calls, gzip': small('small calls, gzip', batchesOf(100)),
  '50 ms latency': blocks(true, batchesOf(20), 80),
  throttled: throttled({ ...batchesOf(16), retryCount: 20, retryDelay: 100 }),
  'throttled and faulty': faulty(),
  memory: blocks(true, batchesOf(20), 20),
}

export const viemPlain: Ways = {
  'full blocks': blocks(true, NOT_BATCHED, 8),
  'blocks with hashes': blocks(false, NOT_BATCHED, 20),
  '10,000 logs': logs(),
  logs: rangeOfLogs(LOG_RANGES),
  'small calls, 64 in parallel': small('small calls, 64 in parallel', NOT_BATCHED),
  'small calls, in sequence': small('small calls, in sequence', NOT_BATCHED),
  '50 ms latency': blocks(true, NOT_BATCHED, 40),
}

/** A viem client on hexline, with blocks in viem's own format. */
export const viemOnHexline: Ways = {
  'full blocks': bulk(true, false),
  'full blocks, gzip': bulk(true, false, COMPRESSED),
  'full blocks, https, gzip': bulk(true, false, COMPRESSED),
  'blocks with hashes': bulk(false, false),
  'full blocks with receipts': bulk(true, true),
  '50 ms latency': bulk(true, false),
  'small calls, 64 in parallel': smallOnHexline('small calls, 64 in parallel'),
  'small calls, gzip': smallOnHexline('small calls, gzip', COMPRESSED),
  'small calls, in sequence': smallOnHexline('small calls, in sequence'),
}

function batchesOf(batchSize: number): HttpTransportConfig {
  return { batch: { batchSize, wait: 0 } }
}

function blocks(includeTransactions: boolean, config: HttpTransportConfig, width: number): Way {
  return way(config, `${width} getBlock at a time`, (client) => async (first, count) => {
    const tally = new Tally()
    await inParallel(width, first, count, async (i) => {
      const { number, transactions } = await client.getBlock({ blockNumber: BigInt(i), includeTransactions })
      tally.add(number, transactions.length)
    })
    return tally
  })
}

function receipts(config: HttpTransportConfig, width: number): Way {
  return way(config, `${width} times getBlock with getBlockReceipts at a time`, (client) => async (first, count) => {
    const tally = new Tally()
    await inParallel(width, first, count, async (i) => {
      const blockNumber = BigInt(i)
      const [{ number }, receipts] = await Promise.all([client.getBlock({ blockNumber, includeTransactions: true }), client.getBlockReceipts({ blockNumber })])
      tally.add(number, receipts.length)
    })
    return tally
  })
}

/**
 * Batches of ten blocks with their receipts, four at a time. Failures that viem does not retry,
 * such as an incomplete body, are retried here.
 */
function faulty(): Way {
  const ten = 10
  return {
    settings: `http(url, { batch: { batchSize: ${2 * ten}, wait: 0 }, retryCount: 3, retryDelay: 100, fetchFn: one that aborts after ${BODY_TIMEOUT_MS} ms }); getBlock and getBlockReceipts of ${ten} blocks, 4 times at a time, and again when one fails`,
    async load(url) {
      const [{ createPublicClient, http }, { mainnet }] = await Promise.all([import('viem'), import('viem/chains')])
      // Does not use AbortSignal.any with AbortSignal.timeout, since Node.js 20 may collect these
      // as garbage before they abort.
      const fetchFn: typeof fetch = (input, init) => {
        const end = new AbortController()
        setTimeout(() => end.abort(), BODY_TIMEOUT_MS).unref()
        init?.signal?.addEventListener('abort', () => end.abort())
        return fetch(input, { ...init, signal: end.signal })
      }
      const client = createPublicClient({ chain: mainnet, transport: http(url, { ...batchesOf(2 * ten), retryCount: 3, retryDelay: 100, fetchFn }) })
      const again = async <T>(ask: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await ask()
          } catch {
            await new Promise((resolve) => setTimeout(resolve, 100))
          }
        }
      }
      return {
        async run(first, count) {
          const tally = new Tally()
          const block = async (i: number) => {
            const blockNumber = BigInt(i)
            const [{ number }, receipts] = await Promise.all([
              again(() => client.getBlock({ blockNumber })),
              again(() => client.getBlockReceipts({ blockNumber })),
            ])
            tally.add(number, receipts.length)
          }
          await inParallel(4, 0, count / ten, (i) => Promise.all(Array.from({ length: ten }, (_, j) => block(first + i * ten + j))))
          return tally
        },
        end() {},
      }
    },
  }
}

function logs(): Way {
  return way(NOT_BATCHED, 'getLogs, one at a time', (client) => async (first, count) => {
    let parts = 0
    for (let i = first; i < first + count; i++) parts += (await client.getLogs({ fromBlock: BigInt(i), toBlock: BigInt(i + 99) })).length
    return { items: count, parts }
  })
}

function rangeOfLogs(width: number): Way {
  const asked = `getLogs of ${MOST_BLOCKS} blocks, ${width} at a time; a range with too many results in halves`
  return way(
    NOT_BATCHED,
    asked,
    (client) => (first, count) =>
      logsByHand(
        width,
        first,
        count,
        (from, to) => client.getLogs({ address: CONTRACT, fromBlock: BigInt(from), toBlock: BigInt(to) }),
        ({ blockNumber }) => blockNumber,
      ),
  )
}

function small(name: keyof typeof calls, config: HttpTransportConfig): Way {
  return way(config, 'getBalance', (client) => balances(calls[name], (address) => client.getBalance({ address })).run)
}

function throttled(config: HttpTransportConfig): Way {
  return way(config, 'getBalance', (client) => throttledBalances((address) => client.getBalance({ address })).run)
}

function way(config: HttpTransportConfig, asked: string, jobOf: (client: PublicClient) => Job['run']): Way {
  return {
    settings: `http(url${configText(config)}); ${asked}`,
    async load(url) {
      const [{ createPublicClient, http }, { mainnet }] = await Promise.all([import('viem'), import('viem/chains')])
      return { run: jobOf(createPublicClient({ chain: mainnet, transport: http(url, config) })), end() {} }
    },
  }
}

/** A second argument as it is written, or nothing if it is empty. */
function configText(config: object): string {
  if (Object.keys(config).length === 0) return ''
  return `, ${JSON.stringify(config)
    .replaceAll('"', '')
    .replaceAll(/([:,])/g, '$1 ')}`
}

function bulk(includeTransactions: boolean, includeReceipts: boolean, config: HexlineTransportConfig = {}): Way {
  return {
    settings: `hexline(url${configText(config)}); getBlocks of bulkActions() with includeTransactions: ${includeTransactions}, includeReceipts: ${includeReceipts}`,
    async load(url) {
      const client = (await clientOnHexline(url, config)).extend((await import('hexline/viem')).bulkActions())
      return {
        async run(first, count) {
          const tally = new Tally()
          const range = { fromBlock: BigInt(first), toBlock: BigInt(first + count - 1), includeTransactions, includeReceipts }
          for await (const block of client.getBlocks(range)) {
            const { receipts = block.transactions } = block as { receipts?: readonly unknown[] }
            tally.add(block.number as bigint, receipts.length)
          }
          return tally
        },
        end: () => client.transport.client.close(),
      }
    },
  }
}

function smallOnHexline(name: keyof typeof calls, config: HexlineTransportConfig = {}): Way {
  return {
    settings: `hexline(url${configText(config)}); getBalance`,
    async load(url) {
      const client = await clientOnHexline(url, config)
      return balances(
        calls[name],
        (address) => client.getBalance({ address }),
        () => client.transport.client.close(),
      )
    },
  }
}

async function clientOnHexline(url: string, config: HexlineTransportConfig) {
  const [{ createPublicClient }, { mainnet }, { hexline }] = await Promise.all([import('viem'), import('viem/chains'), import('hexline/viem')])
  return createPublicClient({ chain: mainnet, transport: hexline(url, config) })
}
