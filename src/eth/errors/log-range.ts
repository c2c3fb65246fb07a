import { LONGEST_MESSAGE } from '../../text.ts'
import type { FailureRow } from './rule.ts'

/** Methods whose answer grows with the range of blocks. */
const LOGS = /^eth_(?:getLogs|getFilterLogs|newFilter)$/

/**
 * How nodes and providers report that a log query covers too many blocks or results, and that a
 * smaller range would not help.
 */
export const logRangeRows: readonly FailureRow[] = [
  // A smaller range does not help, though the messages mention ranges and maxima.
  { kind: 'lagging', method: LOGS, message: /beyond current head/i, source: 'execution-apis, reth' },
  { kind: 'invalid', method: LOGS, message: /^invalid block range params|exceed max (?:addresses|topics)/i, source: 'geth, reth' },
  {
    kind: 'unsupported',
    method: LOGS,
    message: /please,? specify (?:an address in your request|less number of addresses)/i,
    source: 'publicnode (-32701)',
  },

  // A smaller range helps.
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /\branges? (?:[\d,]{1,30} )?(?:is |are )?(?:too (?:large|wide|big|high)|(?:bigger|larger|greater|higher) than|over (?:limit|[\d,]{1,30} blocks)|exceeds? |limit exceeded|should be (?:less|smaller) than)|^invalid block range$/i,
    source:
      'Ankr, Base, Besu, Blast, Chainstack, Cloudflare, dRPC, Infura, LlamaRPC, Lotus, Monad, Moonbeam, Optimism, Ronin, Scroll, Sei, Somnia, Swell, Tatum (-16412)',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /max(?:imum)? (?:allowed )?(?:block )?range\b|maximum is set to [\d,]{1,30}|maximum allowed (?:number of requested blocks )?is [\d,]{1,30}|number of requested blocks/i,
    source: 'Avalanche, BSC, Cloudflare, Hedera, NodeReal, publicnode, reth, Sei, thirdweb, Tron',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /this block range should work|try with this block range|retry with the range|up to an? [\d,.]{1,30}[km]? block range|reduc(?:e|ing) (?:your |the |query ){0,3}block range/i,
    source: 'Alchemy, Aurora, Blast, Infura, reth, zkSync',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /limited to (?:a )?(?:\d{1,30} - )?[\d,]{1,30}[km]? (?:blocks? )?range|(?:limited to|at most|(?:logs for|requested|query) more than) [\d,.]{1,30} blocks?\b|\brange is limited to [\d,]{1,30}\b/i,
    source: '1RPC, BlockPI, Coinbase, Energy Web, Pocket (-32064), QuickNode (-32614), zkEVM',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /\bblocks distance: [\d,]{1,30}|query must be smaller than size|too wide blocks range|spans (?:too many|[\d,]{1,30}) blocks|query set is too large/i,
    source: 'Arbitrum (-32602), Confura, Ethermint, Harmony, Sonic',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message:
      /more than [\d,]{1,30} (?:results|logs)|too many (?:results|logs)|max (?:logs per response|results)|logs (?:matched by query|count)(?: limit)? exceed/i,
    source: 'Arbitrum, Conduit (-32005), Erigon, Infura, Nethermind, NodeReal, reth, zkEVM',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message: /log response size exceeded|response size (?:should not|is larger than)|response is too big|backend response too large/i,
    source: '1RPC, Alchemy, jsonrpsee (-32008), proxyd (-32020)',
  },
  {
    kind: 'range-too-large',
    method: LOGS,
    message: /^invalid params$/i,
    data: /\brange\b.{0,200}(?:too large|limit)|returned more than [\d,]{1,30} results/i,
    source: 'Tenderly (-32602, the reason in data)',
  },
  { kind: 'range-too-large', method: LOGS, code: -32005, message: /^limit exceeded$/i, source: 'BSC nodes' },
  { kind: 'range-too-large', method: LOGS, code: -32614, source: 'QuickNode, Base' },
]

/**
 * The longest range that a refusal of `eth_getLogs` names, in blocks; undefined when it names none.
 * It may be off by one, since providers do not agree on whether both ends count.
 *
 * @example
 * rangeLimit('query exceeds max block range 10,000') // 10000
 */
export function rangeLimit(message: string): number | undefined {
  const start = message.slice(0, LONGEST_MESSAGE)
  for (const pattern of LIMITS) {
    const [, digits, unit] = pattern.exec(start) ?? []
    if (digits === undefined) continue
    const limit = Number(digits.replaceAll(/[,.]/g, '')) * (unit === undefined ? 1 : /k/i.test(unit) ? 1000 : 1_000_000)
    if (Number.isSafeInteger(limit) && limit > 0) return limit
  }
  const range = suggestedRange(start)
  return range === undefined ? undefined : Number(range.to - range.from + 1n)
}

/**
 * The range of blocks, both ends included, that a refusal of `eth_getLogs` suggests; undefined when
 * it suggests none.
 */
export function suggestedRange(message: string): { readonly from: bigint; readonly to: bigint } | undefined {
  const start = message.slice(0, LONGEST_MESSAGE)
  const found = /\[(0x[0-9a-f]{1,16}),\s{0,9}(0x[0-9a-f]{1,16})\]/i.exec(start) ?? /retry with the range (\d{1,18})\s?-\s?(\d{1,18})/i.exec(start)
  if (found === null) return undefined
  const from = BigInt(found[1] as string)
  const to = BigInt(found[2] as string)
  return from <= to ? { from, to } : undefined
}

/** Whether a refusal of `eth_getLogs` speaks of the number or the size of its results. */
export function isOfResults(message: string): boolean {
  return /\b(?:results|logs|response)\b/i.test(message.slice(0, LONGEST_MESSAGE))
}

/** Where a message names its limit: never the number that was requested, nor a limit on results. */
const LIMITS: readonly RegExp[] = [
  /up to an? ([\d,]{1,30})([km])? block range/i,
  /maximum (?:is set to|allowed (?:number of requested blocks )?is) ([\d,]{1,30})/i,
  /max(?:imum)? (?:allowed )?(?:block )?range(?: is|:| =)? ([\d,]{1,30})([km])?/i,
  /too (?:large|wide),? ?\(?max(?:imum)? (?:is |range: )?([\d,]{1,30})([km])?/i,
  /limited to (?:a )?(?:\d{1,30} - )?([\d,]{1,30})([km])? ?(?:blocks?|range)/i,
  /(?:at most|(?:logs for|requested|query) more than) ([\d,.]{1,30}) blocks?/i,
  /too large, range: [\d,]{1,30}, max: ([\d,]{1,30})/i,
  /range should be (?:less|smaller) than (?:or equal to )?([\d,]{1,30})/i,
  /range is (?:limited to|over limit of) ([\d,]{1,30})/i,
  /ranges? over ([\d,]{1,30}) blocks/i,
  /range (?:[\d,]{1,30} )?exceeds (?:limit of |maximum of )?([\d,]{1,30})/i,
  /range (?:[\d,]{1,30} )?is (?:bigger|larger|greater) than range limit ([\d,]{1,30})/i,
  /range greater than ([\d,]{1,30}) max/i,
  /for your plan \([\d,]{1,30} > ([\d,]{1,30})\)/i,
  /blocks distance: ([\d,]{1,30})/i,
  /smaller than size ([\d,]{1,30})/i,
  /blocks range, the limit is ([\d,]{1,30})/i,
  /spans (?:too many|[\d,]{1,30}) blocks.{1,60}?(?:only|block range limit) ([\d,]{1,30})(?: (?:are )?allowed|$)/i,
]
