import { MOST_BLOCKS, MOST_RESULTS } from './logs.ts'

/** The clients: the floor first, then hexline and the libraries on it, then the peers. */
export type ClientName =
  | 'undici, bytes only'
  | 'undici + JSON.parse'
  | 'hexline'
  | 'hexline, told the rate'
  | 'hexline, audit none'
  | 'hexline, audit bloom'
  | 'hexline, audit receipts'
  | 'hexline, audit peer'
  | 'viem on hexline'
  | 'ethers on hexline'
  | 'viem, batched'
  | 'viem, not batched'
  | 'ethers'
  | 'web3'
  | '@subsquid/rpc-client'
  | 'ox'

export type WorkloadName =
  | 'full blocks'
  | 'full blocks, gzip'
  | 'full blocks, https, gzip'
  | 'full blocks, 6 fields'
  | 'blocks with hashes'
  | 'full blocks with receipts'
  | 'verify: link'
  | 'verify: header'
  | 'verify: full'
  | 'verifyDataset'
  | '10,000 logs'
  | 'logs'
  | 'audit, one contract'
  | 'audit, all transfers'
  | 'NDJSON export'
  | 'NDJSON dataset'
  | 'NDJSON dataset, compressed'
  | 'Parquet dataset'
  | 'small calls, 64 in parallel'
  | 'small calls, gzip'
  | 'small calls, in sequence'
  | '50 ms latency'
  | 'throttled'
  | 'throttled and faulty'
  | 'memory'
  | 'import'

export interface Workload {
  readonly what: string
  /** The unit of the figures. */
  readonly unit: 'block' | 'reply' | 'call' | 'import'
  /** The main figure. Others are shown with it. */
  readonly figure: 'cpu' | 'wall' | 'peakMb'
  /**
   * Number of units to measure for each client: one or two seconds of work for clients with a small
   * ratio, half a second for the others.
   */
  readonly amounts: { readonly [Name in ClientName]?: number }
  /** Share of units to run before measuring starts. Default 0.25. */
  readonly warmUp?: number
  /** The clients that the ratios refer to. */
  readonly against: readonly ClientName[]
  /** The server's path for this workload. */
  readonly path?: string
  /** Whether the clients connect over TLS. */
  readonly isSecure?: boolean
  /**
   * Whether the server counts the POSTs, calls and bytes of each client, by a path of its own below
   * that of the workload.
   */
  readonly isCounted?: boolean
  /** Number of rounds for each round of the run. Default 1. */
  readonly roundsEach?: number
  /**
   * Whether a quick run must not reduce the amounts, because they are small or affect the result.
   */
  readonly isWhole?: boolean
  /** Clients that cannot run it, and why. */
  readonly leftOut?: { readonly [Name in ClientName]?: string }
}

/** Limit of the throttled server, in calls per second. */
const THROTTLED_RATE = 500
/** Limit of the faulty server, in calls per second, and the share of its POSTs that fail. */
export const FAULTY_RATE = 200
export const FAULTS = 0.1

const COMPRESSED_BLOCKS: Pick<Workload, 'unit' | 'figure' | 'amounts' | 'against' | 'path'> = {
  unit: 'block',
  figure: 'cpu',
  path: '/gzip',
  amounts: {
    'undici, bytes only': 600,
    'undici + JSON.parse': 600,
    hexline: 1000,
    'viem on hexline': 400,
    'ethers on hexline': 80,
    'viem, batched': 120,
    ethers: 8,
  },
  against: ['undici + JSON.parse', 'viem, batched', 'ethers'],
}

function audits(blocks: number): Omit<Workload, 'what'> {
  return {
    unit: 'block',
    figure: 'cpu',
    path: '/audit/20',
    amounts: { 'hexline, audit none': blocks, 'hexline, audit bloom': blocks, 'hexline, audit receipts': blocks, 'hexline, audit peer': blocks },
    isCounted: true,
    against: ['hexline, audit none'],
  }
}

const DATASET: Pick<Workload, 'unit' | 'figure' | 'amounts' | 'against' | 'leftOut'> = {
  unit: 'block',
  figure: 'cpu',
  amounts: { 'undici, bytes only': 1000, 'undici + JSON.parse': 1000, hexline: 1000 },
  against: ['undici, bytes only', 'undici + JSON.parse'],
  leftOut: { 'viem, batched': 'no peer writes a folder that can be checked' },
}

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  'full blocks': {
    what: 'A range of blocks with whole transactions, decoded; hexline also checks that each is the child of the previous one.',
    unit: 'block',
    figure: 'cpu',
    amounts: {
      'undici, bytes only': 2500,
      'undici + JSON.parse': 4000,
      hexline: 4000,
      'viem on hexline': 1500,
      'ethers on hexline': 200,
      'viem, batched': 200,
      'viem, not batched': 100,
      ethers: 12,
      web3: 5,
      '@subsquid/rpc-client': 300,
      ox: 100,
    },
    against: ['undici + JSON.parse', 'viem, batched', 'ethers'],
  },
  'full blocks, gzip': {
    what: 'The same full blocks from a server that compresses its replies with gzip, level 1.',
    ...COMPRESSED_BLOCKS,
  },
  'full blocks, https, gzip': {
    what: 'The same compressed replies over TLS, as providers send them.',
    ...COMPRESSED_BLOCKS,
    isSecure: true,
  },
  'full blocks, 6 fields': {
    what: 'The timestamp of the same blocks and six fields of each transaction.',
    unit: 'block',
    figure: 'cpu',
    amounts: { 'undici + JSON.parse': 2500, hexline: 2500 },
    against: ['undici + JSON.parse'],
    leftOut: { 'viem, batched': 'no peer can decode a selection of fields: see full blocks' },
  },
  'blocks with hashes': {
    what: 'A range of blocks with the hashes of their transactions.',
    unit: 'block',
    figure: 'cpu',
    amounts: {
      'undici, bytes only': 30000,
      'undici + JSON.parse': 40000,
      hexline: 40000,
      'viem on hexline': 12000,
      'ethers on hexline': 3000,
      'viem, batched': 3000,
      'viem, not batched': 300,
      ethers: 300,
      web3: 40,
      '@subsquid/rpc-client': 3000,
      ox: 300,
    },
    against: ['undici + JSON.parse', 'viem, batched', 'ethers'],
  },
  'full blocks with receipts': {
    what: 'Blocks with whole transactions and, by eth_getBlockReceipts, their receipts; hexline also checks that they belong to the block.',
    unit: 'block',
    figure: 'cpu',
    amounts: {
      'undici, bytes only': 400,
      'undici + JSON.parse': 300,
      hexline: 300,
      'viem on hexline': 200,
      'viem, batched': 80,
      '@subsquid/rpc-client': 150,
      ox: 60,
    },
    against: ['undici + JSON.parse', 'viem, batched'],
    leftOut: {
      'ethers on hexline': 'its getBlocks does not support receipts',
      ethers: 'has no eth_getBlockReceipts',
      web3: 'has no eth_getBlockReceipts',
    },
  },
  'verify: link': {
    what: 'The checks that getBlocks always makes, alone: number, parent, and the receipts of block 18,500,000 of mainnet (157 transactions, 408 logs), without a server. undici + JSON.parse fetches blocks with receipts: what these checks come on top of, at the least.',
    unit: 'block',
    figure: 'cpu',
    amounts: { 'undici + JSON.parse': 300, hexline: 100_000 },
    against: ['undici + JSON.parse'],
  },
  'verify: header': {
    what: 'verifyBlock of the same block, decoded, without its transactions and receipts.',
    unit: 'block',
    figure: 'cpu',
    amounts: { hexline: 10_000 },
    against: ['hexline'],
  },
  'verify: full': {
    what: 'The same with transactions and receipts. A core verifies 1,000,000 blocks a second, divided by the µs of CPU time.',
    unit: 'block',
    figure: 'cpu',
    amounts: { hexline: 300 },
    warmUp: 1,
    against: ['hexline'],
  },
  verifyDataset: {
    what: 'A dataset of 20 such blocks, each the child of the one before, as Parquet with all tables, verified in one thread.',
    unit: 'block',
    figure: 'cpu',
    amounts: { hexline: 100 },
    warmUp: 1,
    against: ['hexline'],
    isWhole: true,
  },
  '10,000 logs': {
    what: 'eth_getLogs with one reply of 10,000 logs, decoded, one after another.',
    unit: 'reply',
    figure: 'cpu',
    amounts: {
      'undici, bytes only': 20,
      'undici + JSON.parse': 14,
      hexline: 14,
      'viem, not batched': 6,
      ethers: 1,
      '@subsquid/rpc-client': 8,
      ox: 6,
    },
    against: ['undici + JSON.parse', 'viem, not batched'],
    leftOut: { web3: 'takes at least four seconds for one reply' },
  },
  logs: {
    what: `The logs of one contract in a long range of blocks, rare in most of them and many in some, from a server that answers each POST after 20 ms and refuses ranges of more than ${MOST_BLOCKS} blocks or ${MOST_RESULTS} results. hexline also checks that each log was asked for, and gives them in order.`,
    unit: 'block',
    figure: 'wall',
    path: '/logs/20',
    amounts: {
      'undici, bytes only': 1_000_000,
      'undici + JSON.parse': 1_000_000,
      hexline: 1_000_000,
      'viem, not batched': 1_000_000,
      '@subsquid/rpc-client': 1_000_000,
    },
    warmUp: 0.5,
    isCounted: true,
    against: ['viem, not batched', '@subsquid/rpc-client'],
    leftOut: { 'viem, batched': 'a batch of long replies takes as long as all of them', ethers: 'takes 145 us a log: see 10,000 logs' },
  },
  'audit, one contract': {
    what: 'The logs of one contract, one in each fiftieth block, with each level of audit. By chance the contract is in the blooms of one block in eight. The server answers each POST after 20 ms.',
    ...audits(1000),
  },
  'audit, all transfers': {
    what: 'Each Transfer of all contracts in the same blocks, with each level of audit.',
    ...audits(200),
  },
  'NDJSON export': {
    what: "Full blocks into a file, one line of JSON a block; undici's bytes are only read, not written.",
    unit: 'block',
    figure: 'cpu',
    amounts: { 'undici, bytes only': 2500, 'undici + JSON.parse': 200, hexline: 2500 },
    against: ['undici, bytes only'],
    leftOut: { 'viem, batched': 'no peer writes NDJSON' },
  },
  'NDJSON dataset': {
    what: 'Full blocks into a folder of two tables as NDJSON, with a SHA-256 of each file; what undici reads is not written.',
    ...DATASET,
  },
  'NDJSON dataset, compressed': { what: 'The same, compressed with gzip.', ...DATASET },
  'Parquet dataset': { what: 'The same as Parquet, with all columns.', ...DATASET },
  'small calls, 64 in parallel': {
    what: 'eth_getBalance of distinct accounts, in rounds of 64 that start together.',
    unit: 'call',
    figure: 'cpu',
    amounts: {
      'undici + JSON.parse': 10000,
      hexline: 60000,
      'viem on hexline': 30000,
      'ethers on hexline': 8000,
      'viem, batched': 10000,
      'viem, not batched': 800,
      ethers: 5000,
      web3: 800,
      '@subsquid/rpc-client': 20000,
      ox: 800,
    },
    against: ['undici + JSON.parse', 'viem, batched', 'ethers'],
  },
  'small calls, gzip': {
    what: 'The same calls, 64 in parallel, to a server that compresses even the smallest reply with gzip.',
    unit: 'call',
    figure: 'cpu',
    path: '/gzip',
    amounts: {
      'undici + JSON.parse': 5000,
      hexline: 40000,
      'viem on hexline': 20000,
      'viem, batched': 8000,
      ethers: 3000,
    },
    against: ['undici + JSON.parse', 'viem, batched', 'ethers'],
  },
  'small calls, in sequence': {
    what: 'The same calls uncompressed, one after another.',
    unit: 'call',
    figure: 'wall',
    amounts: {
      'undici + JSON.parse': 2500,
      hexline: 2500,
      'viem on hexline': 1000,
      'ethers on hexline': 1000,
      'viem, not batched': 400,
      ethers: 300,
      web3: 400,
      '@subsquid/rpc-client': 500,
      ox: 400,
    },
    against: ['undici + JSON.parse', 'viem, not batched', 'ethers'],
    leftOut: { 'viem, batched': 'a batch of one call would only add the wait for its timer' },
  },
  '50 ms latency': {
    what: 'Full blocks from a server that answers each POST after 50 ms.',
    unit: 'block',
    figure: 'wall',
    path: '/late/50',
    amounts: {
      'undici + JSON.parse': 2400,
      hexline: 2400,
      'viem on hexline': 2400,
      'ethers on hexline': 400,
      'viem, batched': 600,
      'viem, not batched': 400,
      ethers: 80,
      '@subsquid/rpc-client': 1200,
    },
    against: ['undici + JSON.parse', 'viem, batched'],
    leftOut: { web3: 'its CPU time alone exceeds the latency', ox: 'the same as viem, not batched: both use fetch' },
  },
  throttled: {
    what: `eth_getBalance from a server that answers ${THROTTLED_RATE} calls a second and refuses the rest with 429 and Retry-After: 1. 64 callers, each of which makes its next call when the previous one is answered.`,
    unit: 'call',
    figure: 'wall',
    path: `/throttled/${THROTTLED_RATE}`,
    amounts: { hexline: 1000, 'hexline, told the rate': 1000, 'viem, batched': 1000, ethers: 1000, '@subsquid/rpc-client': 1000 },
    warmUp: 0,
    isWhole: true,
    against: ['hexline, told the rate'],
    leftOut: { web3: 'does not retry', ox: 'does not retry', 'undici + JSON.parse': 'does not retry' },
  },
  'throttled and faulty': {
    what: `Blocks with hashes and their receipts from a server that accepts ${FAULTY_RATE} calls a second and fails ${FAULTS * 100} % of the POSTs: HTTP 500 or 503, a cut connection, a stalled body, a truncated body. All clients of a round get the same faults.`,
    unit: 'block',
    figure: 'wall',
    path: '/faulty',
    amounts: { hexline: 1000, 'viem, batched': 1000 },
    warmUp: 0,
    isWhole: true,
    against: ['viem, batched'],
    leftOut: {
      'undici + JSON.parse': 'does not retry',
      ethers: 'has no eth_getBlockReceipts',
      web3: 'does not retry',
      ox: 'does not retry',
      '@subsquid/rpc-client': 'not tested',
    },
  },
  memory: {
    what: 'Resident memory while full blocks are streamed: the peak, and the growth between the middle and the end.',
    unit: 'block',
    figure: 'peakMb',
    amounts: { 'undici + JSON.parse': 3000, hexline: 3000, 'viem, batched': 200 },
    warmUp: 0.5,
    against: ['undici + JSON.parse'],
  },
  import: {
    what: 'The first import of the package in a new process: the cost at every start of a program or function.',
    unit: 'import',
    figure: 'cpu',
    amounts: { 'undici + JSON.parse': 1, hexline: 1 },
    warmUp: 0,
    roundsEach: 3,
    isWhole: true,
    against: ['undici + JSON.parse'],
  },
}
