import { keccak_256 } from '@noble/hashes/sha3.js'
import { keccakModule } from './keccak-module.ts'

/*
 * Keccak-256 by WebAssembly. The module is a few hundred bytes that `keccak-module.ts` assembles at
 * the first hash, so that importing hexline loads and compiles nothing, and hashing needs no
 * promise. Where there is no WebAssembly (`node --jitless`), @noble/hashes does the same work.
 */

/** Bytes that are absorbed at a time (FIPS 202: the rate of 1088 bits). */
const RATE = 136
/** Where the module keeps its round constants; the digest comes behind them. */
const CONSTANTS_BYTES = 24 * 8
const DIGEST = CONSTANTS_BYTES
const DIGEST_BYTES = 32
/** Data begins behind the digest. */
const START = 256
const PAGE = 64 * 1024

/**
 * Memory that is filled from its end to its front, and hashed where it stands:
 *
 *     | constants | digest | free ...        | data            | padding |
 *     0           192      256               position          end
 *
 * RLP is written that way: the length of a list stands before its items, and is known once they
 * are written. What was hashed can go on growing, as a transaction grows into a leaf of a trie.
 */
export class HashBuffer {
  /** The whole memory. Another array after `reserve`. */
  bytes: Uint8Array
  /** The same memory, for what only a Buffer does. */
  buffer: Buffer
  /** The data begins here. Writers move it to the front. */
  position: number
  /** The data ends here. */
  end: number
  readonly #memory: Memory | undefined
  readonly #absorb: ((at: number, blocks: number) => void) | undefined

  constructor() {
    const instance = instantiate()
    this.#memory = instance?.memory
    this.#absorb = instance?.absorb
    this.bytes = new Uint8Array(this.#memory?.buffer ?? new ArrayBuffer(PAGE))
    this.buffer = asBuffer(this.bytes)
    this.end = endOf(this.bytes)
    this.position = this.end
    this.bytes[this.end] = 1
  }

  /** Drops the data. */
  clear(): void {
    this.position = this.end
  }

  /**
   * Makes room for at least `size` bytes in front of the data, which keeps its distance to `end`.
   */
  reserve(size: number): void {
    if (this.position - size >= START) return
    const missing = size + START - this.position
    // At least twice the memory, so that one large receipt moves the data only a few times.
    const pages = Math.ceil(Math.max(missing, this.bytes.length) / PAGE)
    const data = this.bytes.slice(this.position, this.end)
    this.bytes[this.end] = 0
    if (this.#memory === undefined) this.bytes = new Uint8Array(this.bytes.length + pages * PAGE)
    else {
      this.#memory.grow(pages)
      this.bytes = new Uint8Array(this.#memory.buffer)
    }
    this.buffer = asBuffer(this.bytes)
    this.end = endOf(this.bytes)
    this.position = this.end - data.length
    this.bytes.set(data, this.position)
    this.bytes.fill(0, this.end, this.end + RATE)
    this.bytes[this.end] = 1
  }

  /** Hashes the data from `position` to `end`; returns where the digest is. */
  hash(): number {
    if (this.#absorb === undefined) {
      this.bytes.set(keccak_256(this.bytes.subarray(this.position, this.end)), DIGEST)
      return DIGEST
    }
    // The padding: a 1 behind the data, which is always there, and the last bit of the block.
    const blocks = Math.floor((this.end - this.position) / RATE) + 1
    const last = this.position + blocks * RATE - 1
    this.bytes[last] = (this.bytes[last] as number) | 0x80
    this.#absorb(this.position, blocks)
    this.bytes[last] = (this.bytes[last] as number) & 0x7f
    return DIGEST
  }

  /** The digest of the last `hash`, in lower-case hex with `0x`. */
  digest(): string {
    return `0x${this.buffer.toString('hex', DIGEST, DIGEST + DIGEST_BYTES)}`
  }
}

let shared: HashBuffer | undefined

/** The Keccak-256 hash of these bytes, as a new array of 32 bytes. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  shared ??= new HashBuffer()
  shared.clear()
  shared.reserve(bytes.length)
  shared.position = shared.end - bytes.length
  shared.bytes.set(bytes, shared.position)
  const at = shared.hash()
  return shared.bytes.slice(at, at + DIGEST_BYTES)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Leaves room for the padding, and for one more block. */
function endOf(bytes: Uint8Array): number {
  return bytes.length - 2 * RATE
}

/** What hexline uses of WebAssembly; @types/node has no types for it. */
interface Memory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { readonly exports: Record<string, unknown> }
}

function instantiate(): { readonly memory: Memory; readonly absorb: (at: number, blocks: number) => void } | undefined {
  const api = (globalThis as { WebAssembly?: WebAssemblyApi }).WebAssembly
  if (api === undefined) return undefined
  const { memory, absorb } = new api.Instance(new api.Module(keccakModule(DIGEST))).exports
  return { memory: memory as Memory, absorb: absorb as (at: number, blocks: number) => void }
}
