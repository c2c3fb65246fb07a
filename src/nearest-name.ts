/**
 * The most similar name: the same except for capitals, or for a letter or two. Undefined if no name
 * is that near. Short names must be nearer than long ones: one edit in three letters,
 * two in six.
 *
 * @example
 * nearestName('bacth', ['batch', 'rate']) // 'batch'
 */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  let least = Math.min(MAX_EDITS, Math.floor(wrong.length / 3)) + 1
  for (const name of names) {
    const edits = editsBetween(wrong.toLowerCase(), name.toLowerCase())
    if (edits < least) [nearest, least] = [name, edits]
  }
  return nearest
}

/** A hint for an error message, such as " (did you mean `batch`?)"; empty where no name is near. */
export function didYouMean(wrong: string, names: readonly string[]): string {
  const near = nearestName(wrong, names)
  return near === undefined ? '' : ` (did you mean \`${near}\`?)`
}

const MAX_EDITS = 2

/**
 * Optimal string alignment distance: characters to insert, remove or replace, and neighbours to
 * swap. Where the lengths alone differ by more than `MAX_EDITS`, that difference.
 */
function editsBetween(a: string, b: string): number {
  const lengths = Math.abs(a.length - b.length)
  if (lengths > MAX_EDITS) return lengths
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? (beforeLast[j - 2] as number) + 1 : replaced
      row.push(Math.min(replaced, swapped, (last[j] as number) + 1, (row[j - 1] as number) + 1))
    }
    beforeLast = last
    last = row
  }
  return last[b.length] as number
}
