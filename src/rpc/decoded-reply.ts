import type { Reply } from './call.ts'

/**
 * A reply whose result `decoded` was decoded from `json`, plain ASCII. `take` parses those bytes,
 * for what reads the result on its way, such as a user's layer.
 */
export function decodedReply(decoded: object, json: Buffer, bytes: number): Reply {
  return new DecodedReply(decoded, json, bytes)
}

/** Takes the decoded result of a reply; undefined where there is only the parsed one. */
export function takeDecoded(reply: Reply): object | undefined {
  const decoded = decodedOf(reply)
  if (decoded !== undefined) (reply as DecodedReply).drop()
  return decoded
}

/** The decoded result of a reply, which stays there. */
export function decodedOf(reply: Reply): object | undefined {
  return (reply as Partial<DecodedReply>)[DECODED]
}

/** Registered for the whole process: the reply may come from a client of the other build. */
const DECODED: unique symbol = Symbol.for('hexline.decoded')

class DecodedReply implements Reply {
  [DECODED]: object | undefined
  #json: Buffer | undefined
  readonly bytes: number

  constructor(decoded: object, json: Buffer, bytes: number) {
    this[DECODED] = decoded
    this.#json = json
    this.bytes = bytes
  }

  take(): unknown {
    const json = this.#json
    this[DECODED] = undefined
    this.#json = undefined
    return json && JSON.parse(json.toString('latin1'))
  }

  /** Empties it without parsing anything. */
  drop(): void {
    this[DECODED] = undefined
    this.#json = undefined
  }
}
