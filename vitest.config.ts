import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./${path}`, import.meta.url))

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
        // What is learnt from times is learnt wrong where something else takes the processor: these run alone, one after the other.
        test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
