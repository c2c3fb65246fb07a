import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { methodsPage } from '../../../docs/site/methods.ts'

// `npm run build && npx vitest run --project hexline test/docs/site/methods.test.ts --update`
// writes the page.
it('docs/methods.md is made from the tables of methods and their docstrings', async () => {
  const folder = fileURLToPath(new URL('../../../dist/src/eth', import.meta.url))
  await expect(methodsPage(folder)).toMatchFileSnapshot('../../../docs/methods.md')
})
