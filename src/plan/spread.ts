/** Headers for each block of the sample. */
const HEADERS_PER_BLOCK = 10
/** Parts of the range from each of which as many blocks are chosen. */
const ERAS = 4

/** The numbers of the headers to ask for: one at random from each of equal parts of the range. */
export function headersIn(from: number, blocks: number, sample: number): number[] {
  const random = seeded()
  return oneOfEach(blocks, Math.min(blocks, sample * HEADERS_PER_BLOCK), random).map((number) => from + number)
}

/**
 * Chooses the blocks to fetch whole. Each era of the range, and in it blocks of each size, have
 * their share: few blocks then stand for all, also where the chain grows, or comes in bursts.
 */
export function chosenFrom<T extends { readonly number: number; readonly transactions: number }>(headers: readonly T[], sample: number): T[] {
  if (headers.length <= sample) return [...headers]
  const random = seeded()
  const eras = Math.min(ERAS, sample)
  const chosen: T[] = []
  for (let era = 0; era < eras; era++) {
    const part = (of: number) => Math.floor((era * of) / eras)
    const next = (of: number) => Math.floor(((era + 1) * of) / eras)
    const bySize = headers.slice(part(headers.length), next(headers.length)).sort((a, b) => a.transactions - b.transactions)
    for (const i of oneOfEach(bySize.length, next(sample) - part(sample), random)) chosen.push(bySize[i] as T)
  }
  return chosen.sort((a, b) => a.number - b.number)
}

/** One at random of each of `parts` equal parts of the numbers below `size`. */
export function oneOfEach(size: number, parts: number, random: () => number): number[] {
  return Array.from({ length: parts }, (_, i) => {
    const [start, end] = [Math.floor((i * size) / parts), Math.floor(((i + 1) * size) / parts)]
    return start + Math.floor(random() * (end - start))
  })
}

/**
 * Numbers from 0 to 1 that only look random (mulberry32), always the same ones: the same range
 * gives the same sample. Steps of a fixed kind would fall in with what repeats along a chain.
 */
export function seeded(seed = 1): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
