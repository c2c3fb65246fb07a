import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'

/** The buffer that every socket reads into, one read at a time. */
const buffer = Buffer.allocUnsafeSlow(65_536)

/**
 * Shorter reads are copied, since HTTP parsers keep parts of unfinished headers. Node.js and undici
 * accept 16 KiB of those by default, or the limit set for the process.
 */
const LEAST_UNCOPIED = Math.max(16_384, maxHeaderSize)

/*
 * A chunk must be consumed before the next read of any socket. `push` keeps it in the socket's
 * queue, `readable` makes undici's parser read the queue and pass each byte on, all in this call,
 * and `readableLength` tells what it has left there: a paused parser, one that waits for its
 * callback, or a socket that is not read any more. So whatever is left is known here, and copied.
 */
const onread = {
  buffer,
  callback(this: Socket, length: number, read: Uint8Array): boolean {
    const chunk = (read as Buffer).subarray(0, length)
    if (length < LEAST_UNCOPIED) return this.push(Buffer.from(chunk))
    const wantsMore = this.push(chunk)
    // At the next tick, when Node.js would emit this, another read might have overwritten it.
    this.emit('readable')
    return this.readableLength === 0 ? true : keepUnread(this, wantsMore)
  },
}

/**
 * Options for a connection of undici's. Its socket reads into one buffer that all sockets share,
 * instead of a new one of 64 KiB for every read, so a handler must read or copy a chunk before it
 * returns. Empty in Bun, which does not pass the socket to `onread`.
 */
export const readIntoOneBuffer = 'bun' in process.versions ? {} : { onread }

/** Copies the bytes that were not read, such as the rest for a paused parser. */
function keepUnread(socket: Socket, wantsMore: boolean): boolean {
  const unread: Buffer | null = socket.read()
  if (unread !== null) socket.unshift(Buffer.from(unread))
  return wantsMore
}
