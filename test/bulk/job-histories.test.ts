import { beforeAll, expect, it } from 'vitest'
import { HeaderHashes } from '../../src/bulk/logs/header-hashes.ts'
import type { Client } from '../../src/index.ts'
import { getBlocks, getLogs } from '../../src/index-bulk.ts'
import { CONTRACT, type ForkBlock, ForkingChain, headerOf, logsOf } from '../support/forking-chain.ts'
import { randomFrom } from '../support/random.ts'
import { seeds } from '../support/runs.ts'
import { type Answer, type Entry, errorOf } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

/** What a node does wrong for a while. */
const FAULTS = ['500', '404', '429', 'cut', 'half', 'null', 'empty', 'other', 'no-receipts', 'no-logs', 'reversed'] as const
type FaultKind = (typeof FAULTS)[number]

interface Fault {
  readonly kind: FaultKind
  /** Index of the URL. */
  readonly at: number
  /** Share of the POSTs. */
  readonly share: number
  /** In ms from the start of the job. */
  readonly from: number
  readonly to: number
}

const JOBS = ['blocks', 'receipts', 'logs', 'bloom', 'receipts of logs'] as const

/** Answers a POST as a whole, or gives the chance to the calls in it. */
const wholes: Readonly<Partial<Record<FaultKind, Answer>>> = {
  500: (_, response) => void response.writeHead(500).end('oops'),
  404: (_, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no node</html>'),
  429: (_, response) => void response.writeHead(429, { 'retry-after': '1' }).end('slow down'),
  cut: ({ socket }) => void socket.destroy(),
  half: (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('[{"jsonrpc":"2.0","id":1,'),
}

/** The wrong result of a call; undefined where the fault is not about it. */
function wrongResult(kind: FaultKind, { method }: Entry, anyBlock: () => ForkBlock): unknown {
  const isBlock = method === 'eth_getBlockByNumber'
  if (kind === 'null') return isBlock || method === 'eth_getBlockReceipts' ? null : undefined
  if (kind === 'empty') return /Block(?:ByNumber|Receipts)|Logs/.test(method) ? {} : undefined
  if (kind === 'other') return isBlock ? headerOf(anyBlock()) : undefined
  if (kind === 'no-receipts') return method === 'eth_getBlockReceipts' ? [] : undefined
  return kind === 'no-logs' && method === 'eth_getLogs' ? [] : undefined
}

/**
 * A job at up to three URLs, each of which does up to three things wrong for a second at most. The
 * chain grows meanwhile, and some nodes lag behind it.
 */
async function run(seed: number): Promise<void> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const oneOf = <V>(...values: readonly V[]) => values[below(values.length)] as V
  const chain = new ForkingChain(200 + below(2000))
  const { head } = chain
  const views: (readonly ForkBlock[])[] = [[...chain.blocks]]
  const job = oneOf(...JOBS)
  // What a single node leaves out shows only with an audit.
  const kinds = FAULTS.filter((kind) => kind !== 'no-logs' || job !== 'logs')
  const urls = 1 + below(3)
  const roundTripMs = oneOf(5, 50, 200)
  const faults = Array.from({ length: below(4) }, (): Fault => {
    const from = below(4000)
    return { kind: oneOf(...kinds), at: below(urls), share: oneOf(0.1, 0.5, 1), from, to: from + oneOf(300, 1000) }
  })
  const start = clock.now()

  const nodes = Array.from({ length: urls }, (_, at) => {
    const behind = oneOf(0, 0, 1, 3)
    return serve(async (request, response) => {
      const ms = clock.now() - start
      await sleep(1 + below(roundTripMs))
      const active = faults.filter((fault) => fault.at === at && ms >= fault.from && ms < fault.to && random() < fault.share).map(({ kind }) => kind)
      const whole = active.map((kind) => wholes[kind]).find((each) => each !== undefined)
      if (whole !== undefined) return whole(request, response)
      const view = views.at(-1 - Math.min(behind, views.length - 1)) as readonly ForkBlock[]
      const replies = request.entries.map((entry) => {
        const wrong = active.map((kind) => wrongResult(kind, entry, () => oneOf(...view))).find((each) => each !== undefined)
        return wrong === undefined ? chain.reply(entry, { chain: () => view }) : { jsonrpc: '2.0', id: entry.id, result: wrong }
      })
      if (active.includes('reversed')) replies.reverse()
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.isBatch ? replies : replies[0]))
    })
  })
  const [first, ...others] = (await Promise.all(nodes)).map(({ url }) => url)
  const client = clientOf([first as string, ...others], { retry: {} })
  const from = below(head - 100)
  const to = oneOf(head, from + below(head - from))
  let isOver = false
  const grow = async () => {
    while (!isOver) {
      await sleep(1000)
      if (random() < 0.1) chain.mine()
      views.push([...chain.blocks])
    }
  }
  const growing = grow()
  try {
    await check(client, chain, job, from, to)
  } finally {
    isOver = true
    await growing
  }
}

/** The job ends, and gives all that there is, once. */
async function check(client: Client, { blocks }: ForkingChain, job: (typeof JOBS)[number], from: number, to: number): Promise<void> {
  const wanted = blocks.slice(from, to + 1)
  if (job === 'blocks' || job === 'receipts') {
    const hashes: string[] = []
    for await (const block of getBlocks(client, { from, to, transactions: 'hashes', receipts: job === 'receipts' })) hashes.push(block.hash)
    expect(hashes).toEqual(wanted.map(({ hash }) => hash))
    return
  }
  const keys: string[] = []
  const audit = ({ logs: 'none', bloom: 'bloom', 'receipts of logs': 'receipts' } as const)[job]
  for await (const { blockHash, logIndex } of getLogs(client, { from, to, address: CONTRACT, audit })) keys.push(`${blockHash}:${logIndex}`)
  expect(keys).toEqual(wanted.flatMap(logsOf).map((log) => `${log.blockHash}:${Number(log.logIndex)}`))
}

// Loading it takes real time, in which virtual time would go on.
beforeAll(() => HeaderHashes.load(1))

it.each(seeds(60, 1_500))('a job gives everything, whatever nodes do wrong for a second: history %i', async (seed) => {
  await run(seed)
})

it('ends with the error of a node that is wrong for ever', async () => {
  const chain = new ForkingChain(300)
  const { url } = await serve(chain.node({ answer: ({ id, method }) => (method === 'eth_getBlockByNumber' ? { jsonrpc: '2.0', id, result: {} } : undefined) }))
  expect(await errorOf(check(clientOf(url), chain, 'blocks', 0, 300))).toMatchObject({ name: 'CodecError', method: 'eth_getBlockByNumber' })
})
