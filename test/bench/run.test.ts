import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { auditedBlocks, hasRareLog, TRANSFER } from '../../bench/audited.ts'
import { FIRST_BLOCK, fill, LOGS, loadBlocks, type Template } from '../../bench/blocks.ts'
import { clients } from '../../bench/clients/index.ts'
import { logsByHand, type Way } from '../../bench/clients/way.ts'
import { logSums, logsReply, MOST_BLOCKS, MOST_RESULTS, type Refusal } from '../../bench/logs.ts'
import { readOptions } from '../../bench/options.ts'
import { figureOf, type Measured, ratioOf, spreadOf } from '../../bench/results.ts'
import { type ClientName, type WorkloadName, workloads } from '../../bench/workloads.ts'
import { BloomBuilder, BloomTest } from '../../src/eth/bloom.ts'
import { decodeReceipts } from '../../src/eth/objects.ts'
import { ReceiptsRoot } from '../../src/verify/receipts-root.ts'
import { startChain } from '../support/chain-server.ts'
import { nightly } from '../support/runs.ts'

const run = promisify(execFile)

describe('the arguments of the benchmark', () => {
  it('are all workloads and three rounds without any', () => {
    expect(readOptions([])).toEqual({ isQuick: false, rounds: 3, workloads: Object.keys(workloads), isSaved: false, node: undefined })
  })

  it('choose workloads by a part of their names, or one by its whole name', () => {
    expect(readOptions(['small', '--quick']).workloads).toEqual(['small calls, 64 in parallel', 'small calls, gzip', 'small calls, in sequence'])
    expect(readOptions(['full blocks']).workloads).toEqual(['full blocks'])
    expect(readOptions(['logs']).workloads).toEqual(['logs'])
    expect(readOptions(['full']).workloads).toHaveLength(6)
    expect(readOptions(['gzip']).workloads).toEqual(['full blocks, gzip', 'full blocks, https, gzip', 'small calls, gzip'])
  })

  it.each([
    [['--rounds', '0'], '--rounds: expected a positive whole number, received "0"'],
    [['--rounds', 'many'], '--rounds: expected a positive whole number, received "many"'],
    [['blobs'], 'no workload\'s name contains "blobs"'],
    [['--node24', '--node', 'node'], 'expected either --node24 or --node, received both'],
    [['--save', 'full'], '--save saves complete runs only: omit the workloads'],
    [['--slow'], "Unknown option '--slow'"],
  ])('%j is refused: %s', (args, message) => {
    expect(() => readOptions(args)).toThrow(message)
  })

  it('that are wrong end it with 2, and with how it is used', async () => {
    const script = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))
    const ended = await run(process.execPath, ['--import', 'tsx', script, '--rounds', 'x']).catch((error) => error)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^--rounds: expected .*\n\nusage: npm run bench -- /)
  })
})

it('the export of hexline writes what the command writes', async () => {
  const { url, close } = await startChain({ head: 20 })
  const job = await (clients.hexline['NDJSON export'] as Way).load(url)
  try {
    expect(await job.run(3, 10)).toMatchObject({ items: 10, bytes: expect.any(Number) })
  } finally {
    await job.end?.()
    await close()
  }
})

describe('the logs of the server', () => {
  it('are refused by blocks and by results, and otherwise are those that clients are checked by', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 0, max: 1_200_000 }), fc.integer({ min: 1_016_000, max: 1_028_000 })),
        fc.integer({ min: 1, max: MOST_BLOCKS + 1 }),
        (offset, blocks) => {
          const from = FIRST_BLOCK + offset
          const { parts, numbers } = logSums(from, blocks)
          const reply = logsReply(from, from + blocks - 1)
          if (!Array.isArray(reply)) {
            expect((reply as Refusal).message).toContain(blocks > MOST_BLOCKS ? '2000 block range' : 'more than 10000 results')
            expect(blocks > MOST_BLOCKS || parts > MOST_RESULTS).toBe(true)
            return
          }
          const logs = JSON.parse(Buffer.concat(reply).toString()) as { blockNumber: string; logIndex: string }[]
          expect(parts <= MOST_RESULTS && blocks <= MOST_BLOCKS).toBe(true)
          expect([logs.length, logs.reduce((sum, { blockNumber }) => sum + Number(blockNumber), 0)]).toEqual([parts, numbers])
          const places = logs.map(({ blockNumber, logIndex }) => Number(blockNumber) * 1000 + Number(logIndex))
          expect(places.every((place, i) => i === 0 || place > (places[i - 1] as number))).toBe(true)
        },
      ),
      { numRuns: 50 },
    )
  })

  it.each(['hexline', ...nightly('viem, not batched')] as ('hexline' | 'viem, not batched')[])(
    'are all seen by %s, though most ranges are refused',
    async (client) => {
      const { url, refused, close } = await startLogs()
      const job = await (clients[client].logs as Way).load(url)
      try {
        const { numbers, parts } = logSums(MANY_LOGS, 8000)
        expect(await job.run(MANY_LOGS, 8000)).toEqual({ items: 8000, numbers, parts })
        expect(refused()).toBeGreaterThan(2)
      } finally {
        await job.end()
        await close()
      }
    },
  )

  it('are not asked for in halves where something else is wrong', async () => {
    let asked = 0
    const ask = async () => {
      asked++
      throw new Error('the method eth_getLogs does not exist')
    }
    await expect(logsByHand(4, FIRST_BLOCK, 10_000, ask, () => 0n)).rejects.toThrow('does not exist')
    expect(asked).toBe(4)
  })
})

/** Blocks of which 2,000 have far more than 10,000 logs. */
const MANY_LOGS = 21_992_000

type Answer = (method: string, first: never) => Buffer | Refusal

/** A server with these results and refusals. A GET returns the rare contract. */
async function startServer(answer: Answer, rare = '') {
  let refused = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method === 'GET') return response.end(JSON.stringify({ rare }))
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const replies = [body].flat().map(({ id, method, params: [first] }) => {
        const said = answer(method, first as never)
        if (!Buffer.isBuffer(said)) refused++
        return `{"jsonrpc":"2.0","id":${id},${Buffer.isBuffer(said) ? `"result":${said}` : `"error":${JSON.stringify(said)}`}}`
      })
      return response.writeHead(200, { 'content-type': 'application/json' }).end(Array.isArray(body) ? `[${replies}]` : replies[0])
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refused: () => refused, close }
}

/** A node with the logs of the benchmark. */
function startLogs() {
  const hashOf = (number: number) => `0x${number.toString(16).padStart(64, 'b')}`
  const headerOf = (number: string) => ({ number, hash: hashOf(Number(number)), parentHash: hashOf(Number(number) - 1), transactions: [] })
  return startServer((method, first: { fromBlock: string; toBlock: string } & string) => {
    if (method !== 'eth_getLogs') return Buffer.from(JSON.stringify(method === 'eth_blockNumber' ? '0xfffffff' : headerOf(first)))
    const reply = logsReply(Number(first.fromBlock), Number(first.toBlock))
    return Array.isArray(reply) ? Buffer.concat(reply) : (reply as Refusal)
  })
}

describe('the blocks of the audits', async () => {
  const audited = await auditedBlocks(loadBlocks(true))
  const parsed = (bytes: Buffer | Refusal) => JSON.parse(String(bytes))
  const numbers = Array.from({ length: 60 }, (_, i) => FIRST_BLOCK + i)

  it('have the blooms and roots of their receipts, and one contract that few of them have', () => {
    const builder = new BloomBuilder()
    const roots = new ReceiptsRoot()
    const test = new BloomTest([[audited.rare]])
    let suspects = 0
    for (const number of numbers) {
      const header = parsed(audited.header(number))
      const logs = (parsed(audited.receipts(number)) as { logs: { address: string; topics: string[] }[] }[]).flatMap((receipt) => receipt.logs)
      expect(header.logsBloom).toBe(builder.of(logs))
      expect(roots.fits(header, decodeReceipts(parsed(audited.receipts(number))), 1)).toBe(true)
      expect(logs.filter(({ address }) => address === audited.rare)).toHaveLength(hasRareLog(number) ? 1 : 0)
      expect(logs.filter(({ topics }) => topics[0] === TRANSFER)).toHaveLength(audited.transfers[number % 8] as number)
      if (test.mayMatch(header.logsBloom) && !hasRareLog(number)) suspects++
    }
    // One of the eight blocks that repeat.
    expect(suspects).toBeGreaterThanOrEqual(6)
    expect(suspects).toBeLessThanOrEqual(8)
    // As full as those of real blocks: 326 to 1,302 bits.
    const ones = numbers.map((number) => [...BigInt(parsed(audited.header(number)).logsBloom).toString(2)].filter((bit) => bit === '1').length)
    expect(Math.min(...ones)).toBeGreaterThan(150)
    expect(Math.max(...ones)).toBeLessThan(1400)
  })

  it.each(['bloom', ...nightly('none', 'receipts', 'peer')] as ('none' | 'bloom' | 'receipts' | 'peer')[])('are proven complete: audit %s', async (level) => {
    const { url, close } = await startServer((method, first: { fromBlock: string; toBlock: string; address?: string } & string) => {
      if (method === 'eth_getLogs') return audited.logs(Number(first.fromBlock), Number(first.toBlock), first.address === undefined)
      if (method === 'eth_getBlockByNumber') return audited.header(Number(first))
      return method === 'eth_getBlockReceipts' ? audited.receipts(Number(first)) : Buffer.from(method === 'eth_chainId' ? '"0x1"' : '"0xfffffff"')
    }, audited.rare)
    const ways = clients[`hexline, audit ${level}`]
    const sums = (logsIn: (number: number) => number) => ({
      items: numbers.length,
      numbers: numbers.reduce((sum, number) => sum + number * logsIn(number), 0),
      parts: numbers.reduce((sum, number) => sum + logsIn(number), 0),
    })
    try {
      for (const [name, logsIn] of [
        ['audit, one contract', (number: number) => Number(hasRareLog(number))],
        ['audit, all transfers', (number: number) => audited.transfers[number % 8] as number],
      ] as const) {
        const job = await (ways[name] as Way).load(url)
        expect(await job.run(FIRST_BLOCK, numbers.length), name).toEqual(sums(logsIn))
        await job.end()
      }
    } finally {
      await close()
    }
  })
})

describe('the table of workloads', () => {
  it('names only clients that have a way to do them, and says why others are left out', () => {
    for (const [name, { amounts, against, leftOut = {} }] of Object.entries(workloads)) {
      for (const client of Object.keys(amounts) as ClientName[]) expect(clients[client][name as WorkloadName], `${client}: ${name}`).toBeDefined()
      for (const peer of against) expect(Object.keys(amounts), name).toContain(peer)
      for (const client of Object.keys(leftOut)) expect(Object.keys(amounts), name).not.toContain(client)
    }
  })

  it('gives every way of a client its work', () => {
    for (const [client, ways] of Object.entries(clients)) {
      for (const name of Object.keys(ways)) expect(Object.keys(workloads[name as WorkloadName].amounts), `${client}: ${name}`).toContain(client)
    }
  })
})

describe('the figures of rounds', () => {
  it('have a median between the least and the greatest', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 })
    expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 })
    expect(() => spreadOf([])).toThrow('one value at least')
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, min: 0, max: 1e9 }), { minLength: 1 }), (values) => {
        const { median, min, max } = spreadOf(values)
        const notAbove = values.filter((value) => value <= median).length
        const notBelow = values.filter((value) => value >= median).length
        expect(min <= median && median <= max && notAbove >= values.length / 2 && notBelow >= values.length / 2).toBe(true)
      }),
    )
  })

  it('are compared round by round, as far as both have come', () => {
    const of = (...cpu: number[]): Measured => ({ amount: 1, settings: '', rounds: cpu.map((each) => ({ cpu: each, wall: 1, peakMb: 1 })) })
    expect(ratioOf(of(10, 40, 30), of(10, 10, 20), 'cpu')).toEqual({ median: 1.5, min: 1, max: 4 })
    expect(ratioOf(of(10, 40), of(10), 'cpu')).toEqual({ median: 1, min: 1, max: 1 })
    expect(ratioOf(of(), of(10), 'cpu')).toBeUndefined()
    expect(ratioOf(undefined, of(10), 'cpu')).toBeUndefined()
    expect(figureOf(of(10), 'refused')).toBeUndefined()
  })
})

describe('the blocks of the server', () => {
  const made = loadBlocks(true)
  const asked = (template: Template, number: number) => JSON.parse(fill(template, number).toString())

  it('follow each other: each has the number that was asked for, and its parent is the one before', () => {
    for (const blocks of [made, loadBlocks()]) {
      blocks.full.forEach((full, i) => {
        const [block, before, hashes, receipts] = [
          asked(full, FIRST_BLOCK + 7),
          asked(full, FIRST_BLOCK + 6),
          asked(blocks.hashes[i] as Template, FIRST_BLOCK + 7),
          asked(blocks.receipts[i] as Template, FIRST_BLOCK + 7),
        ]
        expect(Number(block.number)).toBe(FIRST_BLOCK + 7)
        expect(block.parentHash).toBe(before.hash)
        expect(block.transactions.length).toBe(blocks.transactions[i])
        expect(hashes).toEqual({ ...block, transactions: block.transactions.map(({ hash }: { hash: string }) => hash) })
        const own = { blockHash: block.hash, blockNumber: block.number }
        expect(receipts).toEqual(block.transactions.map(({ hash }: { hash: string }) => expect.objectContaining({ ...own, transactionHash: hash })))
        expect(block.transactions).toEqual(block.transactions.map(() => expect.objectContaining(own)))
      })
      expect(JSON.parse(blocks.logs.toString())).toHaveLength(LOGS)
    }
  })

  it('are the same made ones each time, of about the size of real ones', () => {
    expect(loadBlocks(true).full.map(({ bytes }) => bytes.toString())).toEqual(made.full.map(({ bytes }) => bytes.toString()))
    const mean = made.full.reduce((sum, { bytes }) => sum + bytes.length, 0) / made.full.length
    // Real ones: 189 kB.
    expect(mean).toBeGreaterThan(150_000)
    expect(mean).toBeLessThan(260_000)
  })
})
