/**
 * A cumulative sum test (CUSUM; E. S. Page, Continuous Inspection Schemes, 1954) of whether more is
 * refused than chance explains. Chance refuses the part p of all calls, another reason the part
 * q > p. With each POST, of whose calls the part `refused` was refused,
 *
 *     S = max(0, S + refused * ln(q / p) + (1 - refused) * ln((1 - q) / (1 - p))),
 *
 * which tells how much likelier the other reason is, as a natural logarithm. It is the part that
 * counts, since nearly every long POST has a call that is refused at random, but no larger part of
 * its calls.
 */
export class Cusum {
  /** How much likelier the other reason is, as a natural logarithm. */
  score = 0

  /** A POST with the part `refused`, where p is `byChance` and q is `otherwise`. */
  add(refused: number, byChance: number, otherwise: number): void {
    const change = refused * Math.log(otherwise / byChance) + (1 - refused) * Math.log((1 - otherwise) / (1 - byChance))
    this.score = Math.max(0, this.score + change)
  }

  clear(): void {
    this.score = 0
  }
}
