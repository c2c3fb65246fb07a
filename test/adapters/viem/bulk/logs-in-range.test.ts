import { bulkActions, hexline } from 'hexline/viem'
import { createPublicClient, http, parseAbi } from 'viem'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { startLogChain, tokens } from '../../../support/log-chain.ts'
import { errorOf } from '../../../support/server.ts'

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'function totalSupply() view returns (uint256)',
])
const [transfer, approval] = abi
const address = tokens.slice(0, 2) as `0x${string}`[]
const limit = { most: 700, says: () => ({ message: 'query exceeds max block range 700' }) }

function clientOn(url: string) {
  const client = createPublicClient({ transport: hexline(url, { retryDelay: 1 }) }).extend(bulkActions())
  onTestFinished(() => client.transport.client.close())
  return client
}

/** Few enough to compare them all. */
const logs = (block: number) => (block % 10 === 0 ? 5 : 0)

async function both() {
  const chain = await startLogChain({ head: 3000, range: limit, logs })
  const free = await startLogChain({ head: 3000, logs })
  return { client: clientOn(chain.url), peer: createPublicClient({ transport: http(free.url) }) }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

const range = { fromBlock: 0n, toBlock: 3000n } as const

describe('getLogsInRange gives what viem gives of a node without limits', () => {
  it('with an event and its arguments', async () => {
    const { client, peer } = await both()
    const options = {
      ...range,
      address,
      event: transfer,
      args: { to: Array.from({ length: 300 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}` as const) },
    } as const
    const logs = await all(client.getLogsInRange(options))
    expect(logs).toStrictEqual(await peer.getLogs(options))
    expect(logs.length).toBeGreaterThan(3)
    expectTypeOf(logs[0]?.args.value).toEqualTypeOf<bigint | undefined>()
  })

  it('with several events', async () => {
    const { client, peer } = await both()
    const options = { ...range, address, events: [transfer, approval], strict: true } as const
    const logs = await all(client.getLogsInRange(options))
    expect(logs).toStrictEqual(await peer.getLogs(options))
    expectTypeOf(logs[0]?.eventName).toEqualTypeOf<'Transfer' | 'Approval' | undefined>()
  })

  it('with the events of a contract', async () => {
    const { client, peer } = await both()
    const options = { ...range, address, abi } as const
    expect(await all(client.getLogsInRange(options))).toStrictEqual(await peer.getContractEvents(options))
    const one = { ...options, eventName: 'Approval' } as const
    const logs = await all(client.getLogsInRange(one))
    expect(logs).toStrictEqual(await peer.getContractEvents(one))
    expectTypeOf(logs[0]?.args.spender).toEqualTypeOf<`0x${string}` | undefined>()
  })

  it('without an event', async () => {
    const { client, peer } = await both()
    const options = { fromBlock: 100n, toBlock: 'latest', address } as const
    expect(await all(client.getLogsInRange(options))).toStrictEqual(await peer.getLogs(options))
  })

  it('by the hash of a block', async () => {
    const { client, peer } = await both()
    const { hash } = await peer.getBlock({ blockNumber: 42n })
    expect(await all(client.getLogsInRange({ blockHash: hash }))).toStrictEqual(await peer.getLogs({ blockHash: hash }))
  })
})

it('gives pages that tile the range, and what the audit has proven', async () => {
  const chain = await startLogChain({ head: 1000, drops: (log) => Number(log.blockNumber) % 10 === 3 })
  const client = clientOn(chain.url)
  const logs = client.getLogsInRange({ fromBlock: 0n, address, event: transfer, audit: 'bloom' })
  const pages = await all(logs.pages())
  expect([pages[0]?.fromBlock, pages.at(-1)?.toBlock]).toEqual([0n, 1000n])
  expect(logs.audit).toMatchObject({ level: 'bloom', blocks: 1001, unproven: 0 })
  expect(logs.audit.recovered).toBe(pages.flatMap((page) => page.logs).filter(({ blockNumber }) => blockNumber % 10n === 3n).length)
})

describe('refuses at once', () => {
  it.each<[object, string]>([
    [{ event: transfer }, 'fromBlock: expected a block number (a whole number that is not negative), received undefined'],
    [{ fromBlock: 5n, toBlock: 4n }, 'toBlock: expected at least the first block, 5, received 4'],
    [{ fromBlock: 5n, block: 4n }, 'parameters: expected only address, abi'],
    [{ from: 5n, to: 9n }, 'from: expected undefined (it is called `fromBlock` here), received 5n'],
    [{ fromBlock: 5n, abi, eventName: 'Burn' }, 'eventName: expected the name of an event of abi, received "Burn"'],
    [{ fromBlock: 5n, events: [] }, 'events: expected at least one event; omit the parameter for all logs, received an empty array'],
    [{ fromBlock: 5n, abi: [] }, 'abi: expected at least one event, received none'],
    [{ fromBlock: 5n, event: transfer, args: { from: [] } }, 'args: expected at least one value of each argument; omit those that may have any'],
  ])('%o', (parameters, message) => {
    const client = clientOn('http://127.0.0.1:1')
    expect(() => client.getLogsInRange(parameters as never)).toThrow(message)
  })
})

it('an error says what was asked for', async () => {
  const answer = (method: string) => (method === 'eth_getLogs' ? { error: { code: -32602, message: 'no' } } : undefined)
  const { url } = await startLogChain({ head: 3000, logs, answer })
  const error = await errorOf(all(clientOn(url).getLogsInRange({ ...range, address })))
  expect(error.message).toContain(`Request body: {"method":"eth_getLogs","params":[{"address":["${address[0]}"`)
  expect(error.message).toContain('"fromBlock":"0","toBlock":"3000"')
})

it('getLogsInRange that is aborted within a page gives no more logs of it', async () => {
  const chain = await startLogChain({ head: 50, logs: () => 5 })
  const controller = new AbortController()
  const reason = new Error('enough')
  let count = 0
  const run = async () => {
    for await (const _ of clientOn(chain.url).getLogsInRange({ address, fromBlock: 0n, toBlock: 50n, signal: controller.signal })) {
      count++
      if (count === 3) controller.abort(reason)
    }
  }
  expect(await errorOf(run())).toBe(reason)
  expect(count).toBe(3)
})
