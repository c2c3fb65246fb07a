import { readdirSync, readFileSync } from 'node:fs'
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
    const entry = /\/(?:src|adapters)(?:(\/\w+)?\/index|\/index-(\w+))\.ts$/.exec(id)
    if (entry === null) return undefined
    const [, folder = '', name] = entry
    return resolve(`hexline${name === undefined ? folder : `/${name}`}`)
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

const NIGHTLY = 'test/**/*.nightly.test.ts'

/** Are all tests of the adapters run on their other builds and versions of the peers? Else where these differ. */
const ALL_FLOWS = process.env.ALL_FLOWS !== undefined

/** The files that try more cases in the nightly tests. */
const FUZZ = readdirSync(source('test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .filter((file) => /^import .*\/support\/runs\.ts'$/m.test(readFileSync(source(file), 'utf8')))

/** At a time: more than there are cores in a small machine, since much of a test is waiting. */
const WORKERS = 4

export default defineConfig({
  // Tests read like programs of users, and run on the sources.
  resolve: {
    alias: [
      { find: /^hexline$/, replacement: source('src/index.ts') },
      { find: /^hexline\/bulk$/, replacement: source('src/index-bulk.ts') },
      { find: /^hexline\/rest$/, replacement: source('src/rest/index.ts') },
      { find: /^hexline\/sandbox$/, replacement: source('src/sandbox/index.ts') },
      { find: /^hexline\/viem$/, replacement: source('adapters/viem/index.ts') },
      { find: /^hexline\/otel$/, replacement: source('adapters/otel/index.ts') },
      { find: /^hexline\/bullmq$/, replacement: source('adapters/bullmq/index.ts') },
      { find: /^hexline\/ethers$/, replacement: source('adapters/ethers/index.ts') },
    ],
  },
  test: {
    // Far more than any takes on a slow and busy machine: they end what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // Of one file, where it asks for it: tests that mostly wait.
    maxConcurrency: 16,
    projects: [
      {
        extends: true,
        test: {
          name: 'hexline',
          // Files share what they import: loading it anew for each would take longer than the tests.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**', NIGHTLY],
          // `npm run typecheck` reads all the other files.
          typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: 'test/tsconfig.types.json' },
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'runtime',
          isolate: false,
          // What depends on the version of Node.js: sockets, streams, processes, modules.
          include: [
            'test/{client,wait}/**/*.test.ts',
            'test/http/{compression,exchange,progress}.test.ts',
            'test/rpc/{abort-and-close,call-failure,callers-stack,copy-error}.test.ts',
            'test/rpc/post/{custom-post,post}.test.ts',
            'test/cli/{kill,pipes}.test.ts',
            'test/dataset/ndjson/*.test.ts',
            'test/verify/workers.test.ts',
            'test/ws/{exchange,frames,handshake}.test.ts',
            'test/cli/output/file-output.test.ts',
            'test/rest/service.test.ts',
          ],
          exclude: [NIGHTLY],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        plugins: [asRequired],
        test: {
          name: 'commonjs',
          isolate: false,
          // Errors, where it matters which copy of a peer is met. The flows run at night; ranges of blocks are the same code.
          include: [`test/adapters/*/${ALL_FLOWS ? '{format/*-error,flows-*}' : 'format/*-error'}.test.ts`],
          exclude: [NIGHTLY],
          server: { deps: { external: [/\/dist\/cjs\//] } },
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        plugins: [withOldestPeers],
        test: {
          name: 'oldest-peers',
          isolate: false,
          // All that adapters do, but for how the newest peers format blocks.
          include: [`test/adapters/*/${ALL_FLOWS ? '**/*' : '{format/*-error,flows-{calls,events}}'}.test.ts`],
          exclude: ['test/adapters/*/format/{chain-format,format-block}.test.ts', NIGHTLY],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'fuzz',
          isolate: false,
          // All that tries random cases, with many more of them, which are new each time.
          include: FUZZ,
          exclude: [NIGHTLY],
          env: { FUZZ_TIMES: '20' },
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'nightly',
          // What takes long, what needs the machine for itself, and what pins faults of the peers.
          include: ['test/chaos/**/*.test.ts', NIGHTLY],
          env: { FUZZ_TIMES: '20' },
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
