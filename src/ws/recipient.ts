import { parseAt, scanArray, scanObject, skipSpace } from '../json/scan.ts'

/** Whom a message is for: the request with this id, or the listeners of subscriptions. */
export type Recipient = number | 'subscription' | undefined

const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b

/** A reply or a batch of them, or a notification, as most nodes begin them. */
const USUAL = /^\[?\{"jsonrpc":"2\.0",(?:"id":([1-9]\d{0,15}),|"method":"eth_subscription",)/

/** The recipient of a message by its start alone; undefined where that does not tell. */
export function recipientByStart(start: Buffer): Recipient {
  const usual = USUAL.exec(start.toString('latin1', 0, 64))
  if (usual === null) return undefined
  return usual[1] === undefined ? 'subscription' : Number(usual[1])
}

/**
 * The recipient of a whole message in any form: of a batch, the first id that `isKnown`. Undefined
 * for a message without such an id, and for one that is not JSON.
 */
export function recipientOf(message: Buffer, isKnown: (id: number) => boolean): Recipient {
  const byStart = recipientByStart(message)
  if (byStart !== undefined && (byStart === 'subscription' || isKnown(byStart))) return byStart
  const found: { recipient: Recipient } = { recipient: undefined }
  const look = (at: number, end: number) => {
    if (found.recipient !== undefined || message[at] !== OPEN_BRACE) return
    const recipient = recipientAt(message, at, end)
    if (recipient === 'subscription' || (recipient !== undefined && isKnown(recipient))) found.recipient = recipient
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

/** By the fields of the object at `at`. Throws `SyntaxError`. */
function recipientAt(message: Buffer, at: number, end: number): Recipient {
  let recipient: Recipient
  const last = scanObject(message, at, (name, from, to) => {
    // Some servers send ids back as strings.
    if (name === 'id') recipient ??= Number(parseAt(message, from, to)) || undefined
    else if (name === 'method' && parseAt(message, from, to) === 'eth_subscription') recipient = 'subscription'
  })
  if (last > end) throw new SyntaxError('the object does not end')
  return recipient
}
