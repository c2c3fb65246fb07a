import { ethereum } from '../eth/protocol.ts'
import { type Asker, type Heard, isRefusal } from './asker.ts'
import { exactly, type Figure, unknown } from './figure.ts'
import { WITHOUT_LOGS } from './limits.ts'
import { longest, type Trial } from './longest.ts'
import { quantity, type Support } from './methods.ts'

/**
 * How far back the data of an endpoint reach: the oldest block of each kind, as the endpoint says
 * (`eth_capabilities`), or else as calls for old blocks show. `at least`: the endpoint has this
 * block, and older ones may be there.
 */
export interface EndpointHistory {
  /** The oldest block with its transactions. */
  readonly blocks: Figure
  /** The oldest block with its receipts. */
  readonly receipts: Figure
  /** The oldest block with its logs. */
  readonly logs: Figure
  /** The oldest block with its state. */
  readonly state: Figure
  /** One old value of the state, compared with what the chain itself says. */
  readonly oldState: OldState
}

/** Whether an old value is right; null when that could not be found. */
export interface OldState {
  readonly isRight: boolean | null
  /** The value in words, or why there is none. */
  readonly how: string
}

/** What is known of the endpoint already. */
export interface Known {
  /** Number of the latest block. */
  readonly head: number
  readonly chainId: number | null
  /** Blocks below the head whose state it has. */
  readonly archiveDepth: Figure
  readonly methods: { readonly eth_getBlockReceipts: Support; readonly eth_getLogs: Support }
}

/**
 * Depths at which nodes often end, in blocks. Mainnet nodes may drop all blocks before the merge.
 */
const DEPTHS = [10_000_000, 1_000_000, 100_000, 10_000, 1024, 256, 128, 64, 8, 1]
const MERGE = 15_537_394

export async function historyOf(asker: Asker, known: Known): Promise<EndpointHistory> {
  const { head, chainId, archiveDepth, methods } = known
  const told = await capabilitiesOf(asker)
  const usual = chainId === 1 && head > MERGE ? [head - MERGE, ...DEPTHS].sort((a, b) => b - a) : DEPTHS
  const block = (number: number) => asker.one('eth_getBlockByNumber', [quantity(number), false])
  const blocks = told.blocks ?? (await oldest(head, 'block', usual, block))
  // Everything else of a block was most likely dropped with it.
  const likely = blocks.value === null ? usual : [head - blocks.value, ...usual]
  const receiptsIn = (number: number) => asker.one('eth_getBlockReceipts', [quantity(number)])
  const logsIn = (number: number) => asker.one('eth_getLogs', [{ fromBlock: quantity(number), toBlock: quantity(number), address: WITHOUT_LOGS }])
  const receipts = told.receipts ?? missing(methods.eth_getBlockReceipts) ?? (await oldest(head, 'the receipts of block', likely, receiptsIn))
  const logs = told.logs ?? missing(methods.eth_getLogs) ?? (await oldest(head, 'the logs of block', likely, logsIn))
  const state = told.state ?? blockAt(head, archiveDepth)
  const oldState = await compareOldState(asker, head, state)
  return { blocks, receipts, logs, state: oldState.isRight === false ? unknown(oldState.how) : state, oldState }
}

/** The same figure for all. */
export function noHistory(figure: Figure<never>): EndpointHistory {
  return { blocks: figure, receipts: figure, logs: figure, state: figure, oldState: { isRight: null, how: figure.how } }
}

/** What the endpoint says of itself. Most nodes do not have the method. */
async function capabilitiesOf(asker: Asker): Promise<Readonly<Record<string, Figure>>> {
  const { method, params } = ethereum.askHistory
  const heard = await asker.one(method, params)
  if (isRefusal(heard)) return {}
  return Object.fromEntries(
    [...ethereum.historyOf(heard.value)].map(([resource, from]) => [
      resource,
      Number.isFinite(from) ? exactly(from, 'reported by eth_capabilities') : unknown('eth_capabilities reports that it has none'),
    ]),
  )
}

function missing({ supported, how }: Support): Figure | undefined {
  return supported === false ? unknown(how) : undefined
}

/** The oldest block for which `ask` gets an answer. */
async function oldest(head: number, what: string, depths: readonly number[], ask: (number: number) => Promise<Heard>): Promise<Figure> {
  if (head <= 1) return exactly(0, 'the chain is no longer')
  const depth = await longest({
    most: head - 1,
    least: 0,
    rungs: depths,
    say: (blocks) => `${what} ${head - blocks}`,
    test: async (blocks) => trialOf(await ask(head - blocks), head),
  })
  return depth.value === head - 1 ? exactly(1, 'it answers for block 1') : blockAt(head, depth)
}

function trialOf(heard: Heard, head: number): Trial {
  if (!isRefusal(heard)) return heard.value === null ? { refused: 'it answers null' } : 'passed'
  const { kind, why, error } = heard
  if (kind !== 'pruned' && kind !== 'lagging' && kind !== 'not-found') return { unclear: why }
  const from = error && ethereum.oldestIn(error)
  return { refused: why, names: from === undefined ? undefined : head - from }
}

/** A depth below the head as the number of a block. */
function blockAt(head: number, { known, value, refused, how }: Figure): Figure {
  return { known, value: value === null ? null : head - value, refused: refused === null ? null : head - refused, how }
}

/** Where to look for a transaction, as parts of the way from the oldest state to the head. */
const PLACES = [1 / 2, 1 / 4, 3 / 4, 1 / 8, 7 / 8]

/**
 * A transaction says which nonce its sender had in the block before, and that the sender has had a
 * higher one ever since. A node that answers for old blocks with a newer state gives that one.
 */
async function compareOldState(asker: Asker, head: number, { value: from, how }: Figure): Promise<OldState> {
  if (from === null) return { isRight: null, how }
  const numbers = new Set(PLACES.map((part) => from + 1 + Math.floor((head - from - 1) * part)))
  let why: string | undefined
  for (const number of numbers) {
    if (number > head) continue
    const heard = await asker.one('eth_getBlockByNumber', [quantity(number), true])
    if (isRefusal(heard)) {
      why = heard.why
      continue
    }
    const first = firstTransaction(heard.value)
    if (first === undefined) continue
    const before = number - 1
    const given = await asker.one('eth_getTransactionCount', [first.from, quantity(before)])
    if (isRefusal(given)) return { isRight: null, how: `the nonce of ${first.from} at block ${before}: ${given.why}` }
    return compared(numberOf(given.value), first.nonce, `nonce of ${first.from} at block ${before}`, `its transaction in block ${number}`)
  }
  return { isRight: null, how: why ?? 'found no transaction to compare with' }
}

function compared(given: number | undefined, nonce: number, what: string, source: string): OldState {
  if (given === nonce) return { isRight: true, how: `the ${what} is ${nonce}, as ${source} says` }
  const differs = `the ${what} is ${nonce}, as ${source} says, but the endpoint gives ${given ?? 'no number'}`
  if (given !== undefined && given > nonce) return { isRight: false, how: `${differs}: it answers with a newer state` }
  return { isRight: null, how: differs }
}

/** Types of transactions that a sender has signed: 0 to 4. Others belong to rollups. */
const SIGNED = /^0x0?[0-4]$/

/** The first signed transaction of a block: its sender's first in the block. */
function firstTransaction(block: unknown): { readonly from: string; readonly nonce: number } | undefined {
  const { transactions } = (block ?? {}) as { transactions?: unknown }
  if (!Array.isArray(transactions)) return undefined
  for (const each of transactions) {
    const { from, nonce, type = '0x0' } = (each ?? {}) as { from?: unknown; nonce?: unknown; type?: unknown }
    const number = numberOf(nonce)
    if (typeof from === 'string' && /^0x[0-9a-f]{40}$/i.test(from) && number !== undefined && SIGNED.test(String(type))) return { from, nonce: number }
  }
  return undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : undefined
}
