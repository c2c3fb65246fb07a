import { createPublicClient, createTestClient, type Hash, http, parseEther, toHex } from 'viem'
import { foundry } from 'viem/chains'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { type Anvil, startAnvil } from './anvil.ts'
import { contracts, senders, transferCode } from './anvil-logs.ts'
import { minedReceipt } from './mined.ts'

/** The token of the chain, whose transfers come from `sender`. */
export const TOKEN = contracts[0]
const SENDER = senders[0]
/** The key of anvil's first account. */
export const PRIVATE_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
/** An account that has 10,000 ETH, and sends nothing. */
export const RICH = `0x${'11'.repeat(20)}` as const

/** A chain for the programs of `examples`: anvil, with the sandbox in front of it. */
export interface ExampleChain {
  readonly anvil: Anvil
  readonly sandbox: Sandbox
  /** A URL for any client. */
  readonly url: string
  /**
   * Adds a block with this many transfers, 0 or more, each to another receiver, of 0, 1, … units.
   */
  transfer(count: number): Promise<void>
  /** Replaces the last blocks by one more, empty ones. */
  reorganise(depth: number): Promise<void>
  stop(): Promise<void>
}

/** Starts it with a block for each count of transfers. */
export async function startExampleChain(counts: readonly number[]): Promise<ExampleChain> {
  const anvil = await startAnvil()
  const sandbox = await startSandbox({ upstream: anvil.url })
  const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
  await node.setLoggingEnabled(false)
  await node.setBalance({ address: RICH, value: parseEther('10000') })
  await node.setCode({ address: TOKEN, bytecode: transferCode })
  const request = (url: string, method: string, params: readonly unknown[]) =>
    createPublicClient({ transport: http(url) }).request({ method, params } as never) as Promise<unknown>
  const [from] = (await request(anvil.url, 'eth_accounts', [])) as [string]
  const word = (value: bigint | number) => toHex(value, { size: 32 }).slice(2)
  const chain: ExampleChain = {
    anvil,
    sandbox,
    url: sandbox.nodeUrl(),
    async transfer(count) {
      const data = `0x${word(count)}${word(1000)}${word(BigInt(SENDER))}`
      const hash = (await request(anvil.url, 'eth_sendTransaction', [{ from, to: TOKEN, data, gas: toHex(200_000) }])) as Hash
      // anvil answers before it mines, and takes the next transaction into the same block.
      await minedReceipt(createPublicClient({ transport: http(anvil.url) }), hash)
    },
    async reorganise(depth) {
      await request(sandbox.nodeUrl(), 'sandbox_reorg', [depth])
    },
    async stop() {
      await sandbox.stop()
      await anvil.stop()
    },
  }
  for (const count of counts) await chain.transfer(count)
  return chain
}
