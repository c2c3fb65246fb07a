import { importPeer } from '../peers.ts'
import { balances, calls, hex, inParallel, type Job, Tally, type Way, type Ways } from './way.ts'

/** The parts of ox in use. Its types are not installed with the project. */
interface Ox {
  readonly RpcTransport: { fromHttp(url: string): { request(call: { method: string; params: readonly unknown[] }): Promise<unknown> } }
  readonly Block: { fromRpc(block: unknown): { number: bigint; transactions: readonly unknown[] } }
  readonly TransactionReceipt: { fromRpc(receipt: unknown): { blockNumber: bigint } }
  readonly Log: { fromRpc(log: unknown): { blockNumber: bigint } }
}

type Request = (method: string, ...params: unknown[]) => Promise<unknown>

export const ox: Ways = {
  'full blocks': blocks(true),
  'blocks with hashes': blocks(false),
  'full blocks with receipts': way(
    '20 blocks with eth_getBlockReceipts at a time; Block.fromRpc, TransactionReceipt.fromRpc',
    (request, ox) => async (first, count) => {
      const tally = new Tally()
      await inParallel(20, first, count, async (i) => {
        const [block, receipts] = await Promise.all([request('eth_getBlockByNumber', hex(i), true), request('eth_getBlockReceipts', hex(i))])
        tally.add(ox.Block.fromRpc(block).number, (receipts as unknown[]).map((each) => ox.TransactionReceipt.fromRpc(each)).length)
      })
      return tally
    },
  ),
  '10,000 logs': way('eth_getLogs, one at a time; Log.fromRpc', (request, ox) => async (first, count) => {
    let parts = 0
    for (let i = first; i < first + count; i++) {
      const logs = (await request('eth_getLogs', { fromBlock: hex(i), toBlock: hex(i + 99) })) as unknown[]
      parts += logs.map((each) => ox.Log.fromRpc(each)).length
    }
    return { items: count, parts }
  }),
  'small calls, 64 in parallel': small('small calls, 64 in parallel'),
  'small calls, in sequence': small('small calls, in sequence'),
}

function blocks(full: boolean): Way {
  return way('20 blocks at a time; Block.fromRpc', (request, { Block }) => async (first, count) => {
    const tally = new Tally()
    await inParallel(20, first, count, async (i) => {
      const { number, transactions } = Block.fromRpc(await request('eth_getBlockByNumber', hex(i), full))
      tally.add(number, transactions.length)
    })
    return tally
  })
}

function small(name: keyof typeof calls): Way {
  return way(
    'eth_getBalance',
    (request) => balances(calls[name], async (address) => BigInt((await request('eth_getBalance', address, 'latest')) as string)).run,
  )
}

function way(asked: string, jobOf: (request: Request, ox: Ox) => Job['run']): Way {
  return {
    settings: `RpcTransport.fromHttp(url), which does not batch; ${asked}`,
    async load(url) {
      const parts = await Promise.all(['RpcTransport', 'Block', 'TransactionReceipt', 'Log'].map(async (name) => [name, await importPeer(`ox/${name}`)]))
      // The four modules in use, as declared above.
      const ox = Object.fromEntries(parts) as Ox
      const transport = ox.RpcTransport.fromHttp(url)
      return { run: jobOf((method, ...params) => transport.request({ method, params }), ox), end() {} }
    },
  }
}
