import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blocksOf, run, unpackPackage, usePackage } from '../support/installed-package.ts'

describe('the package, packed and unpacked in an empty folder', () => {
  const suite = usePackage(unpackPackage)

  it("runs the README's first program, and ends by itself", async () => {
    const [program] = await blocksOf('ts')
    expect(program).toContain("from 'hexline/bulk'")
    await writeFile(join(suite.folder, 'program.js'), (program as string).replaceAll('http://127.0.0.1:8545', suite.anvil.url))
    const { stdout, stderr } = await run(process.execPath, ['program.js'], { cwd: suite.folder })
    expect(stderr).toBe('')
    expect(stdout.trimEnd().split('\n')).toEqual(Array.from({ length: 101 }, (_, number) => `${number}n 0`))
  })

  it('contains its documents, and the meaning of each field of the records', async () => {
    const place = join(suite.folder, 'node_modules/hexline')
    const records = await readFile(join(place, 'dist/src/rest/records.d.ts'), 'utf8')
    expect(records).toContain('/** In the smallest unit. */\n    balance: ')
    expect(await readdir(join(place, 'docs'))).toContain('service.md')
  })

  it("runs the README's commands, which print what stands below them", async () => {
    const commands = (await blocksOf('sh')).find((block) => block.includes('hexline blocks')) as string
    await writeFile(join(suite.folder, 'commands.sh'), commands.replaceAll('http://127.0.0.1:8545', suite.anvil.url))
    const { stdout } = await run('bash', ['-c', 'bash commands.sh 2>&1'], { cwd: suite.folder })
    // Sizes and times differ each time, and npm may print its own warnings.
    const shape = (text: string) => text.replaceAll(/^npm .*\n/gm, '').replaceAll(/\b[\d.,]+ (kB|s\b|blocks\/s)/g, '… $1')
    const shown = [...commands.matchAll(/^# (.*\n)/gm)].map(([, line]) => line).join('')
    expect(shape(stdout)).toBe(shape(shown))
    expect((await readFile(join(suite.folder, 'blocks.ndjson'), 'utf8')).trimEnd().split('\n')).toHaveLength(101)
  })
})
