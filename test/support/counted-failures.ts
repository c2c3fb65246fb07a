import type { FailureCount } from '../../src/cli/failure-count.ts'
import type { Call } from '../../src/rpc/call.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { errorOf } from './server.ts'

/** Has an attempt of a call fail. */
export async function failing(failures: FailureCount, error: Error): Promise<void> {
  await errorOf(failures.layer(() => Promise.reject(error))({} as Call))
}

/** Has a call answered. */
export async function answering(failures: FailureCount): Promise<void> {
  await failures.layer(() => Promise.resolve(replyOf(1)))({} as Call)
}
