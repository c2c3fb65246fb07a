/** Characters that may differ. */
const MOST_DIFFERENT = 2

/** The name among `names` that was most likely meant by `name`: the same but for its capitals, its `eth_`, or two characters. Undefined when none is near. */
export function nearestMethod(name: string, names: readonly string[]): string | undefined {
  const guesses = [name.toLowerCase(), `eth_${name.toLowerCase()}`]
  let nearest: string | undefined
  let least = MOST_DIFFERENT + 1
  for (const each of names) {
    for (const guess of guesses) {
      const distance = distanceOf(guess, each.toLowerCase())
      if (distance < least) [nearest, least] = [each, distance]
    }
  }
  return nearest
}

/** Characters to insert, remove or replace (Levenshtein); of texts whose lengths differ by more than may differ, that alone. */
function distanceOf(a: string, b: string): number {
  const apart = Math.abs(a.length - b.length)
  if (apart > MOST_DIFFERENT) return apart
  let before = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (before[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, (before[j] as number) + 1, (row[j - 1] as number) + 1))
    }
    before = row
  }
  return before[b.length] as number
}
