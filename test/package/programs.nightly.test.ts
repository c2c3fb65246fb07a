import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, installPackage, root, run, usePackage } from '../support/installed-package.ts'

describe('the package, packed and installed in an empty folder', () => {
  const suite = usePackage(installPackage)

  it('loads no optional peer', async () => {
    const names = await readdir(join(suite.folder, 'node_modules'))
    expect(names).toContain('undici')
    expect(names).not.toContain('viem')
    expect(names).not.toContain('ethers')
    expect(names).not.toContain('@duckdb')
  })

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
    // The second program is a function, and the others print the logs that there are.
    expect(await runAll('docs/logs.md')).toEqual([expect.stringMatching(/^\{\n {2}level: 'bloom',\n {2}blocks: \d+,\n {2}suspects: 0,/), '', '', ''])
    expect(await runAll('docs/failover.md')).toEqual(['100n\n', '', ''])

    const [command] = (await blocksOf('sh', 'docs/logs.md')) as [string]
    const { stdout, stderr } = await run('bash', ['-c', local(command)], { cwd: suite.folder })
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^audit by bloom: \d+ headers, and the receipts of hardly any block\. /m)
    expect(await readFile(join(suite.folder, 'transfers.ndjson'), 'utf8')).toBe('')
  })

  describe.each([
    {
      library: 'viem',
      change: {
        'https://rpc.example.com/KEY': () => suite.anvil.url,
        "{ fromBlock: 21_000_000n, toBlock: 'finalized',": () => '{ fromBlock: 0n, toBlock: 100n,',
      },
      line: (number: number) => `${number}n 0 0`,
    },
    {
      library: 'ethers',
      change: { 'https://rpc.example.com/KEY': () => suite.anvil.url, "getBlocks(21_000_000, 'finalized',": () => 'getBlocks(0, 100,' },
      line: (number: number) => `${number} 0`,
    },
  ])('with $library beside it', ({ library, change, line }) => {
    beforeAll(() => suite.installed.lay(library))

    it('runs the program of its page', async () => {
      let program = (await blocksOf('ts', `docs/${library}.md`)).find((code) => code.includes(`from 'hexline/${library}'`)) as string
      for (const [text, instead] of Object.entries(change)) {
        expect(program).toContain(text)
        program = program.replace(text, instead())
      }
      await writeFile(join(suite.folder, `${library}.js`), `${program}\nconsole.log(balance)\n`)
      const { stdout } = await run(process.execPath, [`${library}.js`], { cwd: suite.folder })
      expect(stdout.trimEnd().split('\n')).toEqual([...Array.from({ length: 101 }, (_, number) => line(number)), '10000000000000000000000n'])
    })
  })

  it.each(['viem', 'ethers'])("runs the README's program for %s", async (library) => {
    await suite.installed.lay(library)
    const program = (await blocksOf('ts')).find((code) => code.includes(`from 'hexline/${library}'`)) as string
    await writeFile(join(suite.folder, `${library}.js`), program.replaceAll('http://127.0.0.1:8545', suite.anvil.url))
    expect((await run(process.execPath, [`${library}.js`], { cwd: suite.folder })).stdout).toMatch(/^100n?\n$/)
  })

  describe('from CommonJS', () => {
    const own = 'both'

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

  describe('from CommonJS, with viem and ethers beside it', () => {
    const own = 'commonjs'

    beforeAll(async () => {
      for (const library of ['viem', 'ethers']) await suite.installed.lay(library)
      await mkdir(join(suite.folder, own))
      await writeFile(join(suite.folder, own, 'package.json'), '{ "type": "commonjs" }')
    })

    it("has the program's viem: its classes, its transports, its fallback", async () => {
      const program = `const { BaseError, createPublicClient, custom, fallback, HttpRequestError } = require('viem')
const { bulkActions, hexline } = require('hexline/viem')
const { RpcError } = require('hexline')
async function main() {
  const alive = hexline('${suite.anvil.url}')
  const dead = hexline('http://127.0.0.1:1', { retryCount: 0 })
  const error = await createPublicClient({ transport: dead }).getChainId().catch((error) => error)
  console.log(error instanceof HttpRequestError, error instanceof BaseError)
  const client = createPublicClient({ transport: fallback([dead, alive]) })
  console.log(await client.getBlockNumber())
  const refused = await createPublicClient({ transport: alive }).request({ method: 'eth_nothing' }).catch((error) => error)
  console.log(refused.name, refused instanceof BaseError, refused.walk((each) => each instanceof RpcError) !== null)
  for await (const { number } of createPublicClient({ transport: alive }).extend(bulkActions()).getBlocks({ fromBlock: 99n, toBlock: 'latest' })) console.log(number)
}
main()
`
      await writeFile(join(suite.folder, own, 'viem.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['viem.js'], { cwd: join(suite.folder, own) })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true true', '100n', 'MethodNotFoundRpcError true true', '99n', '100n'])
    })

    it("has the program's ethers: its classes, its FallbackProvider", async () => {
      const program = `const { Block, FallbackProvider, JsonRpcProvider } = require('ethers')
const { HexlineProvider } = require('hexline/ethers')
async function main() {
  const provider = await HexlineProvider.connect('${suite.anvil.url}')
  console.log(provider instanceof JsonRpcProvider, (await provider.getBlock(1)) instanceof Block)
  console.log(await new FallbackProvider([provider, provider]).getBlockNumber())
  provider.destroy()
}
main()
`
      await writeFile(join(suite.folder, own, 'ethers.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['ethers.js'], { cwd: join(suite.folder, own) })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true true', '100'])
    })
  })
})
