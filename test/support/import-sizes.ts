import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What an import costs. */
export interface ImportSize {
  /**
   * Minified bytes of hexline's own code that is loaded at once. What is imported later, by
   * `import()`, is not counted.
   */
  readonly ownBytes: number
  /** The same with the code of its dependencies, but without peers: a program has these anyway. */
  readonly allBytes: number
  /** Modules of hexline that Node.js loads. */
  readonly ownModules: number
  /** Modules of packages that Node.js loads, peers included. */
  readonly otherModules: number
}

/** Measures `import { name } from entry` of the built package. */
export async function importSize(entry: string, name: string): Promise<ImportSize> {
  const program = `import { ${name} } from '${entry}'\nconsole.log(typeof ${name})`
  const [ownBytes, allBytes, modules] = await Promise.all([bundled(program, true), bundled(program, false), loaded(program)])
  const ownModules = modules.filter((url) => !url.includes('/node_modules/')).length
  return { ownBytes, allBytes, ownModules, otherModules: modules.length - ownModules }
}

async function bundled(program: string, isAlone: boolean): Promise<number> {
  const { metafile } = await build({
    stdin: { contents: program, resolveDir: root, sourcefile: 'program.js' },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    // `import()` starts another file.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: isAlone ? [] : ['viem', 'ethers', '@duckdb/*'],
    plugins: isAlone
      ? [{ name: 'alone', setup: ({ onResolve }) => onResolve({ filter: /^[^./]/ }, ({ path }) => (isOther(path) ? { path, external: true } : undefined)) }]
      : [],
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const entry = Object.keys(metafile.outputs).find((path) => metafile.outputs[path]?.entryPoint === 'program.js') as string
  const reached = new Set([entry])
  for (const path of reached)
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? []) if (kind === 'import-statement' && next in metafile.outputs) reached.add(next)
  return [...reached].reduce((sum, path) => sum + (metafile.outputs[path]?.bytes ?? 0), 0)
}

const isOther = (path: string) => path !== 'hexline' && !path.startsWith('hexline/')

/** URLs of the modules that a program loads, as V8 counts them. */
async function loaded(program: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'hexline-modules-'))
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder }
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd: root, env })
    const [file] = await readdir(folder)
    const { result } = JSON.parse(await readFile(join(folder, file as string), 'utf8')) as { result: { url: string }[] }
    return [...new Set(result.map(({ url }) => url))].filter((url) => url.startsWith('file:'))
  } finally {
    await rm(folder, { recursive: true })
  }
}
