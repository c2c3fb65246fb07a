import { ownRead, type Post, type Reply } from '../rpc/call.ts'

/**
 * Sends a call of the client's own to one endpoint, in a POST of its own, past the queue and the
 * retries. It ends with the endpoint's timeout. Rejects with the failure of the call.
 */
export async function postAlone(post: Post, { method, params }: { readonly method: string; readonly params: readonly unknown[] }): Promise<Reply> {
  const [outcome] = await post([ownRead({ method, params, deadline: Number.POSITIVE_INFINITY })], NEVER)
  if (outcome === undefined || outcome instanceof Error) throw outcome
  return outcome
}

const NEVER = new AbortController().signal
