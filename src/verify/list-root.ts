import type { RlpWriter } from './rlp.ts'

/** Root of an empty trie: the hash of an empty string. */
export const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** A reference to a node: its hash as RLP, or the node itself if that is shorter. */
const MOST_REFERENCE = 33
/** Nibbles of the longest key, the RLP of an index below 2^24. */
const MOST_DEPTH = 8
const HASH_BYTES = 32

/**
 * Computes the root of the Merkle Patricia trie of a list, whose keys are the RLP of the indexes
 * (Yellow Paper, 4.3.2 and appendix D). The keys are known beforehand and taken in their order, so
 * that each node is written once, when all below it is done: no nodes are looked up or stored.
 */
export class ListRoot {
  readonly #writer: RlpWriter
  /**
   * For each depth, references to the 16 children of the branch that is being built there; and one
   * to the branch below an extension.
   */
  readonly #references = new Uint8Array((MOST_DEPTH + 1) * 16 * MOST_REFERENCE)
  readonly #lengths = new Uint8Array(MOST_DEPTH * 16)
  #write: (index: number) => void = () => {}
  #count = 0

  constructor(writer: RlpWriter) {
    this.#writer = writer
  }

  /**
   * The root of a list of `count` items, in hex. `write` writes the bytes of one item, in an order
   * that is not the list's; the writer is empty before.
   */
  of(count: number, write: (index: number) => void): string {
    if (count === 0) return EMPTY_ROOT
    this.#write = write
    this.#count = count
    this.#node(0, count - 1, 0)
    this.#writer.hash()
    return this.#writer.digest()
  }

  /**
   * Writes the node that holds the keys from `first` to `last` in their order, which agree in their
   * first `depth` nibbles.
   */
  #node(first: number, last: number, depth: number): void {
    if (first === last) {
      this.#leaf(this.#indexAt(first), depth)
      return
    }
    const [low, high] = [this.#indexAt(first), this.#indexAt(last)]
    let fork = depth
    while (nibble(low, fork) === nibble(high, fork)) fork++
    this.#branch(first, last, fork)
    if (fork === depth) return
    const at = MOST_DEPTH * 16 * MOST_REFERENCE
    const length = this.#refer(at)
    this.#writer.clear()
    this.#writer.raw(this.#references, at, at + length)
    this.#path(low, depth, fork, false)
    this.#writer.list(0)
  }

  #leaf(index: number, depth: number): void {
    this.#writer.clear()
    this.#write(index)
    this.#writer.string(0)
    this.#path(index, depth, nibbles(index), true)
    this.#writer.list(0)
  }

  #branch(first: number, last: number, depth: number): void {
    const at = depth * 16
    this.#lengths.fill(0, at, at + 16)
    for (let from = first; from <= last; ) {
      const child = nibble(this.#indexAt(from), depth)
      let to = from
      while (to < last && nibble(this.#indexAt(to + 1), depth) === child) to++
      this.#node(from, to, depth + 1)
      this.#lengths[at + child] = this.#refer((at + child) * MOST_REFERENCE)
      from = to + 1
    }
    const writer = this.#writer
    writer.clear()
    // No key is the beginning of another, so that no branch has a value.
    writer.byte(EMPTY)
    for (let child = 15; child >= 0; child--) {
      const length = this.#lengths[at + child] as number
      const from = (at + child) * MOST_REFERENCE
      if (length === 0) writer.byte(EMPTY)
      else writer.raw(this.#references, from, from + length)
    }
    writer.list(0)
  }

  /** Keeps a reference to the node that was just written, at `to`; returns its length. */
  #refer(to: number): number {
    const writer = this.#writer
    const isShort = writer.size < HASH_BYTES
    const from = isShort ? writer.position : writer.hash()
    const length = isShort ? writer.size : HASH_BYTES
    const { bytes } = writer
    let at = to
    if (!isShort) this.#references[at++] = HASH_HEAD
    for (let i = 0; i < length; i++) this.#references[at++] = bytes[from + i] as number
    return at - to
  }

  /** Nibbles `from` to `to` of a key, as a path in hex-prefix encoding. */
  #path(index: number, from: number, to: number, isLeaf: boolean): void {
    const writer = this.#writer
    const flag = isLeaf ? 2 : 0
    const size = writer.size
    let at = to
    for (; at - from >= 2; at -= 2) writer.byte((nibble(index, at - 2) << 4) | nibble(index, at - 1))
    writer.byte(at > from ? ((flag | 1) << 4) | nibble(index, from) : flag << 4)
    writer.string(size)
  }

  /** The index whose key is at this position in the order of keys: 1 to 127, 0, 128 and on. */
  #indexAt(position: number): number {
    const small = Math.min(this.#count, 128)
    if (position >= small) return position
    return position === small - 1 ? 0 : position + 1
  }
}

/** An empty string. */
const EMPTY = 0x80
const HASH_HEAD = 0x80 + HASH_BYTES

/** Number of nibbles in the key of an index. */
function nibbles(index: number): number {
  if (index < 0x80) return 2
  if (index < 0x100) return 4
  return index < 0x10000 ? 6 : 8
}

/** One nibble of the key of an index. */
function nibble(index: number, at: number): number {
  const count = nibbles(index)
  let key = index
  if (index === 0) key = EMPTY
  else if (count > 2) key = (EMPTY + count / 2 - 1) * 2 ** ((count - 2) * 4) + index
  return (key >>> ((count - 1 - at) * 4)) & 15
}
