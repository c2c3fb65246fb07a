import type { Client, Request } from '../client/client.ts'
import { clockOf, RECORD, type RequestMarks, withInternalsOf } from '../client/internals.ts'
import { CallRecord, type PostFigures } from '../rpc/call-record.ts'

/** What a sample took: each call that was in a POST, and each POST that had a reply. */
export class Counts {
  calls = 0
  /** With the time that each took, in ms. */
  readonly posts = new Map<PostFigures, number>()
  /** Results of the calls that were answered, and their size in bytes. */
  results = 0
  resultBytes = 0

  add({ calls, posts, results, resultBytes }: Counts): this {
    this.calls += calls
    for (const [post, ms] of posts) this.posts.set(post, ms)
    this.results += results
    this.resultBytes += resultBytes
    return this
  }
}

/** The same client, whose `send` counts. */
export function countingClient(client: Client, counts: Counts): Client {
  const clock = clockOf(client)
  return withInternalsOf(client, {
    ...client,
    with: (settings) => countingClient(client.with(settings), counts),
    async send(request: Request & RequestMarks) {
      const record = request[RECORD] ?? new CallRecord()
      record.measureBy(clock)
      try {
        const reply = await client.send({ ...request, [RECORD]: record } as Request)
        counts.results++
        counts.resultBytes += reply.bytes
        return reply
      } finally {
        counts.calls += record.attempts
        const { post, tookMs } = record
        if (post !== undefined && tookMs !== undefined) counts.posts.set(post, tookMs)
      }
    },
  } satisfies Client)
}
