import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { request } from 'undici'
import { afterAll, beforeAll } from 'vitest'
import { type Anvil, startAnvil } from './anvil.ts'

/** Runs a program to its end. Rejects, with its output, if its exit code is not 0. */
export function run(file: string, args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<{ stdout: string; stderr: string }> {
  // Ends what hangs. The slowest takes a second or two.
  return promisify(execFile)(file, args, { ...options, timeout: 500_000 })
}

/** The project's own folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder with the packed package in its node_modules, and no other package of this project. */
export interface InstalledPackage {
  readonly folder: string
  readonly tarball: string
  /** Puts a package of this project beside the installed one. */
  lay(name: string): Promise<void>
  /** Type-checks files of the folder, or of a folder in it. Returns what the compiler prints. */
  check(files: readonly string[], options: readonly string[], how?: { tsc?: string; cwd?: string }): Promise<string>
  remove(): Promise<void>
}

/** Packs the package, and installs it with npm, as users do. */
export async function installPackage(): Promise<InstalledPackage> {
  const installed = await pack()
  const { folder, tarball } = installed
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--omit=peer', tarball], { cwd: folder })
  return installed
}

/**
 * Installs or unpacks the package before the tests of a suite, with anvil beside it; both are there
 * while the tests run.
 */
export function usePackage(place: () => Promise<InstalledPackage>): { readonly installed: InstalledPackage; readonly folder: string; readonly anvil: Anvil } {
  let installed: InstalledPackage | undefined
  let anvil: Anvil | undefined
  beforeAll(async () => {
    anvil = await startAnvilOfBlocks()
    installed = await place()
  })
  afterAll(async () => {
    await anvil?.stop()
    await installed?.remove()
  })
  return {
    get installed() {
      return installed as InstalledPackage
    },
    get folder() {
      return (installed as InstalledPackage).folder
    },
    get anvil() {
      return anvil as Anvil
    },
  }
}

/** Packs the package, and unpacks it beside this project's own copies of its dependencies. */
export async function unpackPackage(): Promise<InstalledPackage> {
  const installed = await pack()
  const { folder, tarball, lay } = installed
  const place = join(folder, 'node_modules/hexline')
  await mkdir(place, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1'], { cwd: place })
  const { dependencies, bin: commands } = JSON.parse(await readFile(join(place, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@types/node']) await lay(name)
  const bin = join(folder, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  for (const [name, file] of Object.entries(commands as Record<string, string>)) {
    await chmod(join(place, file), 0o755)
    await symlink(join(place, file), join(bin, name))
  }
  return installed
}

async function pack(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-package-'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  const [{ filename }] = JSON.parse(stdout)
  return {
    folder,
    tarball: join(folder, filename),
    async lay(name) {
      const there = join(folder, 'node_modules', name)
      await mkdir(dirname(there), { recursive: true })
      if (!existsSync(there)) await symlink(join(root, 'node_modules', name), there)
    },
    async check(files, options, { tsc = 'node_modules/typescript/bin/tsc', cwd = folder } = {}) {
      const { stdout: printed } = await run(process.execPath, [join(root, tsc), '--noEmit', ...options, ...files], { cwd }).catch((error) => error)
      return printed
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** anvil with 101 blocks. */
export async function startAnvilOfBlocks(): Promise<Anvil> {
  const anvil = await startAnvil()
  const { body } = await request(anvil.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_mine', params: ['0x64'] }),
  })
  await body.dump()
  return anvil
}

/** Code blocks of a page, by language. */
export async function blocksOf(language: string, page = 'README.md'): Promise<string[]> {
  const text = await readFile(join(root, page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code as string)
}
