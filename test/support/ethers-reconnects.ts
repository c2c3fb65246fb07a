import { Contract, type ContractEventPayload } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import { liveChain, TOKEN } from './live-chain.ts'
import { randomFrom } from './random.ts'

interface Heard {
  /** Numbers of `on('block')`. */
  readonly blocks: readonly number[]
  /** `blockHash:data` of each log of `contract.on`. */
  readonly logs: readonly string[]
  readonly expected: { readonly blocks: readonly number[]; readonly logs: readonly string[] }
}

/**
 * Listens to blocks and to a contract's events, while the chain grows by up to three blocks at a
 * time, may be reorganised, and the node cuts the sockets: before, between and after blocks.
 */
export async function cutWhileListening({ cuts, seed, mayReorganise }: { cuts: number; seed: number; mayReorganise: boolean }): Promise<Heard> {
  const random = randomFrom(seed)
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  const chain = await liveChain()
  const provider = await HexlineProvider.connect(chain.server.url, { pollingInterval: 50, retry: { baseDelayMs: 1, maxDelayMs: 5 } })
  onTestFinished(() => provider.destroy())
  const [blocks, logs]: [number[], string[]] = [[], []]
  // Failed polls while a socket is down.
  await provider.on('error', () => {})
  await provider.on('block', (number) => void blocks.push(number))
  const contract = new Contract(TOKEN, ['event Transfer(address indexed from, address indexed to, uint256 amount)'], provider)
  await contract.on('Transfer', (_from, _to, _amount, { log }: ContractEventPayload) => void logs.push(`${log.blockHash}:${log.data}`))
  await eventually(() => {
    if (!chain.calls.includes('eth_getBlockByNumber') || !chain.calls.includes('eth_subscribe')) throw new Error('nobody listens yet')
  })
  // The replies are on their way, and a chain that grows while they are does not begin at block 6.
  await provider.send('eth_chainId', [])
  const start = chain.blocks.length
  for (let i = 1; i <= cuts; i++) {
    chain.mine(upTo(3))
    if (mayReorganise && random() < 0.5) {
      const depth = upTo(Math.min(8, chain.blocks.length - start))
      chain.reorganise(depth, depth + 1 + upTo(2))
    }
    if (random() < 0.2) await provider.getBlockNumber().catch(() => {})
    chain.cut()
    chain.mine(upTo(3))
    await chain.subscribed(i + 1)
  }
  chain.mine()
  const expected = {
    blocks: Array.from({ length: chain.blocks.length - start }, (_, i) => start + i),
    logs: chain.logs.slice(start).map((log) => `${log.blockHash}:${log.data}`),
  }
  await eventually(() => {
    const missing = expected.logs.filter((log) => !logs.includes(log))
    if (missing.length > 0 || blocks.length < expected.blocks.length) throw new Error(`${missing.length} logs are missing`)
  })
  return { blocks, logs, expected }
}
