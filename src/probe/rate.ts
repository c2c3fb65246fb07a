import { type HexlineError, RpcError } from '../errors.ts'
import { isThrottled } from '../rpc/failure-kinds.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { counted } from '../text.ts'
import { type Asker, isRefusal } from './asker.ts'
import { atLeast, exactly, type Figure, unknown } from './figure.ts'

/** Calls in flight. */
const PARALLEL = 8

/**
 * The number of calls a second that the endpoint answers in one burst of single calls, which ends
 * when one is throttled. A burst of more than a second shows only that it takes at least as many as
 * it answered in a second. Where the endpoint names its limit, that is the figure.
 */
export async function rateLimit(asker: Asker): Promise<Figure> {
  const { heard, ms } = await asker.burst({ method: 'eth_blockNumber' }, PARALLEL)
  const answered = heard.filter((each) => !isRefusal(each)).length
  const refusals = heard.filter(isRefusal)
  const throttled = refusals.find(({ error }) => error !== undefined && isThrottled(error))
  const perSecond = ms <= 1000 ? answered : Math.floor((answered * 1000) / ms)
  const wereAnswered = `${counted(answered, 'call')} within ${(ms / 1000).toFixed(2)} s ${answered === 1 ? 'was' : 'were'} answered`
  if (throttled !== undefined) {
    const named = limitIn(throttled.error as HexlineError)
    if (named !== undefined) return exactly(named, `the endpoint reports it: ${throttled.why}`)
    // Calls before the burst may have used up the limit.
    if (answered === 0) return unknown(`the first call was throttled: ${throttled.why}`)
    const how = `${wereAnswered}, and the next was throttled: ${throttled.why}`
    return ms <= 1000 ? exactly(answered, how, answered + 1) : atLeast(perSecond, how)
  }
  if (refusals[0] !== undefined) return unknown(`${wereAnswered}, then: ${refusals[0].why}`)
  if (answered === 0) return unknown('no call was made')
  return atLeast(perSecond, `${wereAnswered}; no more were made`)
}

/**
 * `50/second request limit reached` (QuickNode), `credits limited to 6000/sec`,
 * `data.rate.allowed_rps` (Infura).
 */
function limitIn(error: HexlineError): number | undefined {
  const allowed = error instanceof RpcError ? (error.data as { rate?: { allowed_rps?: unknown } } | undefined)?.rate?.allowed_rps : undefined
  if (typeof allowed === 'number' && allowed > 0) return allowed
  const found = /(?<![\d,])([\d,]{1,30}) ?\/ ?sec(?:ond)?\b/i.exec(serverMessage(error))?.[1]
  return found === undefined ? undefined : Number(found.replaceAll(',', ''))
}
