import { expect, it } from 'vitest'
import { splitOptions } from '../adapters/ethers/options.ts'
import { instrument } from '../adapters/otel/index.ts'
import { checkExportOptions } from '../src/dataset/export/export-options.ts'
import { type Client, createClient, OptionError } from '../src/index.ts'
import { follow, getBlocks, getLogs } from '../src/index-bulk.ts'
import { checkProbe } from '../src/probe/probe.ts'
import { settingsFrom } from '../src/sandbox/options.ts'

const client = createClient('http://127.0.0.1:1')
type Options = Readonly<Record<string, unknown>>

const takers: [name: string, act: (options: never) => unknown, required?: Options][] = [
  ['createClient', (options) => createClient('http://127.0.0.1:1', options)],
  ['client.with', (options) => (client as Client).with(options)],
  ['getBlocks', (options) => getBlocks(client, options), { from: 0, to: 1 }],
  ['getLogs', (options) => getLogs(client, options), { from: 0, to: 1 }],
  ['follow', (options) => follow(client, options), { from: 0 }],
  ['exportDataset', checkExportOptions, { from: 0, to: 1, dir: 'a folder' }],
  ['probe', checkProbe],
  ['startSandbox', settingsFrom],
  ['instrument', (options) => instrument(options)()],
  ['HexlineProvider', (options) => splitOptions(options, false)],
]

it.each(takers)('an option of %s may be undefined', (_, act, required = {}) => {
  // The error for a name that is not known names those that are.
  const names = namesIn(() => act({ unknown: 1, ...required } as never))
  expect(names.length).toBeGreaterThan(2)
  act({ ...Object.fromEntries(names.map((name) => [name, undefined])), ...required } as never)
})

// ethers has null for `staticNetwork`; what is hexline's, `createClient` checks.
it.each(takers.filter(([name]) => name !== 'HexlineProvider'))('an option of %s may not be null', (_, act, required = {}) => {
  const names = namesIn(() => act({ unknown: 1, ...required } as never))
  const accepted = names.filter((name) => {
    try {
      act({ ...required, [name]: null } as never)
      return true
    } catch (error) {
      expect(error).toBeInstanceOf(OptionError)
      return false
    }
  })
  expect(accepted).toEqual([])
})

it('the fields of an option may be undefined', () => {
  createClient([{ url: 'http://127.0.0.1:1', headers: undefined, since: undefined }], {
    batch: { maxCalls: undefined },
    retry: { attempts: undefined, baseDelayMs: undefined, maxDelayMs: undefined },
    hedge: { percentile: undefined, maxExtra: undefined },
    rate: { unitsPerSecond: 1, units: undefined },
  })
  getLogs(client, { from: undefined, to: undefined, blockHash: `0x${'0'.repeat(64)}`, address: undefined, topics: undefined })
  follow(client, { from: 0, logs: { address: undefined, topics: undefined } })
})

function namesIn(act: () => unknown): string[] {
  try {
    act()
  } catch (error) {
    if (error instanceof OptionError) return error.expected.replace(/^only /, '').split(', ')
  }
  return []
}
