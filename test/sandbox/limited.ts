import { createClient } from 'hexline'
import { request } from 'undici'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { minedReceipt } from '../support/mined.ts'
import { deploy, logsCode, viemOn } from './contracts.ts'

/** A chain with logs, behind sandboxes with limits. */
export interface LoggedChain {
  /** A sandbox without limits. */
  readonly whole: Sandbox
  /** The contract that makes the logs. */
  readonly address: `0x${string}`
  /** The first and last blocks with logs: each block between them has some. */
  readonly first: number
  readonly last: number
  readonly head: number
}

/** Logs of each block with logs, and the number of such blocks. */
export const LOGS = 60
export const BLOCKS = 12
/** Empty blocks before and after. */
const BEFORE = 400
const AFTER = 200

export async function startLoggedChain(): Promise<LoggedChain> {
  const whole = await startSandbox()
  const viem = viemOn(whole.upstream)
  const address = await deploy(viem, logsCode)
  await viem.mine({ blocks: BEFORE })
  const data = `0x${LOGS.toString(16).padStart(64, '0')}` as const
  for (let i = 0; i < BLOCKS; i++) {
    const hash = await viem.sendTransaction({ to: address, data, gas: 1_000_000n })
    await minedReceipt(viem, hash)
  }
  const last = Number(await viem.getBlockNumber({ cacheTime: 0 }))
  await viem.mine({ blocks: AFTER })
  return { whole, address, first: last - BLOCKS + 1, last, head: last + AFTER }
}

/** A sandbox with these options over the same chain. */
export function limited({ whole }: LoggedChain, options: SandboxOptions): Promise<Sandbox> {
  return startSandbox({ upstream: whole.upstream, ...options })
}

// biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of a reply
export type Body = any

/** Posts a body, and gives the parsed reply. */
export async function post(sandbox: Sandbox, body: unknown): Promise<Body> {
  const reply = await request(sandbox.nodeUrl(), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return reply.body.json()
}

/** Makes one call, without a client: the result, or the code and message of the error. */
export async function rpc(sandbox: Sandbox, method: string, ...params: unknown[]): Promise<Body> {
  const { result, error } = await post(sandbox, { jsonrpc: '2.0', id: 1, method, params })
  return error === undefined ? result : [error.code, error.message]
}

/** The kind of the error that hexline's client has for a call. */
export async function kindOf(sandbox: Sandbox, method: string, ...params: unknown[]): Promise<string> {
  await using client = createClient(sandbox.nodeUrl(), { retry: false })
  return await client.request({ method, params }).then(
    () => 'no error',
    (error) => error.kind,
  )
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

export const hex = (number: number) => `0x${number.toString(16)}`
