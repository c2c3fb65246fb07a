import type { Tally } from '../../src/cli/tally.ts'
import { type Call, replyOf } from '../../src/rpc/call.ts'
import { errorOf } from './server.ts'

/** Has an attempt of a call fail. */
export async function failing(tally: Tally, error: Error): Promise<void> {
  await errorOf(tally.layer(() => Promise.reject(error))({} as Call))
}

/** Has a call answered. */
export async function answering(tally: Tally): Promise<void> {
  await tally.layer(() => Promise.resolve(replyOf(1)))({} as Call)
}
