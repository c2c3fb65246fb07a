/*
 * The frames of a WebSocket (RFC 6455, 5.2), which encode-frame.ts writes and frame-reader.ts
 * reads:
 *
 *   byte 0    FIN, RSV1 to RSV3, opcode (4 bits)
 *   byte 1    whether the payload is masked, and its length: up to 125, or
 *             126: the next 2 bytes have it; 127: the next 8 bytes
 *   4 bytes   the mask, if there is one
 *   the payload
 *
 * A message is one data frame, or several: the first has the opcode, those that continue it have
 * opcode 0, and the last one has FIN. Control frames have at most 125 bytes, and may stand between
 * the frames of a message.
 */

export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10
export const CONTINUATION = 0

/** Close codes (RFC 6455, 7.4.1). */
export const NORMAL = 1000
export const PROTOCOL_ERROR = 1002
/** Stands for a close frame without a code. */
export const NO_CODE = 1005
export const TOO_BIG = 1009

/** Longest payload of a control frame, in bytes. */
export const LONGEST_CONTROL = 125
