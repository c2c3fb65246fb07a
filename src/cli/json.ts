/** For `JSON.stringify`: amounts are larger than a number of JSON is read as. */
export function bigintsAsStrings(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
