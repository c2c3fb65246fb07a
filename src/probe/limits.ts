import { type HexlineError, LimitError } from '../errors.ts'
import { rangeLimit } from '../eth/errors/log-range.ts'
import { isTooLarge } from '../rpc/failure-kinds.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { type Asker, type Heard, isRefusal, type Refusal } from './asker.ts'
import { atLeast, between, exactly, type Figure, unknown } from './figure.ts'
import { longest, type Trial } from './longest.ts'
import { quantity } from './methods.ts'

/** An address without logs, so that the reply for a million blocks is as short as for one. */
export const WITHOUT_LOGS = `0x${Buffer.from('hexline').toString('hex').padEnd(40, '0')}`

/** Calls that one POST may hold, up to `most`. */
export function batchLimit(asker: Asker, most: number): Promise<Figure> {
  return longest({
    most,
    least: 1,
    rungs: [1000, 500, 250, 200, 100, 50, 20, 10, 5, 3, 2],
    say: (calls) => (calls === 1 ? 'a single call' : `a batch of ${calls}`),
    async test(calls) {
      const heard = await asker.same({ method: 'eth_blockNumber' }, calls)
      return trialOf(heard, ({ error }) => (error !== undefined && isTooLarge(error) ? { refused: serverMessage(error), names: numberIn(error) } : undefined))
    },
  })
}

/**
 * Bytes that the reply to one POST may have, up to `most`, tried with batches of the latest block.
 */
export async function responseLimit(asker: Asker, head: number, batch: Figure, most: number): Promise<Figure> {
  const block = { method: 'eth_getBlockByNumber', params: [quantity(head), true], as: 'bytes' } as const
  const [first] = (await asker.batch([block])) as [Heard]
  if (isRefusal(first)) return unknown(`no latest block to try it with: ${first.why}`)
  const each = first.bytes
  const calls = await longest({
    most: Math.min(batch.value ?? 1, Math.ceil(most / each)),
    least: 1,
    rungs: [],
    say: (length) => `about ${length * each} bytes`,
    async test(length) {
      const heard = await asker.same(block, length)
      // geth answers the calls that fit, and refuses the rest.
      const names = heard.filter((one) => !isRefusal(one)).length || undefined
      return trialOf(heard, ({ error, why }) =>
        error !== undefined && isTooLarge(error) && !(error instanceof LimitError) ? { refused: why, names } : undefined,
      )
    },
  })
  const value = (calls.value ?? 1) * each
  if (calls.refused !== null) return between(value, calls.refused * each, calls.how)
  const isCut = value < most && calls.value === batch.value
  return atLeast(value, isCut ? `the latest block has ${each} bytes, and at most ${batch.value} of them fit in a batch` : calls.how)
}

/** Blocks that one query for logs may cover, up to `most`. */
export async function logRangeLimit(asker: Asker, head: number, most: number): Promise<Figure> {
  // The nodes behind a gateway do not all have the newest block.
  const to = Math.max(0, head - 3)
  const whole = to + 1
  const figure = await longest({
    most: Math.min(most, whole),
    least: 0,
    rungs: [50_000, 20_000, 10_000, 5000, 3000, 2000, 1024, 1000, 500, 100, 50, 10, 5, 1],
    say: (blocks) => (blocks === 1 ? 'one block' : `a range of ${blocks} blocks`),
    async test(blocks) {
      const heard = await asker.one('eth_getLogs', [{ fromBlock: quantity(to - blocks + 1), toBlock: quantity(to), address: WITHOUT_LOGS }])
      return trialOf([heard], ({ kind, why, error }) => {
        if (kind !== 'range-too-large' && kind !== 'response-too-large') return undefined
        const data = (error as { data?: unknown } | undefined)?.data
        return {
          refused: why,
          names: rangeLimit(error === undefined ? '' : serverMessage(error)) ?? (data === undefined ? undefined : rangeLimit(JSON.stringify(data))),
        }
      })
    },
  })
  if (figure.value !== whole || figure.refused !== null) return figure
  return atLeast(whole, to === head ? 'the whole chain passed' : `the whole chain passed; its newest ${head - to} blocks were not tried`)
}

/** Blocks below the head whose state the endpoint has. */
export async function archiveDepth(asker: Asker, head: number): Promise<Figure> {
  const stateAt = async (depth: number): Promise<Trial> => {
    const heard = await asker.one('eth_getBalance', [`0x${'00'.repeat(20)}`, quantity(head - depth)])
    return trialOf([heard], ({ kind, why }) => (kind === 'lagging' || kind === 'pruned' || kind === 'not-found' ? { refused: why } : undefined))
  }
  const latest = await stateAt(0)
  if (latest !== 'passed') return unknown(`the state of the latest block: ${'refused' in latest ? latest.refused : latest.unclear}`)
  // Nodes keep the genesis state even if they keep no other old state, so block 1 is tested.
  if (head <= 1) return exactly(head, 'the chain is no longer')
  const figure = await longest({
    most: head - 1,
    least: 0,
    rungs: [10_000_000, 1_000_000, 100_000, 10_000, 1024, 256, 128, 64, 8, 1],
    say: (depth) => `the state of block ${head - depth}`,
    test: stateAt,
  })
  return figure.value === head - 1 ? exactly(head - 1, 'the state of block 1 is there') : figure
}

/** `passed` when every call was answered; else the meaning of the first refusal that has one. */
function trialOf(heard: readonly Heard[], meaning: (refusal: Refusal) => Trial | undefined): Trial {
  const refusals = heard.filter(isRefusal)
  if (refusals.length === 0) return 'passed'
  // A batch may be throttled half-way, after some calls were answered. That says nothing about its
  // length.
  for (const refusal of refusals) {
    const trial = meaning(refusal)
    if (trial !== undefined) return trial
  }
  return { unclear: (refusals[0] as Refusal).why }
}

/**
 * The limit that a refusal of a batch names: `batch limit 100 exceeded`, `more than 3 requests`,
 * `Exceeded max limit of 50` in its data.
 */
function numberIn(error: HexlineError): number | undefined {
  const { data } = error as { data?: unknown }
  const said = `${serverMessage(error)} ${typeof data === 'string' ? data : ''}`
  const found = /(?:limit|more than|exceeds max|max limit of) (\d{1,6})\b/i.exec(said)?.[1]
  return found === undefined ? undefined : Number(found)
}
