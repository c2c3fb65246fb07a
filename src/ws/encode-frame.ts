import { randomFillSync } from 'node:crypto'
import { LONGEST_CONTROL } from './frames.ts'

/** Random bytes for masks: asking for four at a time costs more than the rest of a frame. */
const masks = Buffer.allocUnsafeSlow(8192)
let masksUsed = masks.length

/**
 * A frame that is a whole message. The frames that a client sends are masked; those of a server are
 * not.
 */
export function encodeFrame(opcode: number, payload: string | Uint8Array, isMasked: boolean): Buffer {
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length
  const lengthBytes = length <= LONGEST_CONTROL ? 0 : length < 65_536 ? 2 : 8
  const start = 2 + lengthBytes + (isMasked ? 4 : 0)
  // The payload begins at a multiple of four bytes, so that four can be masked at a time.
  const spare = -start & 3
  const room = Buffer.allocUnsafe(spare + start + length + 3)
  const frame = room.subarray(spare, spare + start + length)
  frame[0] = 0x80 | opcode
  frame[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2)
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2)
  if (typeof payload === 'string') frame.write(payload, start)
  else frame.set(payload, start)
  if (isMasked) {
    if (masksUsed === masks.length) {
      randomFillSync(masks)
      masksUsed = 0
    }
    masks.copy(frame, start - 4, masksUsed, masksUsed + 4)
    masksUsed += 4
    mask(room, spare + start, length)
  }
  return frame
}

/** The payload of a close frame. */
export function closePayload(code: number, reason = ''): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  return payload
}

/**
 * Masks the `length` bytes from `start` on with the four bytes before them. Also changes up to
 * three bytes after them.
 */
function mask({ buffer, byteOffset }: Buffer, start: number, length: number): void {
  const words = new Uint32Array(buffer, byteOffset + start - 4, 1 + ((length + 3) >> 2))
  const key = words[0] as number
  for (let i = 1; i < words.length; i++) words[i] = (words[i] as number) ^ key
}
