/** The number of a head, as a node sends it; undefined where it has none. Null is not block 0. */
export function headNumber(head: unknown): number | undefined {
  const { number } = (head ?? {}) as { readonly number?: unknown }
  const value = typeof number === 'string' && number !== '' ? Number(number) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}
