import {
  INPUT_BYTES,
  LOG_DATA_BYTES,
  LOGS_PER_RECEIPT,
  type Quantiles,
  SHARE_WITH_ACCESS_LIST,
  SHARE_WITHOUT_VALUE,
  TOPIC_SHARES,
  TRANSACTIONS_PER_BLOCK,
  TYPE_SHARES,
} from './mainnet-shape.ts'

/** A block as a node sends it. */
export interface RawBlock {
  readonly transactions: readonly RawTransaction[]
  readonly [field: string]: unknown
}

interface RawTransaction {
  readonly hash: string
  readonly [field: string]: unknown
}

export interface RawReceipt {
  readonly logs: readonly Readonly<Record<string, unknown>>[]
  readonly [field: string]: unknown
}

/**
 * Generated blocks with the shape of mainnet's, for clones without the corpus. They are the same in
 * every run. `counts` is the number of transactions in each block.
 */
export function makeBlocks(counts: readonly number[] = TRANSACTIONS_PER_BLOCK): RawBlock[] {
  return counts.map((count, i) => makeBlock(count, makeRandom(i + 1)))
}

/** Receipts for a block's transactions, with a realistic number of logs. */
export function makeReceipts({ hash: blockHash, number: blockNumber, transactions }: RawBlock): RawReceipt[] {
  const random = makeRandom(transactions.length)
  let logIndex = 0
  return transactions.map(({ hash: transactionHash, from, to, type }, i) => {
    const place = { blockNumber, transactionHash, transactionIndex: quantity(i), blockHash }
    const logs = Array.from({ length: random.of(LOGS_PER_RECEIPT) }, () => ({
      address: random.hex(20),
      topics: Array.from({ length: random.among(TOPIC_SHARES) }, () => random.hex(32)),
      data: random.hex(random.of(LOG_DATA_BYTES)),
      ...place,
      blockTimestamp: '0x681b3093',
      logIndex: quantity(logIndex++),
      removed: false,
    }))
    return {
      ...place,
      contractAddress: null,
      cumulativeGasUsed: quantity(150_000 * (i + 1)),
      effectiveGasPrice: quantity(random.below(2e9)),
      from,
      gasUsed: quantity(21_000 + random.below(300_000)),
      logs,
      logsBloom: random.hex(256),
      status: '0x1',
      to,
      type: type ?? '0x0',
    }
  })
}

function makeBlock(count: number, random: Random): RawBlock {
  const place = { blockHash: random.hex(32), blockNumber: '0x1564570' }
  return {
    number: place.blockNumber,
    hash: place.blockHash,
    parentHash: random.hex(32),
    nonce: '0x0000000000000000',
    mixHash: random.hex(32),
    sha3Uncles: random.hex(32),
    logsBloom: random.hex(256),
    stateRoot: random.hex(32),
    miner: random.hex(20),
    difficulty: '0x0',
    extraData: random.hex(24),
    size: quantity(random.below(200_000)),
    gasLimit: '0x2255100',
    gasUsed: quantity(random.below(36_000_000)),
    timestamp: '0x681b3093',
    transactionsRoot: random.hex(32),
    receiptsRoot: random.hex(32),
    baseFeePerGas: quantity(random.below(2e9)),
    withdrawalsRoot: random.hex(32),
    blobGasUsed: '0x80000',
    excessBlobGas: '0x2f40000',
    parentBeaconBlockRoot: random.hex(32),
    requestsHash: random.hex(32),
    uncles: [],
    transactions: Array.from({ length: count }, (_, i) => ({ ...place, ...makeTransaction(random), transactionIndex: quantity(i) })),
    withdrawals: Array.from({ length: 16 }, (_, i) => ({
      index: quantity(86_000_000 + i),
      validatorIndex: quantity(random.below(1_900_000)),
      address: random.hex(20),
      amount: quantity(random.below(20_000_000)),
    })),
  }
}

function makeTransaction(random: Random): RawTransaction {
  const type = random.among(TYPE_SHARES)
  const gasPrice = quantity(random.below(2e9))
  const yParity = quantity(random.below(2))
  return {
    from: random.hex(20),
    gas: quantity(21_000 + random.below(480_000)),
    gasPrice,
    ...(type !== '0x0' && { maxFeePerGas: gasPrice, maxPriorityFeePerGas: quantity(random.below(1e9)) }),
    ...(type === '0x3' && { maxFeePerBlobGas: '0x3b9aca00' }),
    hash: random.hex(32),
    input: random.hex(random.of(INPUT_BYTES)),
    nonce: quantity(random.below(100_000)),
    to: random.hex(20),
    value: random.share() < SHARE_WITHOUT_VALUE ? '0x0' : `0x1${random.hex(6).slice(2)}`,
    type,
    ...(type !== '0x0' && { accessList: random.share() < SHARE_WITH_ACCESS_LIST ? [makeAccess(random), makeAccess(random), makeAccess(random)] : [] }),
    chainId: '0x1',
    ...(type === '0x3' && { blobVersionedHashes: [random.hex(32), random.hex(32)] }),
    ...(type === '0x4' && { authorizationList: [{ chainId: '0x1', address: random.hex(20), nonce: '0x1', yParity, r: random.hex(32), s: random.hex(32) }] }),
    v: type === '0x0' ? quantity(37 + random.below(2)) : yParity,
    r: random.hex(32),
    s: random.hex(32),
    ...(type !== '0x0' && { yParity }),
  }
}

function makeAccess(random: Random): { address: string; storageKeys: string[] } {
  return { address: random.hex(20), storageKeys: Array.from({ length: 1 + random.below(5) }, () => random.hex(32)) }
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`
}

type Random = ReturnType<typeof makeRandom>

/**
 * The same numbers in each run. mulberry32, a generator with 32 bits of state, by Tommy Ettinger
 * (public domain).
 */
function makeRandom(seed: number) {
  let state = seed
  const share = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(share() * limit)
  return {
    share,
    below,
    hex: (bytes: number) => `0x${Array.from({ length: bytes }, () => below(256).toString(16).padStart(2, '0')).join('')}`,
    /** A value with the given distribution. */
    of(quantiles: Quantiles): number {
      const at = share()
      const i = Math.max(
        1,
        quantiles.findIndex(([upTo]) => upTo >= at),
      )
      const [[low, from], [high, to]] = [quantiles[i - 1], quantiles[i]] as [Quantiles[number], Quantiles[number]]
      return Math.round(from + ((to - from) * (at - low)) / (high - low))
    },
    /** One of several values, chosen by their shares. */
    among<T>(shares: readonly (readonly [T, number])[]): T {
      let left = share()
      for (const [value, each] of shares) {
        left -= each
        if (left < 0) return value
      }
      return (shares[0] as readonly [T, number])[0]
    },
  }
}
