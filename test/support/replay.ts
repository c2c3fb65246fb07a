import type { FollowCursor } from '../../src/index-bulk.ts'

/** An item of `follow`, as far as a replay needs it. */
export type ReplayItem =
  | {
      readonly type: 'block'
      readonly block: { readonly number: bigint; readonly hash: string; readonly parentHash: string }
      readonly logs?: readonly object[]
      readonly cursor?: FollowCursor
    }
  | {
      readonly type: 'rollback'
      readonly to: bigint
      readonly blocks: readonly { readonly number: bigint; readonly hash: string }[]
      readonly cursor?: FollowCursor
    }

/**
 * A consumer: it applies blocks, undoes rollbacks, and throws for anything that does not fit what
 * it has: a gap, a block that comes twice, another parent, or a rollback of what it does not have.
 */
export class Replay {
  readonly from: number
  /** Hashes of the blocks that count, from `from` on. */
  readonly hashes: string[] = []
  /** The logs of these blocks. */
  readonly logs: (readonly object[])[] = []
  cursor: FollowCursor | undefined
  rollbacks = 0
  /** The deepest rollback. */
  depth = 0

  constructor(from: number) {
    this.from = from
  }

  get next(): number {
    return this.from + this.hashes.length
  }

  apply(item: ReplayItem): void {
    if (item.type === 'block') {
      const { number, hash, parentHash } = item.block
      if (number !== BigInt(this.next)) throw new Error(`block ${number} came where ${this.next} is next`)
      const parent = this.hashes.at(-1)
      if (parent !== undefined && parent !== parentHash) throw new Error(`block ${number} is not a child of ${parent}`)
      this.hashes.push(hash)
      this.logs.push(item.logs ?? [])
    } else {
      this.rollbacks++
      this.depth = Math.max(this.depth, item.blocks.length)
      if (item.blocks.length === 0) throw new Error('a rollback of nothing')
      for (const { number, hash } of item.blocks) {
        if (number !== BigInt(this.next - 1)) throw new Error(`block ${number} is rolled back where ${this.next - 1} is the last one`)
        if (hash !== this.hashes.pop()) throw new Error(`block ${number} is rolled back as ${hash}, which is another one`)
        this.logs.pop()
      }
      if (item.to !== BigInt(this.next - 1)) throw new Error(`rolled back to ${item.to}, but ${this.next - 1} is the last block`)
    }
    const { cursor } = item
    if (cursor === undefined) return
    if (cursor.number !== this.next - 1 || (this.hashes.length > 0 && cursor.hashes[0] !== this.hashes.at(-1)))
      throw new Error(`the cursor is at ${cursor.number} (${cursor.hashes[0]}) after block ${this.next - 1}`)
    this.cursor = cursor
  }
}

/** An item of a line that `hexline follow` has written. */
export function itemOf(line: string): ReplayItem {
  const { type, block, logs, to, blocks } = JSON.parse(line)
  if (type === 'block') return { type, block: { ...block, number: BigInt(block.number) }, logs }
  return { type, to: BigInt(to), blocks: blocks.map(({ number, hash }: { number: number; hash: string }) => ({ number: BigInt(number), hash })) }
}
