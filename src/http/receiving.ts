import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'

/** Where every socket reads to, one read at a time. */
const buffer = Buffer.allocUnsafeSlow(65_536)

/** Shorter reads are copied: HTTP parsers keep parts of unfinished headers. Node.js and undici take 16 KiB of those at most, or what the process was told. */
const LEAST_UNCOPIED = Math.max(16_384, maxHeaderSize)

const onread = {
  buffer,
  callback(this: Socket, length: number, read: Uint8Array): boolean {
    const chunk = (read as Buffer).subarray(0, length)
    if (length < LEAST_UNCOPIED) return this.push(Buffer.from(chunk))
    const wantsMore = this.push(chunk)
    // undici takes it now, and not at the next tick, before which another read might come.
    this.emit('readable')
    return this.readableLength === 0 ? true : keepUnread(this, wantsMore)
  },
}

/**
 * Options for a connection of undici's: its socket reads into one buffer that all sockets share, instead of a new one of 64 KiB for every read. What a chunk
 * says has to be read, or copied, before the handler returns. None in Bun, which does not tell `onread` the socket.
 */
export const readIntoOneBuffer = 'bun' in process.versions ? {} : { onread }

/** Copies what nobody has taken, such as the rest for a parser that was paused. */
function keepUnread(socket: Socket, wantsMore: boolean): boolean {
  const unread: Buffer | null = socket.read()
  if (unread !== null) socket.unshift(Buffer.from(unread))
  return wantsMore
}
