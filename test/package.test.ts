import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Anvil, startAnvil } from './support/anvil.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/** Code blocks of the README, by language. */
async function blocksOf(language: string): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code as string)
}

describe('the package, packed and installed in an empty folder', () => {
  let folder: string
  let anvil: Anvil

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
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--omit=peer', '@types/node@20', `./${filename}`], { cwd: folder })
  }, 180_000)

  afterAll(async () => {
    await anvil?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it("runs the README's first program, and ends by itself", async () => {
    const [program] = await blocksOf('ts')
    expect(program).toContain("from 'hexline/bulk'")
    await writeFile(join(folder, 'program.js'), (program as string).replaceAll('http://127.0.0.1:8545', anvil.url))
    const { stdout, stderr } = await run(process.execPath, ['program.js'], { cwd: folder, timeout: 30_000 })
    expect(stderr).toBe('')
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^100n \d+n 10000000000000000000000n$/)
    expect(lines[1]).toBe('anvil/v1.7.1')
    expect(lines.slice(2)).toEqual(Array.from({ length: 101 }, (_, number) => `${number}n 0 0`))
  })

  it('holds its documents, and what each field of the records means', async () => {
    const installed = join(folder, 'node_modules/hexline')
    const records = await readFile(join(installed, 'dist/src/rest/records.d.ts'), 'utf8')
    expect(records).toContain('/** In the smallest unit. */\n    balance: ')
    expect(await readdir(join(installed, 'docs'))).toContain('service.md')
  })

  it("runs the README's command", async () => {
    const command = (await blocksOf('sh')).map((block) => /^npx (hexline blocks .*)$/m.exec(block)?.[1]).find(Boolean)
    const args = (command as string).replaceAll('http://127.0.0.1:8545', anvil.url).split(' ')
    await run('npx', args, { cwd: folder, timeout: 30_000 })
    expect((await readFile(join(folder, 'blocks.ndjson'), 'utf8')).trimEnd().split('\n')).toHaveLength(101)
  })

  it('loads no optional peer', async () => {
    const installed = await readdir(join(folder, 'node_modules'))
    expect(installed).toContain('undici')
    expect(installed).not.toContain('viem')
    expect(installed).not.toContain('ethers')
  })

  it('can be type-checked by who uses it, without skipLibCheck and with the strictest options', async () => {
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
    beforeAll(() => symlink(join(root, 'node_modules', library), join(folder, 'node_modules', library)))

    const programOf = async () => (await blocksOf('ts')).find((code) => code.includes(`from 'hexline/${library}'`)) as string

    it("runs the README's program", async () => {
      let program = await programOf()
      for (const [text, instead] of Object.entries(change)) {
        expect(program).toContain(text)
        program = program.replace(text, instead())
      }
      await writeFile(join(folder, `${library}.js`), `${program}\nconsole.log(balance)\n`)
      const { stdout } = await run(process.execPath, [`${library}.js`], { cwd: folder, timeout: 30_000 })
      expect(stdout.trimEnd().split('\n')).toEqual([...Array.from({ length: 101 }, (_, number) => line(number)), '10000000000000000000000n'])
    })

    it('its program can be type-checked, too', async () => {
      await writeFile(join(folder, 'typed.ts'), await programOf())
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
      const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit', '--skipLibCheck']
      const target = ['--target', 'es2022', '--module', 'nodenext', '--types', 'node']
      const { stdout } = await run(process.execPath, [tsc, ...options, ...target, '--ignoreConfig', 'typed.ts'], { cwd: folder }).catch((error) => error)
      expect(stdout).toBe('')
    })
  })
  it("runs the README's sandbox, with anvil beside it, and ends by itself", async () => {
    await symlink(join(root, 'node_modules', '@foundry-rs'), join(folder, 'node_modules', '@foundry-rs'))
    const program = (await blocksOf('ts')).find((code) => code.includes("from 'hexline/sandbox'")) as string
    expect(program).toContain('faults: 0.1')
    await writeFile(join(folder, 'sandbox.js'), program.replace('faults: 0.1', 'faults: 0'))
    const { stdout } = await run(process.execPath, ['sandbox.js'], { cwd: folder, timeout: 30_000 })
    expect(stdout).toMatch(/^8453 \{\n {2}dataUrl: 'http:\/\/127\.0\.0\.1:\d+',/)
  })

  it.each(['rest', 'sandbox'])("the README's program for %s can be type-checked, without skipLibCheck", async (library) => {
    await writeFile(join(folder, 'typed.ts'), (await blocksOf('ts')).find((code) => code.includes(`from 'hexline/${library}'`)) as string)
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit', '--lib', 'es2023,esnext.disposable']
    const target = ['--target', 'es2022', '--module', 'nodenext', '--types', 'node']
    const { stdout } = await run(process.execPath, [tsc, ...options, ...target, '--ignoreConfig', 'typed.ts'], { cwd: folder }).catch((error) => error)
    expect(stdout).toBe('')
  })
})
