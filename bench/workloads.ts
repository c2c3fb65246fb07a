/** The clients, the floor first, then hexline and what stands on it, then the peers. */
export type ClientName =
  | 'undici, bytes only'
  | 'undici + JSON.parse'
  | 'hexline'
  | 'hexline, told the rate'
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
  | 'full blocks, 6 fields'
  | 'blocks with hashes'
  | 'full blocks with receipts'
  | '10,000 logs'
  | 'NDJSON export'
  | 'small calls, 64 in parallel'
  | 'small calls, in sequence'
  | '50 ms latency'
  | 'throttled'
  | 'throttled and faulty'
  | 'memory'
  | 'import'

export interface Workload {
  readonly what: string
  /** What is counted, and what figures are per. */
  readonly unit: 'block' | 'reply' | 'call' | 'import'
  /** The figure that tells: others are shown beside it. */
  readonly figure: 'cpu' | 'wall' | 'peakMb'
  /** Who does it, and how many units are measured: a second or two for those whose ratio is small, half a second for the others. */
  readonly amounts: { readonly [Name in ClientName]?: number }
  /** Units before those that are measured, as a share of them. Default 0.25. */
  readonly warmUp?: number
  /** What the others are compared with. */
  readonly against: readonly ClientName[]
  /** How the server behaves, as a path of it. */
  readonly path?: string
  /** Rounds for each one of the run. Default 1. */
  readonly roundsEach?: number
  /** Amounts that are too small to be cut for a quick run, or that the result depends on. */
  readonly isWhole?: boolean
  /** Who cannot do it, and why. */
  readonly leftOut?: { readonly [Name in ClientName]?: string }
}

/** Calls a second of the throttled server. */
export const THROTTLED_RATE = 500
/** Calls a second of the faulty server, and the share of its POSTs that go wrong. */
export const FAULTY_RATE = 200
export const FAULTS = 0.1

export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  'full blocks': {
    what: 'A range of blocks with whole transactions, decoded; hexline also checks that each is the child of the one before.',
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
  'full blocks, 6 fields': {
    what: 'The same blocks, of which only the timestamp and six fields of each transaction are wanted.',
    unit: 'block',
    figure: 'cpu',
    amounts: { 'undici + JSON.parse': 2500, hexline: 2500 },
    against: ['undici + JSON.parse'],
    leftOut: { 'viem, batched': 'no peer decodes less than all: see full blocks' },
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
    what: 'Blocks with whole transactions and, by eth_getBlockReceipts, their receipts; hexline also checks that they are those of the block.',
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
      'ethers on hexline': 'its getBlocks has no receipts',
      ethers: 'has no eth_getBlockReceipts',
      web3: 'has no eth_getBlockReceipts',
    },
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
    leftOut: { web3: 'takes four seconds and more for one reply' },
  },
  'NDJSON export': {
    what: "Full blocks into a file, one line of JSON a block; undici's bytes are only read, not written.",
    unit: 'block',
    figure: 'cpu',
    amounts: { 'undici, bytes only': 2500, 'undici + JSON.parse': 200, hexline: 2500 },
    against: ['undici, bytes only'],
    leftOut: { 'viem, batched': 'no peer writes NDJSON' },
  },
  'small calls, 64 in parallel': {
    what: 'eth_getBalance of distinct accounts, 64 that start together, then the next 64.',
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
  'small calls, in sequence': {
    what: 'The same, one after another.',
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
    leftOut: { 'viem, batched': 'a batch of one only waits for its timer' },
  },
  '50 ms latency': {
    what: 'Full blocks from a server that answers each POST 50 ms late.',
    unit: 'block',
    figure: 'wall',
    path: '/late/50',
    amounts: {
      'undici + JSON.parse': 600,
      hexline: 600,
      'viem on hexline': 600,
      'ethers on hexline': 100,
      'viem, batched': 150,
      'viem, not batched': 100,
      ethers: 20,
      '@subsquid/rpc-client': 300,
    },
    against: ['undici + JSON.parse', 'viem, batched'],
    leftOut: { web3: 'its CPU time alone is longer than the latency', ox: 'as viem, not batched: the same fetch' },
  },
  throttled: {
    what: `eth_getBalance from a server that answers ${THROTTLED_RATE} calls a second, and the rest with 429 and Retry-After: 1; 64 callers, each with its next call when the last one is answered.`,
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
    what: `Blocks with hashes and their receipts from a server that takes ${FAULTY_RATE} calls a second, and of which ${FAULTS * 100} % of the POSTs go wrong: HTTP 500 or 503, a cut connection, a body that stops, a body that is cut short; the same ones for all clients of a round.`,
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
      '@subsquid/rpc-client': 'was not tried',
    },
  },
  memory: {
    what: 'Resident memory while full blocks are streamed: the peak, and whether it grows between the middle and the end.',
    unit: 'block',
    figure: 'peakMb',
    amounts: { 'undici + JSON.parse': 3000, hexline: 3000, 'viem, batched': 200 },
    warmUp: 0.5,
    against: ['undici + JSON.parse'],
  },
  import: {
    what: 'The first import of the package in a new process: what every start of a program or function pays.',
    unit: 'import',
    figure: 'cpu',
    amounts: { 'undici + JSON.parse': 1, hexline: 1 },
    warmUp: 0,
    roundsEach: 3,
    isWhole: true,
    against: ['undici + JSON.parse'],
  },
}
