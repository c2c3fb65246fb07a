import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./${path}`, import.meta.url))

const { resolve } = createRequire(import.meta.url)

/** The built package and its peers as a CommonJS program gets them, in place of the sources and of the peers' ES modules. */
const asRequired = {
  name: 'as-required',
  enforce: 'pre' as const,
  resolveId(id: string) {
    if (/^(?:viem|ethers)(?:\/|$)/.test(id)) return resolve(id)
    const entry = /\/(?:src|adapters)((?:\/\w+)?)\/index\.ts$/.exec(id)?.[1]
    return entry === undefined ? undefined : resolve(`hexline${entry}`)
  },
}

/** The oldest peers that are supported, in place of the newest: `npm ci --prefix .ci/peers` installs them. */
const withOldestPeers = {
  name: 'with-oldest-peers',
  enforce: 'pre' as const,
  resolveId(this: { resolve(id: string, importer: string, options: { skipSelf: boolean }): Promise<{ id: string } | null> }, id: string) {
    return /^(?:viem|ethers)(?:\/|$)/.test(id) ? this.resolve(id, source('.ci/peers/package.json'), { skipSelf: true }) : undefined
  },
}

export default defineConfig({
  // Tests read like programs of users, and run on the sources.
  resolve: {
    alias: [
      { find: /^hexline$/, replacement: source('src/index.ts') },
      { find: /^hexline\/bulk$/, replacement: source('src/bulk/index.ts') },
      { find: /^hexline\/rest$/, replacement: source('src/rest/index.ts') },
      { find: /^hexline\/sandbox$/, replacement: source('src/sandbox/index.ts') },
      { find: /^hexline\/viem$/, replacement: source('adapters/viem/index.ts') },
      { find: /^hexline\/ethers$/, replacement: source('adapters/ethers/index.ts') },
    ],
  },
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Of one file, where it asks for it: tests that mostly wait.
    maxConcurrency: 16,
    projects: [
      {
        extends: true,
        test: {
          name: 'hexline',
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**'],
          typecheck: { enabled: true, include: ['test/**/*.test-d.ts'] },
          // Two at a time: several files start a node or servers of their own.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        plugins: [asRequired],
        test: {
          name: 'commonjs',
          // The flows, and where it matters which copy of a peer is met: `instanceof`, fallbacks, blocks in their shapes.
          include: ['test/adapters/*/{errors,flows-*,bulk-actions,get-blocks}.test.ts'],
          server: { deps: { external: [/\/dist\/cjs\//] } },
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        plugins: [withOldestPeers],
        test: {
          name: 'oldest-peers',
          // All that adapters do, but for what is about the newest peers themselves: where they are wrong, and how they format blocks.
          include: ['test/adapters/*/*.test.ts'],
          exclude: ['test/adapters/*/{where-*-is-wrong,format*}.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // What is learnt from times is learnt wrong where something else takes the processor: these run alone, one after the other.
        test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
