import { atLeast, between, exactly, type Figure, unknown } from './figure.ts'

/** The result of one trial. */
export type Trial =
  | 'passed'
  /** Refused because of its length. `names` is the limit that the refusal names. */
  | { readonly refused: string; readonly names?: number | undefined }
  /** Failed for another reason, such as throttling. */
  | { readonly unclear: string }

export interface Search {
  /** The longest length to try. */
  readonly most: number
  /** A length that is known to pass, or 0. */
  readonly least: number
  /** Common limits, longest first: tried in turn until one passes. */
  readonly rungs: readonly number[]
  readonly test: (length: number) => Promise<Trial>
  /** A length in words, such as `a batch of 11`. */
  readonly say: (length: number) => string
}

/**
 * Finds the longest length that passes, with few trials: the longest of interest first, then the
 * limit that the refusal names, then common limits, and then by bisection between the longest that
 * passed and the shortest that was refused.
 */
export async function longest({ most, least, rungs, test, say }: Search): Promise<Figure> {
  let passed = least
  let refused: { at: number; why: string } | undefined
  let unclear: { at: number; why: string } | undefined
  const end = () => Math.min(refused?.at ?? Number.POSITIVE_INFINITY, unclear?.at ?? Number.POSITIVE_INFINITY)

  async function attempt(length: number): Promise<number | undefined> {
    if (length <= passed || length >= end()) return undefined
    const trial = await test(length)
    if (trial === 'passed') passed = length
    else if ('refused' in trial) refused = { at: length, why: trial.refused }
    else unclear = { at: length, why: trial.unclear }
    return typeof trial === 'object' && 'refused' in trial ? trial.names : undefined
  }

  if (most <= least) return least === 0 ? unknown('there is nothing to try') : atLeast(least, `${say(least)} is the longest that can be tried`)
  const named = await attempt(most)
  if (passed === most) return atLeast(most, `${say(most)} passed, and nothing longer was tried`)
  if (named !== undefined) {
    // Providers do not agree on whether both ends count.
    await attempt(named)
    await attempt(passed === named ? named + 1 : named - 1)
  }
  for (const rung of rungs) if (passed === least) await attempt(rung)
  // Limits are round numbers: most often the next one is refused.
  if (refused !== undefined) await attempt(passed + 1)
  while (refused !== undefined && end() - passed > 1) await attempt(Math.floor((passed + end()) / 2))

  const refusal = refused === undefined ? [] : [`${say(refused.at)} was refused: ${refused.why}`]
  const said = [...refusal, ...(unclear === undefined ? [] : [`${say(unclear.at)}: ${unclear.why}`])].join('; ')
  if (passed === 0) return unknown(said)
  if (refused === undefined) return atLeast(passed, said)
  return refused.at === passed + 1 ? exactly(passed, said, refused.at) : between(passed, refused.at, said)
}
