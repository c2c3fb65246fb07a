import type { RangeEntry } from '../folder/manifest.ts'

/**
 * `count` of the numbers `from` to `to`, in order: the first, the last, and one at random of each
 * of equal parts between them. The same seed gives the same numbers.
 */
export function sampleOf(from: number, to: number, count: number, seed: number): number[] {
  const all = to - from + 1
  if (count >= all) return Array.from({ length: all }, (_, i) => from + i)
  if (count <= 1) return [to].slice(0, count)
  const random = randomFrom(seed)
  const parts = count - 2
  const between = all - 2
  const inner = Array.from({ length: parts }, (_, i) => {
    const [start, end] = [i, i + 1].map((part) => Math.floor((part * between) / parts)) as [number, number]
    return from + 1 + start + Math.floor(random() * (end - start))
  })
  return [from, ...inner, to]
}

/** Those of these numbers, which are in order, that are in a range of blocks. */
export function within(numbers: readonly number[], { from, to }: Pick<RangeEntry, 'from' | 'to'>): readonly number[] {
  return numbers.slice(countBelow(numbers, from), countBelow(numbers, to + 1))
}

/** How many of these numbers, which are in order, are below a limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] as number) < limit) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Numbers from 0 to 1, by mulberry32:
 * https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
function randomFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
