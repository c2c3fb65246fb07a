/** A part of a line, in forms from the longest to the shortest. An empty form leaves it out. */
export type Part = readonly [string, ...string[]]

export interface FittedLine {
  /** In the order in which they are shown. */
  readonly parts: Readonly<Record<string, Part>>
  /** Stands between two parts. */
  readonly separator: Part
  /**
   * Which part takes its next form while the line is too long, one after the other, those that
   * matter least first: names of `parts`, and `separator`.
   */
  readonly steps: readonly string[]
}

/**
 * The longest form of a line that is at most `width` columns wide. Where none is, the line is cut,
 * with `…`.
 */
export function fittedLine({ parts, separator, steps }: FittedLine, width: number): string {
  const forms = new Map<string, number>()
  const formOf = (name: string, part: Part) => part[Math.min(forms.get(name) ?? 0, part.length - 1)] as string
  const line = () =>
    Object.entries(parts)
      .map(([name, part]) => formOf(name, part))
      .filter((text) => text !== '')
      .join(formOf('separator', separator))
  const move = (name: string, by: number) => forms.set(name, (forms.get(name) ?? 0) + by)
  const taken: string[] = []
  for (const step of steps) {
    if (line().length <= width) break
    move(step, 1)
    taken.unshift(step)
  }
  // A long part that has gone may have made room for those that went before it.
  for (const step of taken) {
    move(step, -1)
    if (line().length > width) move(step, 1)
  }
  const fitted = line()
  return fitted.length <= width ? fitted : `${fitted.slice(0, Math.max(0, width - 1))}…`
}
