import { createPublicClient, createTestClient, createWalletClient, type FallbackTransport, fallback, http, parseEther, type Transport } from 'viem'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { hexline } from '../../../adapters/viem/index.ts'
import { type Anvil, startAnvil } from '../../support/anvil.ts'
import { deadPort } from '../../support/server.ts'
import { type Bed, bob, carol, chain, closeHexline, failureOf, viemFlows } from '../../support/viem-flows.ts'
import { named, namedAbi, putContracts, reason, talker } from '../../support/viem-flows-contracts.ts'

const flow = viemFlows(putContracts)

const dead = `http://127.0.0.1:${await deadPort()}`
const readName = { address: named, abi: namedAbi, functionName: 'name' } as const

/** Another node, on which carol has a larger balance, which shows which node answered. */
let other: Anvil
const made: Transport[] = []
beforeAll(async () => {
  other = await startAnvil({ timestamp: 1_600_000_000 })
  await createTestClient({ mode: 'anvil', chain, transport: http(other.url) }).setBalance({ address: carol, value: parseEther('77') })
})
afterAll(async () => {
  await Promise.all(made.map((transport) => closeHexline(transport)))
  await other?.stop()
})

/**
 * viem's `fallback` over transports of the bed's kind, and a client that records which were called.
 */
function over(bed: Bed, urls: readonly [string, string]) {
  const isHexline = bed.transport({}).config.type === 'hexline'
  const transports = urls.map((url, i) => (isHexline ? hexline : http)(url, { key: i === 0 ? 'first' : 'second', retryDelay: 1 }) as Transport)
  made.push(...transports)
  const transport = fallback(transports, { retryDelay: 1 }) as FallbackTransport
  const reader = createPublicClient({ chain, transport, pollingInterval: 10, cacheTime: 0 })
  const asked: string[] = []
  reader.transport.onResponse(({ status, method, transport }) => asked.push(`${transport.config.key}: ${method}, ${status}`))
  return { reader, asked, transport }
}

describe('fallback', () => {
  flow(
    'calls the first of two live nodes',
    async (bed) => {
      const { reader, asked } = over(bed, [bed.url, other.url])
      return { block: await reader.getBlock(), balance: await reader.getBalance({ address: carol }), name: await reader.readContract(readName), asked }
    },
    ({ block, balance, name, asked }) => {
      expect(block.timestamp).toBe(1_700_000_000n)
      expect([balance, name]).toEqual([parseEther('10000'), 'Hexline'])
      expect(asked).toEqual(['first: eth_getBlockByNumber, success', 'first: eth_getBalance, success', 'first: eth_call, success'])
    },
  )

  flow(
    'calls the second each time if the first is dead',
    async (bed) => {
      const { reader, asked } = over(bed, [dead, bed.url])
      return { block: await reader.getBlock(), name: await reader.readContract(readName), asked }
    },
    ({ block, name, asked }) => {
      expect(block.number).toBe(0n)
      expect(name).toBe('Hexline')
      const both = (method: string) => [`first: ${method}, error`, `second: ${method}, success`]
      expect(asked).toEqual([...both('eth_getBlockByNumber'), ...both('eth_call')])
    },
  )

  flow(
    'sends once, through the live one',
    async (bed) => {
      const { transport } = over(bed, [dead, bed.url])
      const wallet = createWalletClient({ account: bob, chain, transport })
      const hash = await wallet.sendTransaction({ to: carol, value: 3n })
      const receipts = await bed.mine(hash)
      return { receipts, count: await bed.reader.getTransactionCount({ address: bob.address }) }
    },
    ({ receipts, count }) => {
      expect(receipts).toMatchObject([{ status: 'success', from: bob.address.toLowerCase() }])
      expect(count).toBe(1)
    },
  )

  flow(
    'continues with the second when the first stops',
    async (bed) => {
      const passing = await startAnvil({ timestamp: 1_500_000_000 })
      const { reader, asked } = over(bed, [passing.url, bed.url])
      const before = await reader.getBlock()
      await passing.stop()
      const after = await reader.getBlock()
      return { before, after, asked }
    },
    ({ before, after, asked }) => {
      expect([before.timestamp, after.timestamp]).toEqual([1_500_000_000n, 1_700_000_000n])
      expect(asked).toEqual(['first: eth_getBlockByNumber, success', 'first: eth_getBlockByNumber, error', 'second: eth_getBlockByNumber, success'])
    },
  )

  flow(
    'does not send to the second what the first has refused to execute',
    async (bed) => {
      const { reader, asked } = over(bed, [bed.url, other.url])
      return { failure: await failureOf(bed, reader.readContract({ ...readName, address: talker })), asked }
    },
    ({ failure, asked }) => {
      expect(failure.message).toContain(reason)
      expect(asked).toEqual(['first: eth_call, error'])
    },
  )

  flow(
    'calls the second if the first does not know the method',
    async (bed) => {
      const { reader, asked } = over(bed, [bed.url, other.url])
      const failure = await failureOf({ url: other.url }, reader.request({ method: 'eth_madeUp', params: [] } as never))
      return { failure, asked }
    },
    ({ failure, asked }) => {
      expect(failure.errors[0]).toMatchObject({ name: 'MethodNotFoundRpcError' })
      expect(asked.slice(0, 2)).toEqual(['first: eth_madeUp, error', 'second: eth_madeUp, error'])
    },
  )

  flow(
    'keeps a null from the first',
    async (bed) => {
      const { reader, asked } = over(bed, [bed.url, other.url])
      return { answer: await reader.request({ method: 'eth_getTransactionByHash', params: [`0x${'ab'.repeat(32)}`] }), asked }
    },
    ({ answer, asked }) => {
      expect(answer).toBeNull()
      expect(asked).toEqual(['first: eth_getTransactionByHash, success'])
    },
  )

  flow(
    'fails with two dead nodes as with one, after the same number of rounds',
    async (bed) => {
      const { reader, asked } = over(bed, [dead, dead])
      const { errors } = await failureOf(bed, reader.getBlockNumber())
      // Below "HTTP request failed." each has its own message: fetch's, or hexline's.
      return { errors: errors.map((each) => ({ name: (each as Error).name, shortMessage: (each as { shortMessage?: string }).shortMessage })), asked }
    },
    ({ errors, asked }) => {
      expect(errors[0]).toEqual({ name: 'HttpRequestError', shortMessage: 'HTTP request failed.' })
      expect(asked).toHaveLength(8)
    },
  )

  flow(
    'watches blocks past a dead node',
    async (bed) => {
      const { reader } = over(bed, [dead, bed.url])
      const numbers: bigint[] = []
      await new Promise<void>((resolve, reject) => {
        const unwatch = reader.watchBlockNumber({
          emitOnBegin: true,
          onError: reject,
          async onBlockNumber(number) {
            numbers.push(number)
            if (number === 0n) return bed.mine()
            unwatch()
            resolve()
          },
        })
      })
      return numbers
    },
    (numbers) => expect(numbers).toEqual([0n, 1n]),
  )
})

describe('hexline([a, b])', () => {
  flow(
    "answers as viem's fallback([http(a), http(b)]) does",
    async (bed) => {
      const isHexline = bed.transport({}).config.type === 'hexline'
      const transport: Transport = isHexline ? hexline([dead, bed.url], { retryDelay: 1 }) : fallback([http(dead), http(bed.url)])
      made.push(transport)
      const reader = createPublicClient({ chain, transport })
      return [
        await reader.getBlock(),
        await reader.readContract(readName),
        await failureOf(bed, reader.readContract({ ...readName, address: talker })),
      ] as const
    },
    ([block, name, failure]) => {
      expect(block.number).toBe(0n)
      expect(name).toBe('Hexline')
      expect(failure.message).toContain(reason)
    },
  )
})
