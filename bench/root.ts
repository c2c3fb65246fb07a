import { existsSync } from 'node:fs'

/**
 * The project's folder. The benchmark runs compiled, from `bench/dist`, and its tests run from
 * here.
 */
export const root = new URL(existsSync(new URL('../biome.json', import.meta.url)) ? '../' : '../../', import.meta.url)
