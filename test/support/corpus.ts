import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A request and a real node's response to it. */
export interface Pair {
  readonly name: string
  readonly method: string
  readonly request: { readonly method: string; readonly params?: unknown[] }
  readonly response: {
    readonly id: unknown
    readonly result?: unknown
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | null
  }
  /** The recording shows that there was an error, but not which one. */
  readonly anyError?: boolean
}

/** A block with its receipts, as results without the envelope. */
export interface BlockFile {
  readonly name: string
  readonly chainId: number
  readonly block: { readonly transactions: unknown[] }
  readonly receipts?: unknown[]
  readonly uncles?: unknown[]
}

/** The corpus lies beside the checkout, in `../shared/corpus`; it is not part of the project. */
const folder = fileURLToPath(new URL('../../../shared/corpus', import.meta.url))

/** Whether the corpus is present. */
export const hasCorpus = existsSync(folder)

/** Why tests that need the corpus are skipped. */
export const noCorpus = 'SKIPPED: there is no corpus of real replies in ../shared/corpus, beside the checkout'

/** Files of pairs of the 28 methods; the corpus has others, too. */
const PAIRS = ['execution-apis.jsonl', 'node-replies.jsonl']

/** Every recorded pair of the 28 methods; none without a corpus. */
export function readPairs(): Pair[] {
  return PAIRS.flatMap(pairsOf)
}

/** Every recorded pair of other methods; none without a corpus. */
export function readNodePairs(): Pair[] {
  return pairsOf('more-methods.jsonl')
}

function pairsOf(file: string): Pair[] {
  if (!hasCorpus) return []
  const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Pair).map((pair) => ({ ...pair, method: pair.method ?? pair.request.method }))
}

/** Every recorded block; none without a corpus. */
export function readBlocks(): BlockFile[] {
  if (!hasCorpus) return []
  return readdirSync(join(folder, 'blocks'))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, 'blocks', file), 'utf8')) as BlockFile)
}
