import type { OutgoingHttpHeaders } from 'node:http'

/** A complete reply. */
export interface Reply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** A JSON reply. */
export function json(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(JSON.stringify(value)) }
}

/** Thrown to refuse a request with this reply. */
export class Refusal extends Error {
  readonly reply: Reply

  /** The body is `{ message }`, with `details` where there are several problems. */
  constructor(status: number, message: string, { headers = {}, ...more }: { details?: readonly string[]; headers?: OutgoingHttpHeaders } = {}) {
    super(message)
    this.reply = json(status, { message, ...more }, headers)
  }
}
