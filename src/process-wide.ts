/**
 * A value that the whole process shares, made at its first use. A variable of a module would be
 * there twice where both builds, of ES modules and of CommonJS, are in the process.
 */
export function processWide<T>(name: string, make: () => T): T {
  const held = globalThis as Record<symbol, unknown>
  const key = Symbol.for(`hexline.${name}`)
  held[key] ??= make()
  return held[key] as T
}
