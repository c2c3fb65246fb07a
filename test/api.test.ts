import { describe, expect, it } from 'vitest'
import { type Entry, entries, publicApi } from './support/public-api.ts'

/*
 * The names and types of every entry point are a contract. `test/api` holds them as text; a change to them shows as a difference to it. For a change that is
 * meant, `npm run build && npx vitest run --project hexline test/api.test.ts --update` writes the text anew, and CHANGELOG.md tells users of it.
 */
describe('the public API', () => {
  const built = publicApi('dist')

  it.each(Object.keys(entries) as Entry[])('of %s is the one that test/api lists', async (entry) => {
    await expect(built[entry]).toMatchFileSnapshot(`api/${entry}.txt`)
  })

  it('is the same in the CommonJS build', () => {
    expect(publicApi('dist/cjs')).toEqual(built)
  })
})
