import { BINARY, CLOSE, CONTINUATION, LONGEST_CONTROL, PONG, PROTOCOL_ERROR, TEXT, TOO_BIG } from './frames.ts'

/** First bytes of a frame that is a whole message, and not compressed. */
const ORDINARY: readonly number[] = [0x80 | TEXT, 0x80 | BINARY]
/** Longest header, in bytes: with eight bytes of length, and a mask. */
const LONGEST_HEADER = 14

const EMPTY = Buffer.alloc(0)

/** A violation of the protocol by the peer. `code` is for the close frame. */
export class FrameError extends Error {
  readonly code: number

  constructor(message: string, code = PROTOCOL_ERROR) {
    super(message)
    this.code = code
  }
}

/** Receives what a reader reads. None of its functions may throw. */
export interface FrameHandler {
  /**
   * Longest message of this kind, in bytes. `head` is its start, at least `HEAD` bytes of it, or
   * the whole message. `isCompressed` messages have no readable start.
   */
  limitOf(head: Buffer, isCompressed: boolean): number
  /** Memory for a message of this many bytes whose start is `head`; undefined for new memory. */
  memoryFor(head: Buffer, size: number): Buffer | undefined
  /** A whole message, text or binary. The bytes are the handler's. */
  message(payload: Buffer, isCompressed: boolean): void
  /** A message longer than its limit, as far as is known. The rest of it is passed over. */
  tooLarge(head: Buffer, size: number, isCompressed: boolean): void
  /** A control frame: `CLOSE`, `PING` or `PONG`. */
  control(opcode: number, payload: Buffer): void
}

/** A message shows its kind in its first bytes, this many at most. */
export const HEAD = 128

/**
 * Reads frames from a stream of chunks, cut anywhere. A message of one frame that lies in one chunk
 * is not copied.
 */
export class FrameReader {
  readonly #handler: FrameHandler
  /** What the peer sends is masked: it is the client. */
  readonly #isMasked: boolean
  /** RSV1 marks a compressed message (RFC 7692, 7.2.3). */
  readonly #mayCompress: boolean
  readonly #header = Buffer.alloc(LONGEST_HEADER)
  #headerLength = 0
  #headerSize = 2
  #isInHeader = true

  #opcode = 0
  #isLast = false
  /** Bytes of the frame's payload that have not come yet, and those that have. */
  #left = 0
  #read = 0
  #control: Buffer = EMPTY

  /** The message being read, over all its frames. 0: none. */
  #messageOpcode = 0
  #isCompressed = false
  #body: Buffer = EMPTY
  #length = 0
  #limit = Number.NaN
  #isPassedOver = false

  constructor(handler: FrameHandler, { isMasked = false, mayCompress = false }: { isMasked?: boolean; mayCompress?: boolean } = {}) {
    this.#handler = handler
    this.#isMasked = isMasked
    this.#mayCompress = mayCompress
  }

  /** Bytes of a message that is not complete yet; undefined between messages. */
  get pendingBytes(): number | undefined {
    return this.#messageOpcode === 0 ? undefined : this.#length
  }

  /** Nothing has come of a next frame, and no message waits for one. */
  get isBetweenMessages(): boolean {
    return this.#messageOpcode === 0 && this.#isInHeader && this.#headerLength === 0
  }

  /** Reads the next chunk. Throws `FrameError`; after that, nothing more can be read. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      const next = this.isBetweenMessages ? this.#passOn(chunk, at) : at
      if (next > at) {
        at = next
        continue
      }
      if (this.#isInHeader) {
        this.#header[this.#headerLength++] = chunk[at++] as number
        if (this.#headerLength === 2) this.#headerSize = this.#sizeOfHeader()
        if (this.#headerLength === this.#headerSize) this.#startFrame()
        continue
      }
      const end = Math.min(chunk.length, at + this.#left)
      this.#left -= end - at
      this.#take(chunk.subarray(at, end))
      at = end
      if (this.#left === 0) this.#endFrame()
    }
  }

  /**
   * Passes on the message that begins at `at`, if it is one frame that is whole and ordinary, as
   * most are, and returns its end; else `at`.
   */
  #passOn(chunk: Buffer, at: number): number {
    const length = chunk[at + 1]
    if (this.#isMasked || !ORDINARY.includes(chunk[at] as number) || length === undefined || length > 126) return at
    const start = at + (length < 126 ? 2 : 4)
    if (start > chunk.length) return at
    const end = start + (length < 126 ? length : chunk.readUInt16BE(at + 2))
    if (end > chunk.length) return at
    const payload = chunk.subarray(start, end)
    if (payload.length > this.#handler.limitOf(payload, false)) return at
    this.#handler.message(payload, false)
    return end
  }

  #sizeOfHeader(): number {
    const second = this.#header[1] as number
    const length = second & 0x7f
    if (second >= 0x80 !== this.#isMasked) throw new FrameError(this.#isMasked ? 'a frame without a mask' : 'a frame with a mask')
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (this.#isMasked ? 4 : 0)
  }

  #startFrame(): void {
    const [first = 0, second = 0] = this.#header
    const opcode = first & 0x0f
    const isControl = opcode >= CLOSE
    this.#opcode = opcode
    this.#isLast = first >= 0x80
    this.#left = this.#lengthOf(second & 0x7f)
    this.#read = 0
    this.#headerLength = 0
    this.#headerSize = 2
    this.#isInHeader = false
    if ((first & 0x30) !== 0 || ((first & 0x40) !== 0 && (!this.#mayCompress || opcode === CONTINUATION || isControl)))
      throw new FrameError('a frame with reserved bits')
    if (isControl) {
      if (opcode > PONG) throw new FrameError(`a frame with the unknown opcode ${opcode}`)
      if (!this.#isLast || this.#left > LONGEST_CONTROL) throw new FrameError('a control frame that is too long, or in parts')
      this.#control = Buffer.allocUnsafe(this.#left)
    } else if (opcode === CONTINUATION) {
      if (this.#messageOpcode === 0) throw new FrameError('a frame that continues nothing')
    } else {
      if (opcode > BINARY) throw new FrameError(`a frame with the unknown opcode ${opcode}`)
      if (this.#messageOpcode !== 0) throw new FrameError('a message inside another one')
      this.#messageOpcode = opcode
      this.#isCompressed = (first & 0x40) !== 0
    }
    if (this.#left === 0) this.#endFrame()
  }

  #lengthOf(short: number): number {
    if (short < 126) return short
    if (short === 126) return this.#header.readUInt16BE(2)
    const length = this.#header.readBigUInt64BE(2)
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new FrameError('a frame with an impossible length', TOO_BIG)
    return Number(length)
  }

  #take(part: Buffer): void {
    if (this.#isMasked) this.#unmask(part)
    this.#read += part.length
    if (this.#opcode >= CLOSE) {
      part.copy(this.#control, this.#read - part.length)
      return
    }
    this.#length += part.length
    if (this.#isPassedOver) return
    const isWhole = this.#isLast && this.#left === 0
    if (isWhole && this.#length === part.length) this.#body = part
    else this.#keep(part)
    if (Number.isNaN(this.#limit)) {
      if (this.#length < HEAD && !isWhole) return
      this.#limit = this.#handler.limitOf(this.#body.subarray(0, this.#length), this.#isCompressed)
    }
    const size = this.#length + this.#left
    if (size <= this.#limit) return
    this.#isPassedOver = true
    this.#handler.tooLarge(this.#body.subarray(0, this.#length), size, this.#isCompressed)
    this.#body = EMPTY
  }

  #keep(part: Buffer): void {
    const used = this.#length - part.length
    if (this.#body.length < this.#length) {
      const size = this.#length + this.#left
      const isKnown = size <= this.#limit
      // Until the limit is known, nothing is reserved on the peer's word alone.
      const room = !isKnown ? this.#length : this.#isLast ? size : Math.max(size, Math.min(2 * size, this.#limit))
      const memory = isKnown && this.#isLast && !this.#isCompressed ? this.#handler.memoryFor(this.#body.subarray(0, used), room) : undefined
      const body = memory ?? Buffer.allocUnsafe(room)
      body.set(this.#body.subarray(0, used))
      this.#body = body
    }
    this.#body.set(part, used)
  }

  #unmask(part: Buffer): void {
    const maskAt = this.#headerMaskAt
    for (let i = 0; i < part.length; i++) part[i] = (part[i] as number) ^ (this.#header[maskAt + ((this.#read + i) & 3)] as number)
  }

  /** The header stays where it is until the payload has been read. */
  get #headerMaskAt(): number {
    const short = (this.#header[1] as number) & 0x7f
    return short === 127 ? 10 : short === 126 ? 4 : 2
  }

  #endFrame(): void {
    this.#isInHeader = true
    if (this.#opcode >= CLOSE) {
      this.#handler.control(this.#opcode, this.#control)
      return
    }
    if (!this.#isLast) return
    const payload = this.#body.subarray(0, this.#length)
    const isPassedOver = this.#isPassedOver
    this.#messageOpcode = 0
    this.#body = EMPTY
    this.#length = 0
    this.#limit = Number.NaN
    this.#isPassedOver = false
    if (!isPassedOver) this.#handler.message(payload, this.#isCompressed)
  }
}
