/*
 * The shape of mainnet's blocks, as measured on the real blocks of the corpus; `bench/README.md`
 * lists the figures and the blocks. A quantile is a pair of a share and the largest value of that
 * share, with linear interpolation between pairs.
 */

export type Quantiles = readonly (readonly [share: number, value: number])[]

/** Number of transactions in each of all eight blocks, from Byzantium to Prague. */
export const TRANSACTIONS_PER_BLOCK = [157, 136, 22, 91, 97, 259, 95, 184]

/** Shares of the transaction types, in the 572 transactions of the four blocks since Shanghai. */
export const TYPE_SHARES = [
  ['0x2', 0.872],
  ['0x0', 0.119],
  ['0x3', 0.007],
  ['0x4', 0.002],
] as const

/** Size of a transaction's input in the same blocks, in bytes; 477 on average. */
export const INPUT_BYTES: Quantiles = [
  [0, 0],
  [0.25, 0],
  [0.3, 68],
  [0.4, 68],
  [0.5, 100],
  [0.6, 260],
  [0.7, 644],
  [0.8, 676],
  [0.9, 804],
  [0.95, 1604],
  [0.99, 3716],
  [1, 10_000],
]

/**
 * Share of transactions that move no ether, and of those with an access list, in the same blocks.
 */
export const SHARE_WITHOUT_VALUE = 0.575
export const SHARE_WITH_ACCESS_LIST = 0.016

/** Number of logs in a receipt, in the 157 receipts of block 18,500,000; 2.6 on average. */
export const LOGS_PER_RECEIPT: Quantiles = [
  [0, 0],
  [0.25, 0],
  [0.3, 1],
  [0.5, 1],
  [0.6, 2],
  [0.7, 3],
  [0.8, 5],
  [0.9, 6],
  [0.95, 7],
  [0.99, 14],
  [1, 32],
]

/** Shares of the number of topics, and bytes of data, in its 408 logs; 63 bytes on average. */
export const TOPIC_SHARES = [
  [3, 0.628],
  [4, 0.137],
  [2, 0.13],
  [1, 0.105],
] as const
export const LOG_DATA_BYTES: Quantiles = [
  [0, 0],
  [0.1, 32],
  [0.6, 32],
  [0.7, 64],
  [0.8, 96],
  [0.9, 128],
  [0.95, 160],
  [0.99, 256],
  [1, 640],
]
