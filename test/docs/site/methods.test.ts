import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { methodsPage } from '../../../docs/site/methods.ts'

// `npm run build && npx vitest run --project hexline test/docs/site/methods.test.ts --update`
// writes the page.
it('docs/methods.md is made from the table of methods and its docstrings', async () => {
  const declarations = fileURLToPath(new URL('../../../dist/src/eth/methods.d.ts', import.meta.url))
  await expect(methodsPage(declarations)).toMatchFileSnapshot('../../../docs/methods.md')
})
