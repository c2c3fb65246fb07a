import { parseAt, scanArray, scanObject, skipSpace } from '../json/scan.ts'

/**
 * Whom a message is for: the request with this id, the listeners of subscriptions, or nobody, as a
 * notification of another method.
 */
export type Recipient = number | 'subscription' | 'notification' | undefined

const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b

/** A reply or a batch of them, or a notification, as most nodes begin them. */
const USUAL = /^(?:\[?\{"jsonrpc":"2\.0","id":([1-9]\d{0,15})|\{"jsonrpc":"2\.0","method":"eth_subscription"),/

/** The recipient of a message by its start alone; undefined where that does not tell. */
export function recipientByStart(start: Buffer): Exclude<Recipient, 'notification'> {
  const usual = USUAL.exec(start.toString('latin1', 0, 64))
  if (usual === null) return undefined
  return usual[1] === undefined ? 'subscription' : Number(usual[1])
}

/**
 * The recipient of a whole message in any form: of a batch, the first id that `isKnown`. Undefined
 * for a reply without such an id, and for a message that is not JSON.
 */
export function recipientOf(message: Buffer, isKnown: (id: number) => boolean): Recipient {
  const byStart = recipientByStart(message)
  if (byStart !== undefined && (byStart === 'subscription' || isKnown(byStart))) return byStart
  const found: { recipient: Recipient } = { recipient: undefined }
  const look = (at: number, end: number) => {
    // A reply in the same batch counts for more than a notification.
    if (typeof found.recipient === 'number' || message[at] !== OPEN_BRACE) return
    const fields = new Fields()
    if (scanObject(message, at, fields.reader(message)) > end) throw new SyntaxError('the object does not end')
    found.recipient = fields.recipient(isKnown) ?? found.recipient
  }
  try {
    const start = skipSpace(message, 0)
    if (message[start] === OPEN_BRACKET) scanArray(message, start, look)
    else look(start, message.length)
  } catch {
    return undefined
  }
  return found.recipient
}

/**
 * The recipient of a message of which only this start is known, in any form: by those of its fields
 * that are whole. Undefined where they do not tell.
 */
export function recipientOfPart(part: Buffer): Recipient {
  const fields = new Fields()
  const read = fields.reader(part)
  let start = skipSpace(part, 0)
  if (part[start] === OPEN_BRACKET) start = skipSpace(part, start + 1)
  try {
    scanObject(part, start, (name, from, to) => {
      // A number at the end may go on.
      if (to < part.length) read(name, from, to)
    })
  } catch {
    // It ends here.
  }
  return fields.recipient(() => true)
}

/** What the fields of one message object say. */
class Fields {
  #id: number | undefined
  #method: unknown
  #isReply = false

  /** For `scanObject`. */
  reader(message: Buffer): (name: string, from: number, to: number) => void {
    return (name, from, to) => {
      // Some servers send ids back as strings.
      if (name === 'id') this.#id ??= Number(parseAt(message, from, to)) || undefined
      else if (name === 'method') this.#method = parseAt(message, from, to)
      else if (name === 'result' || name === 'error') this.#isReply = true
    }
  }

  recipient(isKnown: (id: number) => boolean): Recipient {
    if (this.#method === 'eth_subscription') return 'subscription'
    if (this.#id !== undefined && isKnown(this.#id)) return this.#id
    // Some gateways name the method in an error without an id.
    return typeof this.#method === 'string' && !this.#isReply ? 'notification' : undefined
  }
}
