import { describe, expect, it } from 'vitest'
import { entries, publicApi } from './support/public-api.ts'
import { nightly } from './support/runs.ts'

/*
 * The names and types of every entry point are a contract. `test/api` holds them as text, and a
 * change shows as a difference. For an intended change, `npm run build && npx vitest run --project
 * hexline test/api.test.ts --update` rewrites the text, and CHANGELOG.md informs users.
 */
describe('the public API', () => {
  const built = publicApi('dist')

  it.each(Object.keys(entries))('of %s is the one in test/api', async (entry) => {
    await expect(built[entry]).toMatchFileSnapshot(`api/${entry}.txt`)
  })

  it.each(nightly('dist/cjs'))('is the same in %s', (dist) => {
    expect(publicApi(dist)).toEqual(built)
  })
})
