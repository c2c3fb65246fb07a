import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BuildFailure, type BuildOptions, build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Anvil } from '../support/anvil.ts'
import { blocksOf, type InstalledPackage, root, run, startAnvilOfBlocks, unpackPackage } from '../support/installed-package.ts'

/* What compilers and bundlers make of the package. It does not depend on the version of Node.js. */

let installed: InstalledPackage
let folder: string
let anvil: Anvil

beforeAll(async () => {
  anvil = await startAnvilOfBlocks()
  installed = await unpackPackage()
  folder = installed.folder
})

afterAll(async () => {
  await anvil?.stop()
  await installed?.remove()
})

const modern = ['--strict', '--target', 'es2022', '--types', 'node']
const strictest = [...modern, '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--module', 'nodenext', '--lib', 'es2023,esnext.disposable']

describe('the types', () => {
  it('are found, and are the right ones, wherever the package is imported or required', async () => {
    const { stdout } = await run('npx', ['attw', installed.tarball], { cwd: root }).catch((error) => error)
    expect(stdout).toContain('No problems found')
  })

  it('pass the checks of its users, without skipLibCheck and with the strictest options', async () => {
    const program = `import { createClient, type Block } from 'hexline'
import { getBlocks } from 'hexline/bulk'
const client = createClient('http://127.0.0.1:8545')
const block: Block<true> | null = await client.call('eth_getBlockByNumber', 1n, true)
for await (const { receipts } of getBlocks(client, { from: 0, to: 'latest', receipts: true })) console.log(receipts[0]?.gasUsed === 1n, block?.hash)
`
    await writeFile(join(folder, 'typed.ts'), program)
    // These programs need neither viem nor ethers.
    for (const page of ['rest', 'sandbox']) await writeFile(join(folder, `${page}.ts`), (await blocksOf('ts', `docs/${page}.md`))[0] as string)
    expect(await installed.check(['typed.ts', 'rest.ts', 'sandbox.ts'], strictest)).toBe('')
  })

  describe('for CommonJS, with all peers beside it', () => {
    const own = 'commonjs'
    /** TypeScript 7 has no node10. This one is attw's own. */
    const old = 'node_modules/@arethetypeswrong/core/node_modules/typescript/bin/tsc'
    const options = [...modern, '--lib', 'es2023,esnext.disposable,dom', '--esModuleInterop']

    beforeAll(async () => {
      for (const library of ['viem', 'ethers', '@opentelemetry/api', 'bullmq', 'ioredis']) await installed.lay(library)
      await mkdir(join(folder, own))
      await writeFile(join(folder, own, 'package.json'), '{ "type": "commonjs" }')
    })

    const check = async (program: string, more: readonly string[], tsc?: string) => {
      await writeFile(join(folder, own, 'typed.ts'), program)
      return installed.check(['typed.ts'], [...options, ...more], { cwd: join(folder, own), ...(tsc !== undefined && { tsc }) })
    }

    /**
     * viem's declarations are only those of ES modules, which node16 lets CommonJS import as types
     * only; ox, under viem, uses browser types.
     */
    const ofViem = (resolution: string) =>
      resolution === 'node16'
        ? "import type { Transport } from 'viem' with { 'resolution-mode': 'import' }"
        : `import { createPublicClient, fallback, http, type Transport } from 'viem'
export const client = createPublicClient({ transport: fallback([hexline('http://127.0.0.1:8545'), http()]) }).extend(bulkActions())`

    it.each([
      { resolution: 'node10', tsc: old, module: ['--module', 'commonjs', '--moduleResolution', 'node10'] },
      { resolution: 'node16', module: ['--module', 'node16'] },
      { resolution: 'nodenext', module: ['--module', 'nodenext'] },
      { resolution: 'bundler', module: ['--module', 'preserve', '--moduleResolution', 'bundler'] },
    ])("$resolution: all entries have theirs, and the peers are the program's", async ({ resolution, tsc, module }) => {
      const program = `import { FallbackProvider, JsonRpcProvider } from 'ethers'
import { createClient, type Block } from 'hexline'
import { type ExportWorker, exportWorker, shareBudget } from 'hexline/bullmq'
import { getBlocks } from 'hexline/bulk'
import { HexlineProvider } from 'hexline/ethers'
import { type InstrumentOptions, instrument } from 'hexline/otel'
import { getWalletTokens, type TokenBalance } from 'hexline/rest'
import { startSandbox } from 'hexline/sandbox'
import { bulkActions, hexline } from 'hexline/viem'
import type { Redis } from 'ioredis'
${ofViem(resolution)}
const url = 'http://127.0.0.1:8545'
const transport: Transport = hexline(url)
const provider: JsonRpcProvider = new HexlineProvider(url)
const options: InstrumentOptions = { traces: false, sample: 0.1 }
const stop: () => void = instrument(options)
stop()
export function work(redis: Redis): ExportWorker {
  const client = createClient(url)
  shareBudget(client, redis)
  return exportWorker(client, { redis })
}
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
      expect(await check(program, [...module, '--skipLibCheck'], tsc)).toBe('')
    })

    it('node16, with an older TypeScript: the types of its own entries pass without skipLibCheck', async () => {
      const entries = ['hexline', 'hexline/bulk', 'hexline/otel', 'hexline/rest', 'hexline/sandbox']
      const program = entries.map((entry, i) => `import * as entry${i} from '${entry}'\nexport const all${i} = entry${i}\n`).join('')
      expect(await check(program, ['--module', 'node16'], old)).toBe('')
    })
  })
})

describe('in a bundle', () => {
  const program = () => `import { createClient } from 'hexline'
import { startSandbox } from 'hexline/sandbox'
if (typeof startSandbox !== 'function') throw new Error('the bundle has no sandbox')
const client = createClient('${anvil.url}')
client.call('eth_blockNumber').then(console.log).finally(() => client.close())
`
  beforeAll(() => writeFile(join(folder, 'bundled.js'), program()))

  /** The output of the bundle. */
  async function bundled(options: BuildOptions): Promise<string> {
    const outfile = join(folder, `bundle.${options.format === 'cjs' ? 'cjs' : 'mjs'}`)
    await build({ absWorkingDir: folder, entryPoints: ['bundled.js'], bundle: true, outfile, logLevel: 'silent', ...options })
    return (await run(process.execPath, [outfile], { cwd: folder })).stdout
  }
  const banner = { js: "import { createRequire as forRequire } from 'node:module'; const require = forRequire(import.meta.url);" }

  it.each<BuildOptions>([
    { platform: 'node', format: 'cjs' },
    { platform: 'node', format: 'esm', packages: 'external' },
    { platform: 'node', format: 'esm', banner },
  ])('of esbuild runs: %j', async (options) => {
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
    expect(errors.map(({ text }) => text)).toEqual([
      'Could not resolve "hexline runs on Node.js, not in a browser or an edge worker: use http() of viem there"',
    ])
  })

  it.each(['workerd', 'edge-light', 'worker'])('of esbuild with the condition %s, for the edge: each entry fails with the same sentence', async (condition) => {
    const { exports: entries } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { exports: object }
    const names = Object.keys(entries).filter((name) => !name.endsWith('.json'))
    expect(names.length).toBeGreaterThan(6)
    for (const name of names) {
      for (const contents of [`import * as all from 'hexline${name.slice(1)}'\nconsole.log(all)`, `console.log(require('hexline${name.slice(1)}'))`]) {
        const options: BuildOptions = { stdin: { contents, resolveDir: folder }, bundle: true, write: false, platform: 'neutral', logLevel: 'silent' }
        const { errors } = (await build({ ...options, conditions: [condition] }).catch((error) => error)) as BuildFailure
        expect(errors.map(({ text }) => text)).toEqual([
          'Could not resolve "hexline runs on Node.js, not in a browser or an edge worker: use http() of viem there"',
        ])
      }
    }
  })

  it('of Vite for a browser fails to build, with the reason; for a server it runs', async () => {
    await writeFile(join(folder, 'index.html'), '<script type="module" src="./bundled.js"></script>')
    const vite = (...args: readonly string[]) =>
      run(process.execPath, [join(root, 'node_modules/vite/bin/vite.js'), 'build', ...args], { cwd: folder, env: { ...process.env, NODE_ENV: '' } }).catch(
        (error) => error,
      )
    expect((await vite('--outDir', 'for-browser')).stderr).toContain(
      'failed to resolve import "hexline runs on Node.js, not in a browser or an edge worker: use http() of viem there"',
    )
    await vite('--ssr', 'bundled.js', '--outDir', 'for-server')
    expect((await run(process.execPath, ['for-server/bundled.js'], { cwd: folder })).stdout).toBe('100n\n')
  })
})
