import { HexlineError, IntegrityError } from '../errors.ts'
import { ethereum } from '../eth/protocol.ts'
import { ownRead, type Post, type Send } from '../rpc/call.ts'
import { TELLS_NOTHING } from '../rpc/route/chain.ts'
import type { Clock } from '../wait/clock.ts'
import { postAlone } from './post-alone.ts'

/** One endpoint, and the pipeline to compare its chain with. */
export interface ChainCheckOptions {
  readonly name: string
  readonly post: Post
  /** The pipeline of all endpoints, which takes out those of another chain than the others. */
  readonly send: Send
  readonly clock: Clock
  /** Time for the pipeline's answer, in ms. */
  readonly deadlineMs: number
}

/**
 * Checks that an endpoint is on the chain of the others, for what does not go through the pipeline.
 * Each endpoint is asked until the chain is known. Gives a function that rejects with
 * `IntegrityError` where it is on another chain, and with other errors where it or the others do
 * not answer. A node that does not give its chain passes, as it does for calls.
 */
export function chainCheck({ name, post, send, clock, deadlineMs }: ChainCheckOptions): () => Promise<void> {
  let checked: Promise<void> | undefined
  const { askChain, chainOf } = ethereum

  async function check(): Promise<void> {
    let own: ReturnType<typeof chainOf>
    try {
      own = chainOf((await postAlone(post, askChain)).take())
    } catch (error) {
      if (error instanceof HexlineError && TELLS_NOTHING.includes(error.kind)) return
      throw error
    }
    const common = chainOf((await send(ownRead({ ...askChain, deadline: clock.now() + deadlineMs }))).take())
    if (own === undefined || common === undefined || own === common) return
    throw new IntegrityError(`${name} gets no subscription: it is on chain ${own}, and the others are on ${common}`, { endpoint: name })
  }

  return () => {
    checked ??= check().catch((error) => {
      // Another chain is final.
      if (!(error instanceof IntegrityError)) checked = undefined
      throw error
    })
    return checked
  }
}
