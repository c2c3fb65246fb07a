import type { Client, Request } from '../client/client.ts'
import { AVOID, connectionsOf, type RequestMarks } from '../client/internals.ts'
import type { Reply } from '../rpc/call.ts'

/** Longest wait for an endpoint that does not answer, in ms. */
const WAIT_MS = 1000

/**
 * Makes the same call once at each endpoint of a client that has several, and gives the replies
 * that come. Another endpoint may answer for one that cannot be reached. Empty for a single
 * endpoint. Never rejects.
 */
export async function askEach(client: Client, request: Pick<Request, 'method' | 'params' | 'required' | 'signal'>): Promise<Reply[]> {
  const names = connectionsOf(client)?.map(({ name }) => name) ?? []
  if (names.length < 2) return []
  const asked = names.map((name) => {
    const to: Request & RequestMarks = {
      ...request,
      attempts: 1,
      deadlineMs: WAIT_MS,
      whilePaused: 'fail',
      [AVOID]: names.filter((other) => other !== name),
    }
    return client.send(to)
  })
  const settled = await Promise.allSettled(asked)
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}
