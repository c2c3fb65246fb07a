import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { type ImportSize, importSize } from '../support/import-sizes.ts'

/*
 * `sizes.json` has what imports cost. `npx vitest run --project nightly test/package/sizes
 * --update` writes it.
 */

const file = fileURLToPath(new URL('sizes.json', import.meta.url))

/** A figure that has changed by less than this share stands: a fix may add a line. */
const STANDS = 0.02

const imports = { hexline: 'createClient', 'hexline/bulk': 'getBlocks', 'hexline/viem': 'hexline', 'hexline/rest': 'getWalletTokens' }

it('an import is as large as sizes.json says, in bytes and in modules', async () => {
  const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, ImportSize>
  const sizes: Record<string, object> = {}
  for (const [entry, name] of Object.entries(imports)) {
    const before = Object.entries(written[entry] ?? {})
    const stands = (key: string, figure: number) => before.find(([other, old]) => other === key && Math.abs(figure - old) < STANDS * old)?.[1]
    sizes[entry] = Object.fromEntries(Object.entries(await importSize(entry, name)).map(([key, figure]) => [key, stands(key, figure) ?? figure]))
  }
  await expect(`${JSON.stringify(sizes, undefined, 2)}\n`).toMatchFileSnapshot(file)
})
