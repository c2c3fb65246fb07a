import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FIRST_BLOCK, fill, LOGS, loadBlocks, type Template } from '../../bench/blocks.ts'
import { clients } from '../../bench/clients/index.ts'
import type { Way } from '../../bench/clients/way.ts'
import { readOptions } from '../../bench/options.ts'
import { figureOf, type Measured, ratioOf, spreadOf } from '../../bench/results.ts'
import { type ClientName, type WorkloadName, workloads } from '../../bench/workloads.ts'
import { startChain } from '../support/chain-server.ts'

const run = promisify(execFile)

describe('the arguments of the benchmark', () => {
  it('are all workloads and three rounds without any', () => {
    expect(readOptions([])).toEqual({ isQuick: false, rounds: 3, workloads: Object.keys(workloads), isSaved: false, node: undefined })
  })

  it('choose workloads by a part of their names, or one by its whole name', () => {
    expect(readOptions(['small', '--quick']).workloads).toEqual(['small calls, 64 in parallel', 'small calls, gzip', 'small calls, in sequence'])
    expect(readOptions(['full blocks']).workloads).toEqual(['full blocks'])
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
