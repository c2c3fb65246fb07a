import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client, ClientOptions } from 'hexline'
import type { AuditLevel, BlockField, DatasetFormat } from 'hexline/bulk'
import { TRANSFER } from '../audited.ts'
import { CONTRACT } from '../logs.ts'
import { root } from '../root.ts'
import { verification } from './verification.ts'
import { balances, calls, hex, type Job, Tally, throttledBalances, type Way, type Ways } from './way.ts'

/**
 * Six fields of each transaction and one of the block, in addition to the block's number, hash and
 * parent.
 */
const SIX_FIELDS: readonly BlockField[] = [
  'timestamp',
  'transactions.hash',
  'transactions.from',
  'transactions.to',
  'transactions.value',
  'transactions.input',
  'transactions.nonce',
]

/** The default for all hosts but this machine. */
const COMPRESSED: ClientOptions = { compression: true }

export const hexline: Ways = {
  'full blocks': blocks({ transactions: 'full' }),
  'full blocks, gzip': blocks({ transactions: 'full' }, COMPRESSED),
  'full blocks, https, gzip': blocks({ transactions: 'full' }, COMPRESSED),
  'full blocks, 6 fields': blocks({ transactions: 'full', fields: SIX_FIELDS }),
  'blocks with hashes': blocks({ transactions: 'hashes' }),
  'full blocks with receipts': blocks({ transactions: 'full', receipts: true }),
  ...verification,
  '10,000 logs': { settings: "defaults; call('eth_getLogs'), one at a time", load: logs },
  logs: { settings: "defaults; pages of getLogs with audit: 'none'", load: rangeOfLogs },
  'NDJSON export': { settings: 'the command: hexline blocks --out FILE --quiet', load: exported },
  'NDJSON dataset': dataset('ndjson'),
  'NDJSON dataset, compressed': dataset('ndjson.gz'),
  'Parquet dataset': dataset('parquet'),
  'small calls, 64 in parallel': small('small calls, 64 in parallel'),
  'small calls, gzip': small('small calls, gzip', COMPRESSED),
  'small calls, in sequence': small('small calls, in sequence'),
  '50 ms latency': blocks({ transactions: 'full' }),
  throttled: throttled('defaults', {}),
  'throttled and faulty': blocks({ transactions: 'hashes', receipts: true }),
  memory: blocks({ transactions: 'full' }),
  import: {
    settings: "await import('hexline')",
    load: () => ({ run: async () => ({ items: 'createClient' in (await import('hexline')) ? 1 : 0 }), end() {} }),
  },
}

/** A client with the node's rate as an option. */
export const hexlineRate: Ways = {
  throttled: throttled('rate: { callsPerSecond: the rate }', (rate) => ({ rate: { callsPerSecond: rate } })),
}

/** Clients of one level of audit each. */
export const hexlineAudits: Readonly<Record<'none' | 'bloom' | 'receipts' | 'peer', Ways>> = {
  none: audited('none'),
  bloom: audited('bloom'),
  receipts: audited('receipts'),
  peer: audited('peer'),
}

interface BlocksOptions {
  readonly transactions: 'full' | 'hashes'
  readonly receipts?: boolean
  readonly fields?: readonly BlockField[]
}

function blocks(options: BlocksOptions, settings: ClientOptions = {}): Way {
  const asked = Object.entries(options).map(([name, value]) => `${name}: ${Array.isArray(value) ? '[timestamp, 6 of each transaction]' : value}`)
  return {
    settings: `${saidOf(settings)}; getBlocks with ${asked.join(', ')}`,
    load: (url) =>
      withClient(url, settings, async (client) => {
        const { getBlocks } = await import('hexline/bulk')
        return async (first, count) => {
          const tally = new Tally()
          const range = { from: first, to: first + count - 1, ...options }
          for await (const block of getBlocks(client, range)) {
            const { receipts = block.transactions } = block as { receipts?: readonly unknown[] }
            tally.add(block.number as bigint, receipts.length)
          }
          return tally
        }
      }),
  }
}

function saidOf(settings: ClientOptions): string {
  const said = Object.entries(settings).map(([name, value]) => `${name}: ${value}`)
  return said.length === 0 ? 'defaults' : said.join(', ')
}

function logs(url: string): Promise<Job> {
  return withClient(url, {}, (client) => async (first, count) => {
    let parts = 0
    for (let i = first; i < first + count; i++) {
      parts += (await client.call('eth_getLogs', { fromBlock: hex(i), toBlock: hex(i + 99) })).length
    }
    return { items: count, parts }
  })
}

function rangeOfLogs(url: string): Promise<Job> {
  return withClient(url, {}, async (client) => {
    const { getLogs } = await import('hexline/bulk')
    return async (first, count) => {
      let [numbers, parts] = [0, 0]
      for await (const { logs } of getLogs(client, { address: CONTRACT, from: first, to: first + count - 1, audit: 'none' }).pages()) {
        for (const { blockNumber } of logs) numbers += Number(blockNumber)
        parts += logs.length
      }
      return { items: count, numbers, parts }
    }
  })
}

function audited(audit: AuditLevel): Ways {
  const way = (asked: string, isOfTransfers: boolean): Way => ({
    settings: `defaults${audit === 'peer' ? ', two endpoints' : ''}; getLogs with ${asked}, audit: '${audit}'`,
    async load(url) {
      const { rare } = (await (await fetch(url)).json()) as { rare: `0x${string}` }
      const filter = isOfTransfers ? { topics: [TRANSFER] as const } : { address: rare }
      return withClient(audit === 'peer' ? [url, `${url}/second`] : url, {}, async (client) => {
        const { getLogs } = await import('hexline/bulk')
        return async (first, count) => {
          let [numbers, parts] = [0, 0]
          const logs = getLogs(client, { ...filter, from: first, to: first + count - 1, audit })
          for await (const page of logs.pages()) {
            for (const { blockNumber } of page.logs) numbers += Number(blockNumber)
            parts += page.logs.length
          }
          if (logs.audit.unproven > 0) throw new Error(`blocks stayed unproven: ${JSON.stringify(logs.audit.reasons)}`)
          return { items: count, numbers, parts }
        }
      })
    },
  })
  return { 'audit, one contract': way('address', false), 'audit, all transfers': way('a topic', true) }
}

/** The command, without the start of its process. */
async function exported(url: string): Promise<Job> {
  // Imported from its file, since it is not an entry point of the package.
  const { blocksCommand } = (await import(new URL('dist/src/cli/blocks.js', root).href)) as {
    blocksCommand(io: Pick<NodeJS.Process, 'env' | 'stdout' | 'stderr'> & { args: readonly string[] }): {
      parseAsync(args: readonly string[], options: { from: 'user' }): Promise<unknown>
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
  return {
    async run(first, count) {
      const out = join(folder, `${first}.ndjson`)
      const args = ['--rpc', url, '--from', `${first}`, '--to', `${first + count - 1}`, '--out', out, '--quiet']
      const { env, stdout, stderr } = process
      await blocksCommand({ args, env, stdout, stderr }).parseAsync(args, { from: 'user' })
      return { items: count, bytes: statSync(out).size }
    },
    end: () => rmSync(folder, { recursive: true }),
  }
}

function dataset(format: DatasetFormat): Way {
  return {
    settings: `exportDataset with format: ${format}, tables: blocks, transactions`,
    load: async (url) => {
      const { createClient } = await import('hexline')
      const { exportDataset } = await import('hexline/bulk')
      const client = createClient(url)
      const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
      return {
        async run(first, count) {
          const { from, to, blocks, rows } = await exportDataset(client, { from: first, to: first + count - 1, dir: join(folder, String(first)), format })
          // The rows of the other table are transactions.
          return { items: blocks, numbers: (Number(from + to) * blocks) / 2, parts: rows - blocks }
        },
        async end() {
          await client.close()
          rmSync(folder, { recursive: true })
        },
      }
    },
  }
}

function small(name: keyof typeof calls, settings: ClientOptions = {}): Way {
  return {
    settings: saidOf(settings),
    load: (url) => withClient(url, settings, (client) => balances(calls[name], (address) => client.call('eth_getBalance', address)).run),
  }
}

function throttled(settings: string, options: ClientOptions | ((rate: number) => ClientOptions)): Way {
  return {
    settings,
    load: (url) => {
      const rate = Number(new URL(url).pathname.split('/')[2])
      return withClient(
        url,
        typeof options === 'function' ? options(rate) : options,
        (client) => throttledBalances((address) => client.call('eth_getBalance', address)).run,
      )
    },
  }
}

async function withClient(url: string | readonly string[], options: ClientOptions, jobOf: (client: Client) => Job['run'] | Promise<Job['run']>): Promise<Job> {
  const { createClient } = await import('hexline')
  const client = createClient(url, options)
  return { run: await jobOf(client), end: () => client.close() }
}
