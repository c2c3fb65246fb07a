import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Script } from 'node:vm'
import type { Command } from 'commander'
import { expect, it, onTestFinished } from 'vitest'
import { entriesOfPackage } from '../../docs/site/entries.ts'
import { createProgram } from '../../src/cli/program.ts'
import { type CodeBlock, codeOf, guides, textOf } from '../support/pages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const all = (language: string) => guides().flatMap((page) => codeOf(language, page))
const nameOf = ({ page, index }: CodeBlock) => `${page.replaceAll(/\W/g, '-')}-${index}`

it('every program of README.md and the docs is compiled with the strictest options', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-docs-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const programs = all('ts')
  expect(programs.length).toBeGreaterThan(40)
  // An example without imports is a module, too.
  for (const each of programs) await writeFile(join(folder, `${nameOf(each)}.ts`), `${each.code}\nexport {}\n`)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  // The declarations of the build are quicker to check than the sources.
  const paths = Object.fromEntries(
    Object.entries(entriesOfPackage()).map(([name, file]) => [name === 'hexline' ? name : `hexline/${name}`, [join(root, 'dist', file)]]),
  )
  const compilerOptions = { rootDir: '/', noUnusedLocals: false, paths }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder, '--checkers', '1']).catch((error) => error)
  expect(stdout).toBe('')
})

it('every program in JavaScript, which is CommonJS, is compiled', () => {
  const programs = all('js')
  expect(programs).not.toEqual([])
  for (const { code } of programs) expect(() => new Script(code)).not.toThrow()
})

/** Each `hexline` command of a page, by its words, as in a shell, in a session or indented. */
function commandsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^(?:\$ | {4})?(?:[A-Z_]+=\S+ )*(?:npx )?hexline ([a-z].*)$/gm)].map(([, words]) => words as string)
}

it('every option of a command exists', async () => {
  const program = await createProgram('', {} as never, { args: [], stdout: process.stdout } as never, () => {})
  const commands = guides().flatMap((page) => commandsOf(page).map((words) => ({ page, words })))
  const checked = commands.flatMap(({ page, words }) => {
    let command: Command | undefined = program
    for (const word of words.split(' ')) {
      const sub: Command | undefined = command.commands.find((each) => each.name() === word)
      if (sub === undefined) break
      command = sub
    }
    if (command === program) return []
    const known = [...command.options.map(({ long }) => long), '--help']
    for (const [, flag] of words.replaceAll(/'[^']*'/g, '').matchAll(/ (--[a-z-]+)/g)) expect(known, `${page}: hexline ${words}`).toContain(flag)
    return [words]
  })
  expect(checked.length).toBeGreaterThan(30)
})
