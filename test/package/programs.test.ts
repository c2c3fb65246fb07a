import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, run, useInstalledPackage } from '../support/installed-package.ts'

describe('the package, packed and installed in an empty folder', () => {
  const suite = useInstalledPackage()

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

  it('loads no optional peer', async () => {
    const names = await readdir(join(suite.folder, 'node_modules'))
    expect(names).toContain('undici')
    expect(names).not.toContain('viem')
    expect(names).not.toContain('ethers')
    expect(names).not.toContain('@duckdb')
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

    const programOf = async (page: string) => (await blocksOf('ts', page)).find((code) => code.includes(`from 'hexline/${library}'`)) as string

    it("runs the README's program, and the one of its page", async () => {
      await writeFile(join(suite.folder, `${library}.js`), (await programOf('README.md')).replaceAll('http://127.0.0.1:8545', suite.anvil.url))
      expect((await run(process.execPath, [`${library}.js`], { cwd: suite.folder })).stdout).toMatch(/^100n?\n$/)

      let program = await programOf(`docs/${library}.md`)
      for (const [text, instead] of Object.entries(change)) {
        expect(program).toContain(text)
        program = program.replace(text, instead())
      }
      await writeFile(join(suite.folder, `${library}.js`), `${program}\nconsole.log(balance)\n`)
      const { stdout } = await run(process.execPath, [`${library}.js`], { cwd: suite.folder })
      expect(stdout.trimEnd().split('\n')).toEqual([...Array.from({ length: 101 }, (_, number) => line(number)), '10000000000000000000000n'])
    })
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
  it('runs the program of docs/sandbox.md, with anvil beside it, and exits on its own', async () => {
    await suite.installed.lay('@foundry-rs')
    const [program] = (await blocksOf('ts', 'docs/sandbox.md')) as [string]
    expect(program).toContain('faults: 0.1')
    await writeFile(join(suite.folder, 'sandbox.js'), program.replace('faults: 0.1', 'faults: 0'))
    const { stdout } = await run(process.execPath, ['sandbox.js'], { cwd: suite.folder })
    expect(stdout).toMatch(/^8453 \{\n {2}dataUrl: 'http:\/\/127\.0\.0\.1:\d+',/)
  })
})
