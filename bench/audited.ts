import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { type Blocks, fill, hashOf, type RawPair, type Template, templateOf } from './blocks.ts'
import { MOST_BLOCKS, MOST_RESULTS, type Refusal } from './logs.ts'
import type { RawReceipt } from './made-blocks.ts'

/*
 * The chain of the workloads `audit`: the blocks of the others, with blooms and roots that fit
 * their receipts. One contract, which is in none of them, has a log in one block of fifty.
 */

/** The topic of a transfer. */
export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const EVERY = 50
const FIRST = 7

/** Whether the rare contract has a log in this block. */
export function hasRareLog(block: number): boolean {
  return block % EVERY === FIRST
}

export interface AuditedBlocks {
  /** The rare contract. By chance it is in the bloom of one of the eight blocks. */
  readonly rare: string
  /** Number of transfers in each of the blocks, which repeat. */
  readonly transfers: readonly number[]
  header(block: number): Buffer
  receipts(block: number): Buffer
  /** The transfers of a range, or the logs of the rare contract. Refused as in logs.ts. */
  logs(from: number, to: number, isOfTransfers: boolean): Buffer | Refusal
}

export async function auditedBlocks({ raw }: Pick<Blocks, 'raw'>): Promise<AuditedBlocks> {
  const plain = raw.map(withLikelyItems)
  const blooms = plain.map(({ receipts }) => bloomOf(receipts))
  const rare = contractIn(blooms)
  const blocks = await Promise.all(plain.map((pair) => shapesOf(pair, rare)))
  const withRareLog = await Promise.all(plain.map((pair) => shapesOf({ ...pair, receipts: withLog(pair, rare) }, rare)))
  const shapes = (block: number) => (hasRareLog(block) ? withRareLog : blocks)[block % blocks.length] as Shapes
  return {
    rare,
    transfers: blocks.map(({ transfers }) => transfers.count),
    header: (block) => fill(shapes(block).header, block),
    receipts: (block) => fill(shapes(block).receipts, block),
    logs(from, to, isOfTransfers) {
      if (to - from + 1 > MOST_BLOCKS) return { code: -32000, message: `You can make eth_getLogs requests with up to a ${MOST_BLOCKS} block range` }
      const parts: Buffer[] = []
      let count = 0
      for (let block = from; block <= to; block++) {
        const { transfers, rareLogs } = shapes(block)
        const chosen = isOfTransfers ? transfers : rareLogs
        if (chosen.count === 0) continue
        count += chosen.count
        if (count > MOST_RESULTS) return { code: -32602, message: `query returned more than ${MOST_RESULTS} results` }
        parts.push(parts.length === 0 ? OPEN : COMMA, fill(chosen.template, block))
      }
      return Buffer.concat(parts.length === 0 ? [OPEN, CLOSE] : [...parts, CLOSE])
    },
  }
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** A block in the forms that the server sends. Lists of logs are without brackets. */
interface Shapes {
  readonly header: Template
  readonly receipts: Template
  readonly transfers: { readonly template: Template; readonly count: number }
  readonly rareLogs: { readonly template: Template; readonly count: number }
}

async function shapesOf({ block, receipts: given }: RawPair, rare: string): Promise<Shapes> {
  const receipts = given.map((receipt) => ({ ...receipt, logsBloom: hexOf(bloomOf([receipt])) }))
  const logs = receipts.flatMap((receipt) => receipt.logs) as unknown as readonly Log[]
  const listOf = (chosen: readonly Log[]) => ({ template: templateOf(block, chosen, (text) => text.slice(1, -1)), count: chosen.length })
  const transactions = block.transactions.map(({ hash }) => hash)
  const header = { ...block, logsBloom: hexOf(bloomOf(receipts)), receiptsRoot: hexOf(await rootOf(receipts)), transactions }
  return {
    header: templateOf(block, header),
    receipts: templateOf(block, receipts),
    transfers: listOf(logs.filter(({ topics }) => topics[0] === TRANSFER)),
    rareLogs: listOf(logs.filter(({ address }) => address === rare)),
  }
}

/** The root of the trie of receipts, by another implementation than hexline's. */
async function rootOf(receipts: readonly RawReceipt[]): Promise<Uint8Array> {
  const trie = await createMPT()
  for (const [i, receipt] of receipts.entries()) await trie.put(RLP.encode(i), encoded(receipt as unknown as RootedReceipt))
  return trie.root()
}

/**
 * What the root covers of a receipt: EIP-2718, and before Byzantium the state in place of the
 * status.
 */
function encoded({ type = '0x0', status, root, cumulativeGasUsed, logsBloom, logs }: RootedReceipt): Uint8Array {
  const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex')
  const listed = logs.map(({ address, topics, data }) => [bytes(address), topics.map(bytes), bytes(data)])
  const list = RLP.encode([status === undefined ? bytes(root as string) : BigInt(status), BigInt(cumulativeGasUsed), bytes(logsBloom), listed])
  return Number(type) === 0 ? list : Buffer.concat([Uint8Array.of(Number(type)), list])
}

interface RootedReceipt {
  readonly type?: string
  readonly status?: string
  readonly root?: string
  readonly cumulativeGasUsed: string
  readonly logsBloom: string
  readonly logs: readonly (Log & { readonly data: string })[]
}

interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly [field: string]: unknown
}

/** The receipts with one more log, in the last of them. */
function withLog({ block, receipts }: RawPair, address: string): RawReceipt[] {
  const logs = receipts.flatMap((receipt) => receipt.logs)
  const last = receipts.at(-1) as RawReceipt
  const log = {
    address,
    topics: [APPROVAL],
    data: `0x${'0'.repeat(63)}1`,
    blockNumber: block.number,
    transactionHash: last.transactionHash,
    transactionIndex: last.transactionIndex,
    blockHash: block.hash,
    logIndex: `0x${logs.length.toString(16)}`,
    removed: false,
  }
  return [...receipts.slice(0, -1), { ...last, logs: [...last.logs, log] }]
}

/** Contracts and accounts in the logs of a block, for each transaction, as in block 18,500,000. */
const CONTRACTS = 0.5
const ACCOUNTS = 2.2

/**
 * Generated logs have an address and topics of their own each, which would set nearly all bits.
 * Here they get those of fewer contracts and accounts, and six of ten are transfers.
 */
function withLikelyItems(pair: RawPair): RawPair {
  if (!pair.isMade) return pair
  const { length } = pair.block.transactions
  const name = (hex: string, count: number) => hashOf((Number.parseInt(hex.slice(2, 14), 16) % Math.max(1, Math.floor(count))) + length * 1000)
  const receipts = pair.receipts.map((receipt) => ({
    ...receipt,
    logs: (receipt.logs as unknown as readonly Log[]).map((log) => ({
      ...log,
      address: `0x${name(log.address, CONTRACTS * length).slice(24)}`,
      topics: log.topics.map((topic, i) =>
        i > 0
          ? `0x${'0'.repeat(24)}${name(topic, ACCOUNTS * length).slice(24)}`
          : Number.parseInt(topic.slice(-4), 16) % 10 < 6
            ? TRANSFER
            : `0x${name(topic, 12)}`,
      ),
    })),
  }))
  return { ...pair, receipts }
}

function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

const BLOOM_BYTES = 256

function bloomOf(receipts: readonly RawReceipt[]): Buffer {
  const bloom = Buffer.alloc(BLOOM_BYTES)
  for (const { logs } of receipts) {
    for (const { address, topics } of logs as unknown as readonly Log[]) {
      for (const item of [address, ...topics])
        for (const bit of bitsOf(item)) bloom[BLOOM_BYTES - 1 - (bit >>> 3)] = (bloom[BLOOM_BYTES - 1 - (bit >>> 3)] as number) | (1 << (bit & 7))
    }
  }
  return bloom
}

/** Yellow Paper, 4.3.1. */
function bitsOf(item: string): number[] {
  const hash = keccak_256(Buffer.from(item.slice(2), 'hex'))
  return [0, 2, 4].map((at) => (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047)
}

/** The first contract that is in exactly one of these blooms. */
function contractIn(blooms: readonly Buffer[]): string {
  for (let number = 1; ; number++) {
    const address = `0x${number.toString(16).padStart(40, 'd')}`
    const bits = bitsOf(address)
    const matches = blooms.filter((bloom) => bits.every((bit) => ((bloom[BLOOM_BYTES - 1 - (bit >>> 3)] as number) >>> (bit & 7)) & 1))
    if (matches.length === 1) return address
  }
}
