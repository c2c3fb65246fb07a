import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BuildFailure, type BuildOptions, build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Anvil, startAnvil } from './support/anvil.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/** Code blocks of a page, by language. */
async function blocksOf(language: string, page = 'README.md'): Promise<string[]> {
  const text = await readFile(join(root, page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code as string)
}

describe('the package, packed and installed in an empty folder', () => {
  let folder: string
  let anvil: Anvil
  let tarball: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hexline-package-'))
    anvil = await startAnvil()
    await fetch(anvil.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_mine', params: ['0x64'] }),
    })
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
    const [{ filename }] = JSON.parse(stdout)
    tarball = filename
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--omit=peer', '@types/node@20', `./${filename}`], { cwd: folder })
  }, 180_000)

  afterAll(async () => {
    await anvil?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Lays a package of this project beside the installed one. */
  async function lay(name: string): Promise<void> {
    const there = join(folder, 'node_modules', name)
    if (!existsSync(there)) await symlink(join(root, 'node_modules', name), there)
  }

  it("runs the README's first program, and ends by itself", async () => {
    const [program] = await blocksOf('ts')
    expect(program).toContain("from 'hexline/bulk'")
    await writeFile(join(folder, 'program.js'), (program as string).replaceAll('http://127.0.0.1:8545', anvil.url))
    const { stdout, stderr } = await run(process.execPath, ['program.js'], { cwd: folder, timeout: 30_000 })
    expect(stderr).toBe('')
    expect(stdout.trimEnd().split('\n')).toEqual(Array.from({ length: 101 }, (_, number) => `${number}n 0`))
  })

  it('runs the programs of docs/client.md and docs/blocks.md', async () => {
    const runOf = async (page: string) => {
      const [program] = await blocksOf('ts', page)
      await writeFile(join(folder, 'program.js'), (program as string).replaceAll('http://127.0.0.1:8545', anvil.url))
      return (await run(process.execPath, ['program.js'], { cwd: folder, timeout: 30_000 })).stdout.trimEnd().split('\n')
    }
    expect(await runOf('docs/client.md')).toEqual([expect.stringMatching(/^100n \d+n 10000000000000000000000n$/), 'anvil/v1.7.1'])
    expect(await runOf('docs/blocks.md')).toEqual(Array.from({ length: 101 }, (_, number) => `${number}n 0 0`))
  })

  it('holds its documents, and what each field of the records means', async () => {
    const installed = join(folder, 'node_modules/hexline')
    const records = await readFile(join(installed, 'dist/src/rest/records.d.ts'), 'utf8')
    expect(records).toContain('/** In the smallest unit. */\n    balance: ')
    expect(await readdir(join(installed, 'docs'))).toContain('service.md')
  })

  it("runs the README's commands, which print what stands below them", async () => {
    const commands = (await blocksOf('sh')).find((block) => block.includes('hexline blocks')) as string
    await writeFile(join(folder, 'commands.sh'), commands.replaceAll('http://127.0.0.1:8545', anvil.url))
    const { stdout } = await run('bash', ['-c', 'bash commands.sh 2>&1'], { cwd: folder, timeout: 30_000 })
    // Sizes and times differ each time, and npm may have warnings of its own.
    const shape = (text: string) => text.replaceAll(/^npm .*\n/gm, '').replaceAll(/\b[\d.,]+ (kB|s\b|blocks\/s)/g, '… $1')
    const shown = [...commands.matchAll(/^# (.*\n)/gm)].map(([, line]) => line).join('')
    expect(shape(stdout)).toBe(shape(shown))
    expect((await readFile(join(folder, 'blocks.ndjson'), 'utf8')).trimEnd().split('\n')).toHaveLength(101)
  })

  it('loads no optional peer', async () => {
    const installed = await readdir(join(folder, 'node_modules'))
    expect(installed).toContain('undici')
    expect(installed).not.toContain('viem')
    expect(installed).not.toContain('ethers')
  })

  it('can be type-checked by its users, without skipLibCheck and with the strictest options', async () => {
    const program = `import { createClient, type Block } from 'hexline'
import { getBlocks } from 'hexline/bulk'
const client = createClient('http://127.0.0.1:8545')
const block: Block<true> | null = await client.call('eth_getBlockByNumber', 1n, true)
for await (const { receipts } of getBlocks(client, { from: 0, to: 'latest', receipts: true })) console.log(receipts[0]?.gasUsed === 1n, block?.hash)
`
    await writeFile(join(folder, 'typed.ts'), program)
    const options = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      types: ['node'],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['typed.ts'] }))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = await run(process.execPath, [tsc, '-p', folder], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  })
  describe.each([
    {
      library: 'viem',
      change: { 'https://rpc.example.com/KEY': () => anvil.url, "{ fromBlock: 21_000_000n, toBlock: 'finalized',": () => '{ fromBlock: 0n, toBlock: 100n,' },
      line: (number: number) => `${number}n 0 0`,
    },
    {
      library: 'ethers',
      change: { 'https://rpc.example.com/KEY': () => anvil.url, "getBlocks(21_000_000, 'finalized',": () => 'getBlocks(0, 100,' },
      line: (number: number) => `${number} 0`,
    },
  ])('with $library beside it', ({ library, change, line }) => {
    beforeAll(() => lay(library))

    const programOf = async (page: string) => (await blocksOf('ts', page)).find((code) => code.includes(`from 'hexline/${library}'`)) as string

    it("runs the README's program, and that of its own page", async () => {
      await writeFile(join(folder, `${library}.js`), (await programOf('README.md')).replaceAll('http://127.0.0.1:8545', anvil.url))
      expect((await run(process.execPath, [`${library}.js`], { cwd: folder, timeout: 30_000 })).stdout).toMatch(/^100n?\n$/)

      let program = await programOf(`docs/${library}.md`)
      for (const [text, instead] of Object.entries(change)) {
        expect(program).toContain(text)
        program = program.replace(text, instead())
      }
      await writeFile(join(folder, `${library}.js`), `${program}\nconsole.log(balance)\n`)
      const { stdout } = await run(process.execPath, [`${library}.js`], { cwd: folder, timeout: 30_000 })
      expect(stdout.trimEnd().split('\n')).toEqual([...Array.from({ length: 101 }, (_, number) => line(number)), '10000000000000000000000n'])
    })
  })

  it('can be type-checked in every program of the README and of the docs', async () => {
    for (const library of ['viem', 'ethers']) await lay(library)
    const pages = ['README.md', ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
    const files: string[] = []
    for (const page of pages)
      for (const [i, code] of (await blocksOf('ts', page)).entries()) {
        // An example without imports is a module, too.
        files.push(`${page.replaceAll(/\W/g, '-')}-${i}.ts`)
        await writeFile(join(folder, files.at(-1) as string), `${code}\nexport {}\n`)
      }
    expect(files.length).toBeGreaterThan(12)
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const options = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--noEmit',
      '--skipLibCheck',
      '--lib',
      'es2023,esnext.disposable',
    ]
    const target = ['--target', 'es2022', '--module', 'nodenext', '--types', 'node']
    const { stdout } = await run(process.execPath, [tsc, ...options, ...target, '--ignoreConfig', ...files], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  })

  describe('from CommonJS, with viem and ethers beside it', () => {
    const own = 'commonjs'

    beforeAll(async () => {
      for (const library of ['viem', 'ethers']) await lay(library)
      await mkdir(join(folder, own))
      await writeFile(join(folder, own, 'package.json'), '{ "type": "commonjs" }')
    })

    it("has the program's viem: its classes, its transports, its fallback", async () => {
      const program = `const { BaseError, createPublicClient, custom, fallback, HttpRequestError } = require('viem')
const { bulkActions, hexline } = require('hexline/viem')
const { RpcError } = require('hexline')
async function main() {
  const alive = hexline('${anvil.url}')
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
      await writeFile(join(folder, own, 'viem.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['viem.js'], { cwd: join(folder, own), timeout: 30_000 })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true true', '100n', 'MethodNotFoundRpcError true true', '99n', '100n'])
    })

    it("has the program's ethers: its classes, its FallbackProvider", async () => {
      const program = `const { Block, FallbackProvider, JsonRpcProvider } = require('ethers')
const { HexlineProvider } = require('hexline/ethers')
async function main() {
  const provider = await HexlineProvider.connect('${anvil.url}')
  console.log(provider instanceof JsonRpcProvider, (await provider.getBlock(1)) instanceof Block)
  console.log(await new FallbackProvider([provider, provider]).getBlockNumber())
  provider.destroy()
}
main()
`
      await writeFile(join(folder, own, 'ethers.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['ethers.js'], { cwd: join(folder, own), timeout: 30_000 })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true true', '100'])
    })

    it('works with the ES modules of the same process: clients and errors', async () => {
      const program = `const { createClient, RpcError, HexlineError, HttpError } = require('hexline')
async function main() {
  const { getBlocks } = await import('hexline/bulk')
  const modules = await import('hexline')
  const client = createClient('${anvil.url}')
  console.log(modules.createClient !== createClient)
  for await (const { number } of getBlocks(client, { from: 98, to: 100 })) console.log(number)
  const error = await client.request({ method: 'eth_nothing' }).catch((error) => error)
  for (const { RpcError, HexlineError, HttpError } of [require('hexline'), modules])
    console.log(error instanceof RpcError, error instanceof HexlineError, error instanceof HttpError)
  await client.close()
}
main()
`
      await writeFile(join(folder, own, 'both.js'), program)
      const { stdout, stderr } = await run(process.execPath, ['both.js'], { cwd: join(folder, own), timeout: 30_000 })
      expect(stderr).toBe('')
      expect(stdout.trimEnd().split('\n')).toEqual(['true', '98n', '99n', '100n', 'true true false', 'true true false'])
    })

    /** TypeScript 7 has no node10; the older TypeScript is attw's own. */
    const modes = [
      { resolution: 'node10', isOld: true, options: ['--module', 'commonjs', '--moduleResolution', 'node10'] },
      { resolution: 'node16', isOld: true, options: ['--module', 'node16'] },
      { resolution: 'nodenext', isOld: false, options: ['--module', 'nodenext'] },
      { resolution: 'bundler', isOld: false, options: ['--module', 'preserve', '--moduleResolution', 'bundler'] },
    ]
    /** viem's declarations are those of ES modules alone, which node16 lets CommonJS import as types only; ox, under viem, names what browsers have. */
    const ofViem = (resolution: string) =>
      resolution === 'node16'
        ? "import type { Transport } from 'viem' with { 'resolution-mode': 'import' }"
        : `import { createPublicClient, fallback, http, type Transport } from 'viem'
export const client = createPublicClient({ transport: fallback([hexline('http://127.0.0.1:8545'), http()]) }).extend(bulkActions())`
    const check = async (program: string, { isOld, options }: (typeof modes)[number], ...more: readonly string[]) => {
      await writeFile(join(folder, own, 'typed.ts'), program)
      const tsc = join(root, 'node_modules', isOld ? '@arethetypeswrong/core/node_modules' : '', 'typescript/bin/tsc')
      const strict = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2023,esnext.disposable,dom', '--types', 'node', '--esModuleInterop']
      const only = isOld ? [] : ['--ignoreConfig']
      const args = [tsc, ...strict, ...options, ...only, ...more, 'typed.ts']
      const { stdout } = await run(process.execPath, args, { cwd: join(folder, own) }).catch((error) => error)
      return stdout
    }

    it.each(modes)("$resolution: all entries have their types, and the peers are the program's", async (mode) => {
      const program = `import { FallbackProvider, JsonRpcProvider } from 'ethers'
import { createClient, type Block } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { HexlineProvider } from 'hexline/ethers'
import { getWalletTokens, type TokenBalance } from 'hexline/rest'
import { startSandbox } from 'hexline/sandbox'
import { bulkActions, hexline } from 'hexline/viem'
${ofViem(mode.resolution)}
const url = 'http://127.0.0.1:8545'
const transport: Transport = hexline(url)
const provider: JsonRpcProvider = new HexlineProvider(url)
new FallbackProvider([provider, new HexlineProvider(url)])
export async function main(): Promise<Block<true> | null> {
  for await (const block of getBlocks(createClient(url), { from: 0, to: 1 })) { const number: bigint = block.number; console.log(number) }
  for await (const token of getWalletTokens({ dataUrl: url, apiKey: '' }, { address: '0x', chain: 'eth' })) { const balance: bigint | null = token.balance; console.log(balance) }
  console.log(transport, bulkActions())
  console.log((await startSandbox()).rpcUrl satisfies string)
  // @ts-expect-error: a result has its type, and no other
  const wrong: string = await createClient(url).call('eth_blockNumber')
  return createClient(url).call('eth_getBlockByNumber', 1n, true)
}
export type Token = TokenBalance
`
      expect(await check(program, mode, '--skipLibCheck')).toBe('')
    })

    it('its own declarations pass the checks of a program without skipLibCheck', async () => {
      const entries = ['hexline', 'hexline/bulk', 'hexline/rest', 'hexline/sandbox']
      const program = entries.map((entry, i) => `import * as entry${i} from '${entry}'\nexport const all${i} = entry${i}\n`).join('')
      expect(await check(program, modes[0] as (typeof modes)[number])).toBe('')
    })
  })

  it('names the lines of its sources in stack traces', async () => {
    await writeFile(join(folder, 'stack.js'), "import { createClient } from 'hexline'\ncreateClient('nowhere')\n")
    const { stderr } = await run(process.execPath, ['--enable-source-maps', 'stack.js'], { cwd: folder }).catch((error) => error)
    const [, file, line] = /\((.*\/node_modules\/hexline\/src\/[\w/]+\.ts):(\d+):\d+\)/.exec(stderr) ?? []
    expect((await readFile(file as string, 'utf8')).split('\n')[Number(line) - 1]).toContain('throw new OptionError')
  })

  describe('in a bundle', () => {
    const program = () => `import { createClient } from 'hexline'
import { startSandbox } from 'hexline/sandbox'
if (typeof startSandbox !== 'function') throw new Error('the bundle has no sandbox')
const client = createClient('${anvil.url}')
client.call('eth_blockNumber').then(console.log).finally(() => client.close())
`
    beforeAll(() => writeFile(join(folder, 'bundled.js'), program()))

    /** What the bundle prints. */
    async function bundled(options: BuildOptions): Promise<string> {
      const outfile = join(folder, `bundle.${options.format === 'cjs' ? 'cjs' : 'mjs'}`)
      await build({ absWorkingDir: folder, entryPoints: ['bundled.js'], bundle: true, outfile, logLevel: 'silent', ...options })
      return (await run(process.execPath, [outfile], { cwd: folder, timeout: 30_000 })).stdout
    }
    const banner = { js: "import { createRequire as forRequire } from 'node:module'; const require = forRequire(import.meta.url);" }

    it.each<BuildOptions>([
      { platform: 'node', format: 'cjs' },
      { platform: 'node', format: 'esm', packages: 'external' },
      { platform: 'node', format: 'esm', banner },
    ])('of esbuild it runs: %j', async (options) => {
      expect(await bundled(options)).toBe('100n\n')
    })

    it("of esbuild, as an ES module without `require`, says what to do before undici's words", async () => {
      const { stderr } = (await bundled({ platform: 'node', format: 'esm' }).catch((error) => error)) as { stderr: string }
      expect(stderr).toContain(
        `\nError: hexline cannot run in this bundle, an ES module without \`require\`: bundle with --format=cjs or --packages=external, or add --banner:js="${banner.js}"\n`,
      )
    })

    it.each(['esm', 'cjs', 'iife'] as const)('of esbuild for a browser, %s: the build fails with one sentence', async (format) => {
      const { errors } = (await bundled({ platform: 'browser', format }).catch((error) => error)) as BuildFailure
      expect(errors.map(({ text }) => text)).toEqual(['Could not resolve "hexline runs on Node.js, not in a browser: call it from a server"'])
    })

    it('of Vite for a browser: the build fails with the sentence; for a server it runs', async () => {
      await writeFile(join(folder, 'index.html'), '<script type="module" src="./bundled.js"></script>')
      const vite = (...args: readonly string[]) =>
        run(process.execPath, [join(root, 'node_modules/vite/bin/vite.js'), 'build', ...args], { cwd: folder, env: { ...process.env, NODE_ENV: '' } }).catch(
          (error) => error,
        )
      expect((await vite('--outDir', 'for-browser')).stderr).toContain(
        'failed to resolve import "hexline runs on Node.js, not in a browser: call it from a server"',
      )
      await vite('--ssr', 'bundled.js', '--outDir', 'for-server')
      expect((await run(process.execPath, ['for-server/bundled.js'], { cwd: folder, timeout: 30_000 })).stdout).toBe('100n\n')
    })
  })

  it('is found, and has the right types, wherever it is imported or required', async () => {
    const { stdout } = await run('npx', ['attw', join(folder, tarball)], { cwd: root }).catch((error) => error)
    expect(stdout).toContain('No problems found')
  })

  it('runs the program of docs/sandbox.md, with anvil beside it, and ends by itself', async () => {
    await lay('@foundry-rs')
    const [program] = (await blocksOf('ts', 'docs/sandbox.md')) as [string]
    expect(program).toContain('faults: 0.1')
    await writeFile(join(folder, 'sandbox.js'), program.replace('faults: 0.1', 'faults: 0'))
    const { stdout } = await run(process.execPath, ['sandbox.js'], { cwd: folder, timeout: 30_000 })
    expect(stdout).toMatch(/^8453 \{\n {2}dataUrl: 'http:\/\/127\.0\.0\.1:\d+',/)
  })

  it.each(['rest', 'sandbox'])('the program of docs/%s.md can be type-checked, without skipLibCheck', async (page) => {
    await writeFile(join(folder, 'typed.ts'), (await blocksOf('ts', `docs/${page}.md`))[0] as string)
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit', '--lib', 'es2023,esnext.disposable']
    const target = ['--target', 'es2022', '--module', 'nodenext', '--types', 'node']
    const { stdout } = await run(process.execPath, [tsc, ...options, ...target, '--ignoreConfig', 'typed.ts'], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  })
})
