import type { Reply } from './call.ts'

/** A reply that holds `value`. */
export function replyOf(value: unknown, bytes = 0): Reply {
  return new Held(value, bytes)
}

/** A reply that holds `value`. `releaseReply` calls `release`, once. */
export function releasableReply(value: unknown, bytes: number, release: () => void): Reply {
  return new Held(value, bytes, release)
}

/**
 * A reply that holds `value`, which was taken from `reply`. The right to release it moves with the
 * value.
 */
export function movedReply(reply: Reply, value: unknown): Reply {
  return new Held(value, reply.bytes, takeRelease(reply))
}

/**
 * The bytes of the reply will not be read again, not even where they were taken: they may be
 * overwritten from now on. Does nothing for a reply that cannot be released, such as one that a
 * user's layer has made from another: the layer may keep the bytes.
 */
export function releaseReply(reply: Reply): void {
  takeRelease(reply)?.()
}

/**
 * The right to release the reply, which passes to the caller: nobody else reads its bytes, so that
 * they may be changed, too. Undefined for a reply that cannot be released.
 */
export function takeRelease(reply: Reply): (() => void) | undefined {
  return (reply as Partial<Held>)[RELEASE]?.()
}

/**
 * Gives the right to release a reply to the first caller that asks. Registered for the whole
 * process: the reply may come from a client of the other build.
 */
const RELEASE: unique symbol = Symbol.for('hexline.release')

class Held implements Reply {
  #value: unknown
  #release: (() => void) | undefined
  readonly bytes: number

  constructor(value: unknown, bytes: number, release?: () => void) {
    this.#value = value
    this.#release = release
    this.bytes = bytes
  }

  take(): unknown {
    const value = this.#value
    this.#value = undefined
    return value
  }

  [RELEASE](): (() => void) | undefined {
    const release = this.#release
    this.#release = undefined
    return release
  }
}

/**
 * A result as the bytes of its JSON. A user's own `Post` or layer may give any kind of
 * `Uint8Array`, or a value in its place.
 */
export function asBuffer(result: unknown): Buffer {
  if (Buffer.isBuffer(result)) return result
  if (result instanceof Uint8Array) return Buffer.from(result.buffer, result.byteOffset, result.byteLength)
  return Buffer.from(JSON.stringify(result) ?? 'null')
}

/** Takes the bytes of a reply, for `readUnread`. */
export function takeBytes(reply: Reply): Buffer {
  return asBuffer(reply.take())
}

/** The size that a reply tells; 0 where a user's function gives none. */
export function sizeFrom(bytes: unknown): number {
  return typeof bytes === 'number' && bytes > 0 ? bytes : 0
}
