import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Blocks to replay: as JSON text without the braces, and without number, hash and parentHash, which the server puts in. */
export interface Blocks {
  readonly source: string
  readonly full: readonly string[]
  readonly hashes: readonly string[]
}

const corpus = new URL('../../shared/corpus/blocks/', import.meta.url)

/** Real blocks of mainnet where a corpus of them is present, else made ones of the same shape. */
export function loadBlocks(): Blocks {
  const real = existsSync(corpus)
    ? readdirSync(corpus)
        .filter((name) => /^mainnet-(?!1000000|DAO)/.test(name))
        .map((name) => JSON.parse(readFileSync(fileURLToPath(new URL(name, corpus)), 'utf8')).block as Block)
    : []
  const blocks = real.length > 0 ? real : Array.from({ length: 9 }, (_, i) => makeBlock(22 + i * 30, i + 1))
  return {
    source: real.length > 0 ? 'real mainnet blocks' : 'made blocks',
    full: blocks.map((block) => bodyOf(block)),
    hashes: blocks.map((block) => bodyOf({ ...block, transactions: block.transactions.map(({ hash }) => hash as never) })),
  }
}

interface Block {
  readonly transactions: readonly { readonly hash: string }[]
  readonly [field: string]: unknown
}

function bodyOf({ number, hash, parentHash, ...rest }: Block): string {
  return JSON.stringify(rest).slice(1, -1)
}

/** A block with the fields and sizes of one of mainnet: about 1.3 kB a transaction. */
function makeBlock(count: number, seed: number): Block {
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state % below
  }
  const hex = (bytes: number) => `0x${Array.from({ length: bytes }, () => random(256).toString(16).padStart(2, '0')).join('')}`
  const quantity = (below: number) => `0x${random(below).toString(16)}`
  const transactions = Array.from({ length: count }, (_, i) => ({
    hash: hex(32),
    blockHash: hex(32),
    blockNumber: '0x1564570',
    transactionIndex: `0x${i.toString(16)}`,
    from: hex(20),
    to: hex(20),
    gas: quantity(500_000),
    gasPrice: quantity(2_000_000_000),
    maxFeePerGas: quantity(2_000_000_000),
    maxPriorityFeePerGas: quantity(1_000_000_000),
    input: random(3) === 0 ? '0x' : hex(4 + 32 * random(24)),
    nonce: quantity(100_000),
    value: `0x${random(1e9).toString(16)}${random(1e9).toString(16)}`,
    type: '0x2',
    accessList: [],
    chainId: '0x1',
    v: '0x1',
    yParity: '0x1',
    r: hex(32),
    s: hex(32),
  }))
  return {
    nonce: '0x0000000000000000',
    sha3Uncles: hex(32),
    logsBloom: hex(256),
    transactionsRoot: hex(32),
    stateRoot: hex(32),
    receiptsRoot: hex(32),
    miner: hex(20),
    difficulty: '0x0',
    extraData: hex(16),
    size: quantity(200_000),
    gasLimit: '0x2255100',
    gasUsed: quantity(30_000_000),
    timestamp: '0x681a1a2b',
    mixHash: hex(32),
    baseFeePerGas: quantity(1_000_000_000),
    blobGasUsed: '0x40000',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: hex(32),
    requestsHash: hex(32),
    withdrawalsRoot: hex(32),
    uncles: [],
    transactions,
    withdrawals: Array.from({ length: 16 }, () => ({ index: quantity(1e8), validatorIndex: quantity(1e6), address: hex(20), amount: quantity(2e7) })),
  }
}
