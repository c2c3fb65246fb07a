import type { Client, Request } from '../../client/client.ts'
import { AT_ONCE, AVOID, HAS_SUBSTITUTE, RECORD, type RequestMarks, UNREAD } from '../../client/internals.ts'
import { BodyPool } from '../../rpc/body-pool.ts'
import type { Reply } from '../../rpc/call.ts'
import type { CallRecord } from '../../rpc/call-record.ts'
import { PatientCalls } from '../patient-calls.ts'

/** The method for all receipts of a block. Where it is missing, they come one by one. */
export const RECEIPTS = 'eth_getBlockReceipts'

/** How the calls for a block are made. */
export interface AskOptions {
  readonly client: Client
  readonly signal: AbortSignal | undefined
  /** Endpoints to be used only if there is no other. */
  readonly avoid?: readonly string[]
  /** The result may be null: the endpoint is not asked again for it. */
  readonly mayBeNull?: boolean
  /** Calls do not wait for the end of the turn of the event loop. */
  readonly atOnce?: boolean
  /** A reader gets the reply's bytes as they came, and releases them. Default true. */
  readonly isUnread?: boolean
}

/** The calls for the blocks of a job, whose results are the node's own bytes. */
export class BlockCalls {
  readonly #bodies = new BodyPool()
  readonly #patient: PatientCalls

  constructor(client: Client) {
    this.#patient = PatientCalls.of(client)
  }

  ask(method: string, params: readonly unknown[], options: AskOptions, origin: CallRecord): Promise<Reply> {
    const { client, signal, avoid, mayBeNull = false, atOnce, isUnread = true } = options
    const request = {
      method,
      params,
      required: !mayBeNull,
      as: 'bytes',
      [UNREAD]: isUnread ? this.#bodies : undefined,
      [RECORD]: origin,
      [AVOID]: avoid,
      [AT_ONCE]: atOnce,
      [HAS_SUBSTITUTE]: method === RECEIPTS,
      signal,
    }
    // Without a signal, it is the client's.
    return this.#patient.send(client, request as Request & RequestMarks)
  }
}
