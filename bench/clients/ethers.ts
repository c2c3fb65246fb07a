import type { JsonRpcApiProviderOptions, JsonRpcProvider } from 'ethers'
import type { HexlineProvider, HexlineProviderOptions } from 'hexline/ethers'
import { balances, calls, inParallel, type Job, Tally, throttledBalances, type Way, type Ways } from './way.ts'

/** The default for all hosts but this machine. */
const COMPRESSED: HexlineProviderOptions = { compression: true }

/**
 * Sends one block per POST, since its queue serialises a growing batch repeatedly, and its
 * transport copies the received part with every chunk.
 */
export const ethers: Ways = {
  'full blocks': blocks(true, { batchMaxCount: 1 }, 8),
  'full blocks, gzip': blocks(true, { batchMaxCount: 1 }, 8),
  'full blocks, https, gzip': blocks(true, { batchMaxCount: 1 }, 8),
  'blocks with hashes': blocks(false, { batchMaxCount: 1 }, 10),
  '10,000 logs': logs(),
  'small calls, 64 in parallel': small('small calls, 64 in parallel', { batchStallTime: 0 }),
  'small calls, gzip': small('small calls, gzip', { batchStallTime: 0 }),
  'small calls, in sequence': small('small calls, in sequence', { batchMaxCount: 1 }),
  '50 ms latency': blocks(true, { batchMaxCount: 1 }, 40),
  throttled: {
    settings:
      'JsonRpcProvider(request, 1, staticNetwork: true, cacheTimeout: -1, batchMaxCount: 16), its FetchRequest with setThrottleParams({ maxAttempts: 1000 }); getBalance',
    async load(url) {
      const { FetchRequest, JsonRpcProvider } = await import('ethers')
      const request = new FetchRequest(url)
      request.setThrottleParams({ maxAttempts: 1000 })
      const provider = new JsonRpcProvider(request, 1, { staticNetwork: true, cacheTimeout: -1, batchMaxCount: 16 })
      return throttledBalances(
        (address) => provider.getBalance(address),
        () => provider.destroy(),
      )
    },
  },
}

/** An ethers provider on hexline, with its own `getBlocks`. */
export const ethersOnHexline: Ways = {
  'full blocks': bulk(true),
  'full blocks, gzip': bulk(true, COMPRESSED),
  'full blocks, https, gzip': bulk(true, COMPRESSED),
  'blocks with hashes': bulk(false),
  'small calls, 64 in parallel': smallOnHexline('small calls, 64 in parallel'),
  'small calls, in sequence': smallOnHexline('small calls, in sequence'),
  '50 ms latency': bulk(true),
}

function blocks(prefetchTxs: boolean, options: JsonRpcApiProviderOptions, width: number): Way {
  return way(options, `${width} getBlock(n, ${prefetchTxs}) at a time`, (provider) => async (first, count) => {
    const tally = new Tally()
    await inParallel(width, first, count, async (i) => {
      const block = await provider.getBlock(i, prefetchTxs)
      tally.add(block?.number ?? 0, block?.length ?? 0)
    })
    return tally
  })
}

function logs(): Way {
  return way({ batchMaxCount: 1 }, 'getLogs, one at a time', (provider) => async (first, count) => {
    let parts = 0
    for (let i = first; i < first + count; i++) parts += (await provider.getLogs({ fromBlock: i, toBlock: i + 99 })).length
    return { items: count, parts }
  })
}

function small(name: keyof typeof calls, options: JsonRpcApiProviderOptions): Way {
  return way(options, 'getBalance', (provider) => balances(calls[name], (address) => provider.getBalance(address)).run)
}

/**
 * The network is given, since ethers would otherwise request it with each call. The cache is off,
 * since it would answer in place of the node.
 */
function way(options: JsonRpcApiProviderOptions, asked: string, jobOf: (provider: JsonRpcProvider) => Job['run']): Way {
  const all = { staticNetwork: true, cacheTimeout: -1, ...options }
  return {
    settings: `JsonRpcProvider(url, 1, ${optionsText(all)}); ${asked}`,
    async load(url) {
      const { JsonRpcProvider } = await import('ethers')
      const provider = new JsonRpcProvider(url, 1, all)
      return { run: jobOf(provider), end: () => provider.destroy() }
    },
  }
}

function optionsText(options: object): string {
  return Object.entries(options)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')
}

function bulk(prefetchTxs: boolean, options: HexlineProviderOptions = {}): Way {
  const run = (provider: HexlineProvider) => async (first: number, count: number) => {
    const tally = new Tally()
    for await (const block of provider.getBlocks(first, first + count - 1, { prefetchTxs })) tally.add(block.number, block.length)
    return tally
  }
  return onHexline(`getBlocks with prefetchTxs: ${prefetchTxs}`, run, options)
}

function smallOnHexline(name: keyof typeof calls): Way {
  return onHexline('getBalance', (provider) => balances(calls[name], (address) => provider.getBalance(address)).run)
}

function onHexline(asked: string, jobOf: (provider: HexlineProvider) => Job['run'], options: HexlineProviderOptions = {}): Way {
  const all = { staticNetwork: true, cacheTimeout: -1, ...options }
  return {
    settings: `HexlineProvider(url, 1, ${optionsText(all)}); ${asked}`,
    async load(url) {
      const { HexlineProvider } = await import('hexline/ethers')
      const provider = new HexlineProvider(url, 1, all)
      return { run: jobOf(provider), end: () => provider.destroy() }
    },
  }
}
