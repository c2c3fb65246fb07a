import { setImmediate as turn } from 'node:timers/promises'
import { Contract, type ContractEventPayload, WebSocketProvider } from 'ethers'
import { createClient } from 'hexline'
import { follow, getLogs } from 'hexline/bulk'
import { HexlineProvider } from 'hexline/ethers'
import { hexline } from 'hexline/viem'
import { createPublicClient, parseAbiItem, type Transport, webSocket } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { liveChain, TOKEN, TRANSFER } from '../support/live-chain.ts'
import { randomFrom } from '../support/random.ts'
import { closing } from '../support/viem-clients.ts'

const transfer = 'event Transfer(address indexed from, address indexed to, uint256 amount)' as const
const LOGS_PER_BLOCK = 10
/** 100,000 logs in all. */
const BLOCKS = 10_000
const CUTS = 200

/**
 * Starts to listen to all transfers at a node, and passes on the number that each log has as its
 * data.
 */
type Listen = (url: string, hear: (log: number) => void) => Promise<void>

const byViem =
  (transport: (url: string) => Transport): Listen =>
  async (url, hear) => {
    const client = createPublicClient({ transport: transport(url) })
    const onLogs = (logs: readonly { readonly args: { readonly amount?: bigint | undefined } }[]) => {
      for (const { args } of logs) hear(Number(args.amount))
    }
    const { getRpcClient } = client.transport as { getRpcClient?: () => Promise<{ close(): void }> }
    // viem's own would try to reconnect after the test.
    onTestFinished(async () => (await getRpcClient?.())?.close())
    onTestFinished(client.watchEvent({ address: TOKEN, event: parseAbiItem(transfer), onLogs, onError: () => {} }))
  }

const hearByEthers = (contract: Contract, hear: (log: number) => void) =>
  contract.on('Transfer', (_from, _to, _amount, { log }: ContractEventPayload) => hear(Number(log.data)))

const CLIENTS: Readonly<Record<string, Listen>> = {
  'hexline follow': async (url, hear) => {
    const client = createClient(url, { retry: { baseDelayMs: 1, maxDelayMs: 5 } })
    onTestFinished(() => client.close())
    const stream = follow(client, { from: 'latest', logs: { address: TOKEN, topics: [TRANSFER] } })
    await stream.next()
    void (async () => {
      for await (const item of stream) if (item.type === 'block') for (const { data } of item.logs) hear(Number(data))
    })().catch(() => {})
  },
  "viem's webSocket()": byViem((url) => webSocket(url, { reconnect: { attempts: 1_000, delay: 1 }, keepAlive: false })),
  'viem over hexline()': byViem((url) => closing(hexline(url as 'ws://', { retryDelay: 1 }))),
  // It does not reconnect: its users make another one when the socket closes.
  "ethers' WebSocketProvider, made again": async (url, hear) => {
    let isOver = false
    const start = async () => {
      const provider = new WebSocketProvider(url, 1, { staticNetwork: true })
      onTestFinished(() => {
        isOver = true
        return provider.destroy()
      })
      const socket = provider.websocket as unknown as { onclose: () => void; onerror: () => void }
      socket.onerror = () => {}
      socket.onclose = () => {
        if (!isOver) void start()
      }
      await hearByEthers(new Contract(TOKEN, [transfer], provider), hear)
    }
    await start()
  },
  "ethers' Contract over HexlineProvider": async (url, hear) => {
    const provider = await HexlineProvider.connect(url, { retry: { baseDelayMs: 1, maxDelayMs: 5 }, pollingInterval: 50 })
    onTestFinished(() => provider.destroy())
    await provider.on('error', () => {})
    await hearByEthers(new Contract(TOKEN, [transfer], provider), hear)
    // The head is known.
    await provider.getBlockNumber()
  },
}

/**
 * Listens to 100,000 logs while the node cuts the socket 200 times: in the middle of a burst, and
 * blocks come until it is back.
 */
async function countOf(listen: Listen): Promise<{ lost: number; doubled: number }> {
  const random = randomFrom(1)
  const chain = await liveChain({ logsPerBlock: LOGS_PER_BLOCK })
  const heard: number[] = []
  await listen(chain.server.url, (log) => heard.push(log))
  await chain.subscribed(1)
  await turn()
  const first = chain.blocks.length
  for (let cuts = 0; cuts < CUTS; cuts++) {
    const blocks = BLOCKS / CUTS
    const before = Math.floor(random() * (blocks - 3))
    for (let i = 0; i < before; i++) {
      chain.mine()
      await turn()
    }
    chain.cut()
    chain.mine(3)
    await chain.subscribed(cuts + 2)
    for (let i = before + 3; i < blocks; i++) {
      chain.mine()
      await turn()
    }
  }
  const expected = chain.logs.slice(first * LOGS_PER_BLOCK).map(({ data }) => Number(data))
  expect(expected).toHaveLength(BLOCKS * LOGS_PER_BLOCK)
  // What comes, comes in order: after the last one, nothing else does.
  await eventually(() => expect(heard).toContain(expected.at(-1)))
  const found: number[] = []
  for await (const { data } of getLogs(createClient(chain.server.url), { from: first, to: 'latest', address: TOKEN })) found.push(Number(data))
  expect(found).toEqual(expected)
  const seen = new Set(heard)
  return { lost: expected.filter((log) => !seen.has(log)).length, doubled: heard.length - seen.size }
}

test.each(Object.entries(CLIENTS))('100,000 events by %s over 200 lost sockets', async (name, listen) => {
  const { lost, doubled } = await countOf(listen)
  console.log(`missed events | ${name} | lost ${lost} | doubled ${doubled}`)
  if (/hexline/i.test(name)) expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 })
  else expect(lost + doubled).toBeGreaterThan(0)
})
