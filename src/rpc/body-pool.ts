const MiB = 1024 * 1024
/** Most free memory to keep for later bodies, in bytes: as much as streams read ahead. */
const MOST_FREE = 32 * MiB
/** Smaller bodies get memory of their own, in bytes: that costs little. */
const LEAST = 64 * 1024
/** The memory of a body is at most this many times as large as the body. */
const MOST_ROOM = 2

/**
 * Memory for the bodies that one job receives. A buffer is reused once its owner has released it,
 * the last one first: the processor's caches still hold it. New memory for every body costs more
 * than all other work on the body: the kernel clears its pages, and the garbage collector has to
 * return it.
 *
 * A buffer that is never released, such as that of a reply without a caller, is collected like any
 * other memory. So nothing has to be released, and only the one owner of a body may release it,
 * since only the owner knows that its bytes will not be read again.
 */
export class BodyPool {
  /** In the order in which they were released. */
  readonly #free: Buffer[] = []
  #freeBytes = 0
  readonly #taken = new WeakSet<ArrayBufferLike>()

  /** A buffer of at least `size` bytes, not cleared; undefined for a size that is not pooled. */
  take(size: number): Buffer | undefined {
    if (size < LEAST) return undefined
    const at = this.#free.findLastIndex(({ length }) => length >= size && length <= MOST_ROOM * size)
    const [memory = Buffer.allocUnsafeSlow(size)] = at < 0 ? [] : this.#free.splice(at, 1)
    if (at >= 0) this.#freeBytes -= memory.length
    this.#taken.add(memory.buffer)
    return memory
  }

  /**
   * Takes back the memory that holds `bytes`, which may be overwritten from now on. Ignores memory
   * that does not come from this pool, or was released before.
   */
  release({ buffer }: Buffer): void {
    if (!this.#taken.delete(buffer)) return
    this.#free.push(Buffer.from(buffer))
    this.#freeBytes += buffer.byteLength
    while (this.#freeBytes > MOST_FREE) this.#freeBytes -= (this.#free.shift() as Buffer).length
  }
}
