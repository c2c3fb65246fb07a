import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
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

  it.each(['viem', 'ethers'])("runs the README's program for %s", async (library) => {
    await suite.installed.lay(library)
    const program = (await blocksOf('ts')).find((code) => code.includes(`from 'hexline/${library}'`)) as string
    await writeFile(join(suite.folder, `${library}.js`), program.replaceAll('http://127.0.0.1:8545', suite.anvil.url))
    expect((await run(process.execPath, [`${library}.js`], { cwd: suite.folder })).stdout).toMatch(/^100n?\n$/)
  })

  describe('from CommonJS', () => {
    const own = 'commonjs'

    beforeAll(async () => {
      await mkdir(join(suite.folder, own))
      await writeFile(join(suite.folder, own, 'package.json'), '{ "type": "commonjs" }')
    })

    it('works with the ES modules of the same process: clients and errors', async () => {
      const program = `const { createClient, RpcError, HexlineError, HttpError } = require('hexline')
async function main() {
  const { getBlocks } = await import('hexline/bulk')
  const modules = await import('hexline')
  const client = createClient('${suite.anvil.url}')
  console.log(modules.createClient !== createClient)
  for await (const { number } of getBlocks(client, { from: 98, to: 100 })) console.log(number)
  const error = await client.request({ method: 'eth_nothing' }).catch((error) => error)
  for (const { RpcError, HexlineError, HttpError } of [require('hexline'), modules])
    console.log(error instanceof RpcError, error instanceof HexlineError, error instanceof HttpError)
  await client.close()
}
main()
`
      await writeFile(join(suite.folder, own, 'both.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['both.js'], { cwd: join(suite.folder, own) })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true', '98n', '99n', '100n', 'true true false', 'true true false'])
    })
  })

  it('names the lines of its sources in stack traces', async () => {
    await writeFile(join(suite.folder, 'stack.js'), "import { createClient } from 'hexline'\ncreateClient('nowhere')\n")
    const { stderr } = await run(process.execPath, ['--enable-source-maps', 'stack.js'], { cwd: suite.folder }).catch((error) => error)
    const [, file, line] = /\((.*\/node_modules\/hexline\/src\/[\w/]+\.ts):(\d+):\d+\)/.exec(stderr) ?? []
    expect((await readFile(file as string, 'utf8')).split('\n')[Number(line) - 1]).toContain('throw new OptionError')
  })
})
