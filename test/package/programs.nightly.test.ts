import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blocksOf, root, run, useInstalledPackage } from '../support/installed-package.ts'

describe('the package, packed and installed in an empty folder', () => {
  const suite = useInstalledPackage()

  it('runs the programs of docs/client.md and docs/blocks.md', async () => {
    const runOf = async (page: string) => {
      const [program] = await blocksOf('ts', page)
      await writeFile(join(suite.folder, 'program.js'), (program as string).replaceAll('http://127.0.0.1:8545', suite.anvil.url))
      return (await run(process.execPath, ['program.js'], { cwd: suite.folder })).stdout.trimEnd().split('\n')
    }
    expect(await runOf('docs/client.md')).toEqual([expect.stringMatching(/^100n \d+n 10000000000000000000000n$/), 'anvil/v1.7.1'])
    expect(await runOf('docs/blocks.md')).toEqual(Array.from({ length: 101 }, (_, number) => `${number}n 0 0`))
  })

  it('runs the programs and the command of docs/logs.md, and those of docs/failover.md', async () => {
    for (const name of ['viem', 'ethers']) await suite.installed.lay(name)
    const local = (text: string) => text.replaceAll(/https:\/\/(?:node[12]|archive)\.example\.com\/KEY|http:\/\/127\.0\.0\.1:8545/g, suite.anvil.url)
    const runAll = async (page: string) => {
      const printed: string[] = []
      for (const program of await blocksOf('ts', page)) {
        await writeFile(join(suite.folder, 'program.ts'), local(program))
        printed.push((await run(process.execPath, [join(root, 'node_modules/tsx/dist/cli.mjs'), 'program.ts'], { cwd: suite.folder })).stdout)
      }
      return printed
    }
    // The second program is a function, and the third prints the logs that there are.
    expect(await runAll('docs/logs.md')).toEqual([expect.stringMatching(/^\{\n {2}level: 'bloom',\n {2}blocks: \d+,\n {2}suspects: 0,/), '', ''])
    expect(await runAll('docs/failover.md')).toEqual(['100n\n', '', ''])

    const [command] = (await blocksOf('sh', 'docs/logs.md')) as [string]
    const { stdout, stderr } = await run('bash', ['-c', local(command)], { cwd: suite.folder })
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^audit by bloom: \d+ headers, and the receipts of hardly any block$/m)
    expect(await readFile(join(suite.folder, 'transfers.ndjson'), 'utf8')).toBe('')
  })
})
