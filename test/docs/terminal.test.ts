import { expect, it } from 'vitest'
import { hexline } from '../support/command.ts'
import { textOf } from '../support/pages.ts'

it('docs/terminal.md has the help that the command prints', async () => {
  const { stdout } = await hexline(['--help'])
  expect(textOf('docs/terminal.md')).toContain(`\`\`\`\n$ hexline --help\n${stdout.trimEnd()}\n\`\`\`\n`)
})
