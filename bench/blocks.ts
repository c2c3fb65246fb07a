import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { makeBlocks, makeReceipts, type RawBlock, type RawReceipt } from './made-blocks.ts'
import { root } from './root.ts'

/** Blocks to replay. The same index in each list is the same block in another form. */
export interface Blocks {
  readonly source: string
  readonly raw: readonly RawPair[]
  readonly full: readonly Template[]
  readonly hashes: readonly Template[]
  readonly receipts: readonly Template[]
  /** Number of transactions in each block. */
  readonly transactions: readonly number[]
  /** One reply with many logs. */
  readonly logs: Buffer
}

/** A block with its receipts, before they become templates. */
export interface RawPair {
  readonly block: RawBlock
  readonly receipts: readonly RawReceipt[]
  /** The receipts are generated. */
  readonly isMade: boolean
}

/**
 * JSON in which only the block's number, hash and parent are replaced, in place, so that fields
 * keep the node's order.
 */
export interface Template {
  readonly bytes: Buffer
  readonly numbers: readonly number[]
  readonly hashes: readonly number[]
  readonly parents: readonly number[]
}

/** The bytes of block `number`, as a new buffer. `number` must have seven hexadecimal digits. */
export function fill({ bytes, numbers, hashes, parents }: Template, number: number): Buffer {
  const filled = Buffer.from(bytes)
  const digits = number.toString(16)
  const [hash, parent] = [hashOf(number), hashOf(number - 1)]
  for (const at of numbers) filled.write(digits, at, 'latin1')
  for (const at of hashes) filled.write(hash, at, 'latin1')
  for (const at of parents) filled.write(parent, at, 'latin1')
  return filled
}

/** The first block number to request. It has seven hexadecimal digits, as mainnet's have today. */
export const FIRST_BLOCK = 0x1400000

/** Number of logs in the long reply. */
export const LOGS = 10_000

const corpus = new URL('../shared/corpus/blocks/', root)

/**
 * Real mainnet blocks and their receipts if the corpus is present and `areMade` is false, otherwise
 * generated ones with the same shape. `counts` is the number of transactions in each generated one.
 */
export function loadBlocks(areMade = false, counts?: readonly number[]): Blocks {
  const real =
    !areMade && existsSync(corpus)
      ? readdirSync(corpus)
          .filter((name) => /^mainnet-(?!1000000|DAO)/.test(name))
          .map((name) => JSON.parse(readFileSync(new URL(name, corpus), 'utf8')) as { block: RawBlock; receipts?: RawReceipt[] })
      : []
  const made = real.length > 0 ? [] : makeBlocks(counts).map((block) => ({ block, receipts: undefined }))
  const blocks = [...real, ...made].map(({ block, receipts }) => ({ block, receipts: receipts ?? makeReceipts(block), isMade: receipts === undefined }))
  return {
    source: real.length > 0 ? 'real mainnet blocks' : 'made blocks of the shape of mainnet',
    raw: blocks,
    full: blocks.map(({ block }) => templateOf(block, block)),
    hashes: blocks.map(({ block }) => templateOf(block, { ...block, transactions: block.transactions.map(({ hash }) => hash) })),
    receipts: blocks.map(({ block, receipts }) => templateOf(block, receipts)),
    transactions: blocks.map(({ block }) => block.transactions.length),
    logs: manyLogs(blocks.flatMap(({ receipts }) => receipts.flatMap(({ logs }) => logs))),
  }
}

/** Placeholders of the right length that no node's JSON contains. */
const MARKS = { number: '#'.repeat(FIRST_BLOCK.toString(16).length), hash: '@'.repeat(64), parent: '~'.repeat(64) }

/** The JSON of a part of this block as a template; `shorten` may cut its text at both ends. */
export function templateOf({ number, hash, parentHash }: RawBlock, json: unknown, shorten = (text: string) => text): Template {
  const marks = new Map([
    [hash, `0x${MARKS.hash}`],
    [parentHash, `0x${MARKS.parent}`],
  ])
  const whole = JSON.stringify(json, (key, value) =>
    (key === 'number' || key === 'blockNumber') && value === number ? `0x${MARKS.number}` : (marks.get(value) ?? value),
  )
  const text = shorten(whole)
  const placesOf = (mark: string) => [...text.matchAll(new RegExp(mark, 'g'))].map(({ index }) => index)
  return { bytes: Buffer.from(text, 'latin1'), numbers: placesOf(MARKS.number), hashes: placesOf(MARKS.hash), parents: placesOf(MARKS.parent) }
}

function manyLogs(logs: readonly object[]): Buffer {
  return Buffer.from(JSON.stringify(Array.from({ length: LOGS }, (_, i) => ({ ...logs[i % logs.length], logIndex: `0x${i.toString(16)}` }))))
}

/** The hash of a block, without 0x. */
export function hashOf(number: number): string {
  return number.toString(16).padStart(64, 'b')
}
