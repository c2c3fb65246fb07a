import { inspect } from 'node:util'

/**
 * Everything that a log, a crash report or a careless `console.log` would show of an error,
 * including all objects that it refers to.
 */
export function shownBy(error: unknown): string {
  const shown: string[] = []
  const seen = new Set<unknown>()
  const walk = (value: unknown): void => {
    if (typeof value === 'string') shown.push(value)
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const key of Reflect.ownKeys(value)) {
      shown.push(String(key))
      walk(Reflect.get(value, key))
    }
  }
  walk(error)
  shown.push(String(error), inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null, maxArrayLength: null }))
  return shown.join('\n')
}
