import type { Log } from '../../eth/objects.ts'
import type { LogSpan } from './log-span.ts'

/** Groups logs by their block numbers, in the order in which they came. */
export function groupByBlock<T>(items: readonly T[], logOf: (item: T) => Log): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const number = Number(logOf(item).blockNumber)
    const group = groups.get(number)
    if (group === undefined) groups.set(number, [item])
    else group.push(item)
  }
  return groups
}

/** The logs of a span: for each block those of `found`, or else those of `given`. */
export function mergeBlocks<T>({ from, to }: LogSpan, given: ReadonlyMap<number, T[]>, found: ReadonlyMap<number, T[]>): T[] {
  const lists: (readonly T[])[] = []
  for (let number = from; number <= to; number++) lists.push(found.get(number) ?? given.get(number) ?? [])
  return lists.flat()
}
