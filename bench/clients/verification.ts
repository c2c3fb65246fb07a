import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Block, Receipt } from 'hexline'
import { root } from '../root.ts'
import type { Job, Ways } from './way.ts'

/*
 * Verification of a real block, again and again. The blocks of the server have hashes of their own
 * making, which do not verify.
 */

/** The block that is verified: number 18,500,000 of mainnet. */
const NUMBER = 18_500_000

/** Blocks in the dataset that is verified. */
const DATASET_BLOCKS = 20

export const verification: Ways = {
  'verify: link': { settings: 'the checks of getBlocks alone, of decoded blocks', load: linked },
  'verify: header': { settings: "level: 'header'", load: () => verified('header') },
  'verify: full': { settings: "level: 'full'", load: () => verified('full') },
  verifyDataset: { settings: `defaults; ${DATASET_BLOCKS} blocks with all tables, as Parquet, in one thread`, load: datasetVerified },
}

function readReal(): { block: Record<string, unknown>; receipts: unknown } {
  return JSON.parse(readFileSync(new URL('../shared/corpus/blocks/mainnet-18500000.json', root), 'utf8'))
}

/** Decoded anew each time: what is compared are texts of their own. */
async function decoded(): Promise<{ readonly block: Block; readonly receipts: Receipt[] }> {
  const { decodeResult } = await import('hexline')
  const { block, receipts } = readReal()
  return {
    block: decodeResult('eth_getBlockByNumber', block, ['latest', true]) as Block,
    receipts: decodeResult('eth_getBlockReceipts', receipts, ['latest']) as Receipt[],
  }
}

async function verified(level: 'header' | 'full'): Promise<Job> {
  const { verifyBlock } = await import('hexline/bulk')
  const { block, receipts } = await decoded()
  return {
    async run(_, count) {
      let items = 0
      for (; items < count; items++) {
        const { skipped } = await verifyBlock(block, receipts, { level })
        if (skipped.length > 0) throw new Error('the block was not verified')
      }
      return { items }
    },
    end() {},
  }
}

async function linked(): Promise<Job> {
  // Imported from its file, since it is not an entry point of the package.
  const { Link, receiptsFault } = (await import(new URL('dist/src/bulk/link.js', root).href)) as {
    Link: new () => { follow(number: bigint, block: unknown): void }
    receiptsFault(block: unknown, receipts: readonly unknown[]): Error | undefined
  }
  const { block, receipts } = await decoded()
  // A text of its own.
  const child = { ...block, parentHash: `0x${block.hash.slice(2)}` }
  return {
    async run(_, count) {
      let items = 0
      for (; items < count; items++) {
        const link = new Link()
        link.follow(BigInt(NUMBER), block)
        link.follow(BigInt(NUMBER), child)
        const fault = receiptsFault(block, receipts)
        if (fault !== undefined) throw fault
      }
      return { items }
    },
    end() {},
  }
}

async function datasetVerified(): Promise<Job> {
  const { createClient } = await import('hexline')
  const { exportDataset, verifyDataset } = await import('hexline/bulk')
  const dir = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
  const node = await startNode(await chainOfReal())
  const client = createClient(node.url)
  const tables = ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const
  await exportDataset(client, { from: NUMBER, to: NUMBER + DATASET_BLOCKS - 1, dir, tables })
  await client.close()
  node.close()
  return {
    async run(_, count) {
      let items = 0
      for (; items < count; items += DATASET_BLOCKS) {
        const { skipped } = await verifyDataset(dir)
        if (Object.keys(skipped).length > 0) throw new Error(`not all was verified: ${Object.keys(skipped)}`)
      }
      return { items }
    },
    end: () => rmSync(dir, { recursive: true }),
  }
}

/**
 * The real block again and again, each the child of the one before, with the hash that this gives
 * it.
 */
async function chainOfReal(): Promise<ReadonlyMap<number, { readonly block: unknown; readonly receipts: unknown }>> {
  const { decodeResult } = await import('hexline')
  const { RlpWriter } = (await import(new URL('dist/src/verify/rlp.js', root).href)) as {
    RlpWriter: new () => { clear(): void; hash(): number; digest(): string }
  }
  const { writeHeader } = (await import(new URL('dist/src/verify/header.js', root).href)) as { writeHeader(writer: unknown, block: unknown): void }
  const real = readReal()
  const blocks = new Map<number, { block: unknown; receipts: unknown }>()
  const writer = new RlpWriter()
  let { parentHash } = real.block
  for (let number = NUMBER; number < NUMBER + DATASET_BLOCKS; number++) {
    const header = { ...real.block, number: `0x${number.toString(16)}`, parentHash }
    writer.clear()
    // What is decoded is changed.
    writeHeader(writer, decodeResult('eth_getBlockByNumber', structuredClone(header), ['latest', true]))
    writer.hash()
    const hash = writer.digest()
    const text = JSON.stringify(real).replaceAll(real.block.hash as string, hash)
    const { block, receipts } = JSON.parse(text.replaceAll(`"blockNumber":"${real.block.number}"`, `"blockNumber":"${header.number}"`))
    blocks.set(number, { block: { ...block, number: header.number, parentHash }, receipts })
    parentHash = hash
  }
  return blocks
}

async function startNode(blocks: Awaited<ReturnType<typeof chainOfReal>>): Promise<{ readonly url: string; close(): void }> {
  interface Call {
    readonly id: unknown
    readonly method: string
    readonly params: readonly unknown[]
  }
  const resultOf = ({ method, params: [at] }: Call): unknown => {
    if (method === 'eth_chainId') return '0x1'
    if (method === 'eth_blockNumber') return `0x${Math.max(...blocks.keys()).toString(16)}`
    const found = blocks.get(Number(at))
    return method === 'eth_getBlockReceipts' ? found?.receipts : found?.block
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
      const reply = (call: Call) => ({ jsonrpc: '2.0', id: call.id, result: resultOf(call) ?? null })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}
