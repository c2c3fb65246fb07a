import type { OutgoingHttpHeaders } from 'node:http'

/** What one request gets, whole. */
export interface Reply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** A reply of JSON. */
export function json(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(JSON.stringify(value)) }
}

/** A request that gets no answer but this: thrown where that is found out. */
export class Refusal extends Error {
  readonly reply: Reply

  /** The body is `{ message }`, with `details` where several things are wrong. */
  constructor(status: number, message: string, { headers = {}, ...more }: { details?: readonly string[]; headers?: OutgoingHttpHeaders } = {}) {
    super(message)
    this.reply = json(status, { message, ...more }, headers)
  }
}
