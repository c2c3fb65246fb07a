import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { CONTRACT, fittingRanges } from '../logs.ts'
import { balances, calls, hex, inParallel, type Job, type Seen, Tally, type Way, type Ways } from './way.ts'

/** POSTs in flight, the same as hexline's default. */
const POSTS = 8

/** POSTs for ranges of logs in flight: enough that latency is not what limits them. */
const LOG_POSTS = 64

/** Part of the settings of compressed workloads. */
const DECOMPRESSED = '; interceptors.decompress()'

type Send = (body: unknown) => Promise<Buffer>

interface Entry<T> {
  readonly result: T
}

interface RawBlock {
  readonly number: string
  readonly transactions: readonly unknown[]
}

const blocksOf = (full: boolean) => (i: number) => [{ jsonrpc: '2.0', id: i, method: 'eth_getBlockByNumber', params: [hex(i), full] }]
const withReceipts = (i: number) => [...blocksOf(true)(i), { jsonrpc: '2.0', id: -i, method: 'eth_getBlockReceipts', params: [hex(i)] }]

/** The lowest possible cost of a reply: its bytes, unread. */
export const undiciBytes: Ways = {
  'full blocks': bytes(blocksOf(true), 10),
  'full blocks, gzip': bytes(blocksOf(true), 10, true),
  'full blocks, https, gzip': bytes(blocksOf(true), 10, true),
  'blocks with hashes': bytes(blocksOf(false), 50),
  'full blocks with receipts': bytes(withReceipts, 5),
  '10,000 logs': logs(() => 0),
  logs: rangeOfLogs(async (send, first, count) => {
    let sum = 0
    await inFittingRanges(first, count, async (call) => {
      const { length } = await send(call)
      sum += length
    })
    return { items: count, bytes: sum }
  }),
  'NDJSON export': bytes(blocksOf(true), 10),
  'NDJSON dataset': bytes(blocksOf(true), 10),
  'NDJSON dataset, compressed': bytes(blocksOf(true), 10),
  'Parquet dataset': bytes(blocksOf(true), 10),
}

/** The cost of a handwritten program that does only what is necessary and checks nothing. */
export const undiciParse: Ways = {
  'full blocks': parsed(blocksOf(true), 10, addBlocks),
  'full blocks, gzip': parsed(blocksOf(true), 10, addBlocks, true),
  'full blocks, https, gzip': parsed(blocksOf(true), 10, addBlocks, true),
  'full blocks, 6 fields': parsed(blocksOf(true), 10, addBlocks),
  'blocks with hashes': parsed(blocksOf(false), 50, addBlocks),
  'full blocks with receipts': parsed(withReceipts, 5, addBlocksAndReceipts),
  'verify: link': parsed(withReceipts, 5, addBlocksAndReceipts),
  '10,000 logs': logs((body) => (parse(body) as Entry<unknown[]>).result.length),
  logs: rangeOfLogs(async (send, first, count) => {
    let [numbers, parts] = [0, 0]
    await inFittingRanges(first, count, async (call) => {
      const { result } = parse(await send(call)) as Entry<readonly { readonly blockNumber: string }[]>
      for (const { blockNumber } of result) numbers += Number(blockNumber)
      parts += result.length
    })
    return { items: count, numbers, parts }
  }),
  'NDJSON export': { settings: `batches of 10, ${POSTS} POSTs at a time; each result through JSON.stringify to a write stream, in order`, load: exportParsed },
  'NDJSON dataset': parsed(blocksOf(true), 10, addBlocks),
  'NDJSON dataset, compressed': parsed(blocksOf(true), 10, addBlocks),
  'Parquet dataset': parsed(blocksOf(true), 10, addBlocks),
  'small calls, 64 in parallel': small('small calls, 64 in parallel'),
  'small calls, gzip': small('small calls, gzip', true),
  'small calls, in sequence': small('small calls, in sequence'),
  '50 ms latency': parsed(blocksOf(true), 10, addBlocks),
  memory: parsed(blocksOf(true), 10, addBlocks),
  import: { settings: "await import('undici')", load: () => ({ run: async () => ({ items: 'Pool' in (await import('undici')) ? 1 : 0 }), end() {} }) },
}

function bytes(callsOf: (i: number) => unknown[], batch: number, isCompressed = false): Way {
  return {
    settings: `batches of ${batch} blocks, ${POSTS} POSTs at a time${isCompressed ? DECOMPRESSED : ''}`,
    load: (url) =>
      withPool(
        url,
        (send) => async (first, count) => {
          let sum = 0
          await inBatches(callsOf, batch, first, count, async (body) => {
            const { length } = await send(body)
            sum += length
          })
          return { items: count, bytes: sum }
        },
        isCompressed,
      ),
  }
}

function parsed(callsOf: (i: number) => unknown[], batch: number, add: (tally: Tally, entries: readonly Entry<unknown>[]) => void, isCompressed = false): Way {
  return {
    settings: `batches of ${batch} blocks, ${POSTS} POSTs at a time${isCompressed ? DECOMPRESSED : ''}`,
    load: (url) =>
      withPool(
        url,
        (send) => async (first, count) => {
          const tally = new Tally()
          await inBatches(callsOf, batch, first, count, async (body) => add(tally, parse(await send(body)) as Entry<unknown>[]))
          return tally
        },
        isCompressed,
      ),
  }
}

function addBlocks(tally: Tally, entries: readonly Entry<unknown>[]): void {
  for (const { result } of entries as Entry<RawBlock>[]) tally.add(result.number, result.transactions.length)
}

function addBlocksAndReceipts(tally: Tally, entries: readonly Entry<unknown>[]): void {
  for (let i = 0; i < entries.length; i += 2) {
    const [block, receipts] = [entries[i], entries[i + 1]] as [Entry<RawBlock>, Entry<unknown[]>]
    tally.add(block.result.number, receipts.result.length)
  }
}

function logs(lengthOf: (body: Buffer) => number): Way {
  return {
    settings: 'one POST per reply, one at a time',
    load: (url) =>
      withPool(url, (send) => async (first, count) => {
        let [parts, sum] = [0, 0]
        for (let i = first; i < first + count; i++) {
          const body = await send({ jsonrpc: '2.0', id: i, method: 'eth_getLogs', params: [{ fromBlock: hex(i), toBlock: hex(i + 99) }] })
          parts += lengthOf(body)
          sum += body.length
        }
        return { items: count, bytes: sum, ...(parts > 0 && { parts }) }
      }),
  }
}

function rangeOfLogs(jobOf: (send: Send, first: number, count: number) => Promise<Seen>): Way {
  return {
    settings: `one POST for each range, ${LOG_POSTS} at a time; each range as long as the node takes it, known in advance`,
    load: (url) => withPool(url, (send) => (first, count) => jobOf(send, first, count)),
  }
}

/** Runs `one` for each call that is needed at the least: nothing is refused. */
async function inFittingRanges(first: number, count: number, one: (call: unknown) => Promise<void>): Promise<void> {
  const ranges = fittingRanges(first, count)
  await inParallel(LOG_POSTS, 0, ranges.length, (i) => {
    const [from, to] = ranges[i] as readonly [number, number]
    return one({ jsonrpc: '2.0', id: i, method: 'eth_getLogs', params: [{ address: CONTRACT, fromBlock: hex(from), toBlock: hex(to) }] })
  })
}

function small(name: keyof typeof calls, isCompressed = false): Way {
  return {
    settings: `one POST per call${isCompressed ? DECOMPRESSED : ''}`,
    load: (url) =>
      withPool(
        url,
        (send) => {
          const balanceOf = async (address: string) => {
            const body = await send({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [address, 'latest'] })
            return BigInt((parse(body) as Entry<string>).result)
          }
          return balances(calls[name], balanceOf).run
        },
        isCompressed,
      ),
  }
}

async function exportParsed(url: string): Promise<Job> {
  return withPool(url, (send) => async (first, count): Promise<Seen> => {
    const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
    try {
      const file = createWriteStream(join(folder, 'blocks.ndjson'))
      const tally = new Tally()
      // Batches end in any order, but are written in sequence.
      const waiting = new Map<number, readonly Entry<RawBlock>[]>()
      let next = first
      await inBatches(blocksOf(true), 10, first, count, async (body, at) => {
        waiting.set(at, parse(await send(body)) as Entry<RawBlock>[])
        for (let entries = waiting.get(next); entries !== undefined; entries = waiting.get(next)) {
          waiting.delete(next)
          next += entries.length
          for (const { result } of entries) {
            tally.add(result.number, result.transactions.length)
            file.write(`${JSON.stringify(result)}\n`)
          }
        }
        if (file.writableNeedDrain) await once(file, 'drain')
      })
      file.end()
      await finished(file)
      return tally
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

function inBatches(
  callsOf: (i: number) => unknown[],
  batch: number,
  first: number,
  count: number,
  one: (body: unknown[], at: number) => Promise<void>,
): Promise<void> {
  return inParallel(POSTS, 0, Math.ceil(count / batch), (k) => {
    const at = first + k * batch
    return one(Array.from({ length: Math.min(batch, first + count - at) }, (_, i) => callsOf(at + i)).flat(), at)
  })
}

async function withPool(url: string, jobOf: (send: Send) => Job['run'], isCompressed = false): Promise<Job> {
  const { interceptors, Pool } = await import('undici')
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: 64 })
  const dispatcher = isCompressed ? pool.compose(interceptors.decompress()) : pool
  const headers = { 'content-type': 'application/json', ...(isCompressed && { 'accept-encoding': 'gzip' }) }
  const send: Send = async (body) => {
    const reply = await dispatcher.request({ path, method: 'POST', headers, body: JSON.stringify(body) })
    return Buffer.from(await reply.body.arrayBuffer())
  }
  return { run: jobOf(send), end: () => pool.close() }
}

/** JSON-RPC replies are ASCII, and latin1 is the faster way to read them. */
function parse(body: Buffer): unknown {
  return JSON.parse(body.toString('latin1'))
}
