import { type HexlineTransportConfig, hexline } from 'hexline/viem'
import { createClient, type HttpTransportConfig, http, publicActions, type Transport, testActions, walletActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { anvil } from 'viem/chains'
import { onTestFinished } from 'vitest'
import type { Client as HexlineClient } from '../../src/client/client.ts'

/** The first account of anvil, which has 10,000 ether. */
export const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

/** A client with all of viem's actions, as a wallet of `account`. */
export function clientOver<T extends Transport>(transport: T, { multicall = false }: { multicall?: boolean } = {}) {
  return createClient({ account, chain: anvil, transport, pollingInterval: 20, batch: { multicall } })
    .extend(publicActions)
    .extend(walletActions)
    .extend(testActions({ mode: 'anvil' }))
}

/** The type of both clients. */
export type ViemClient = ReturnType<typeof clientOver<Transport>>

export function overHttp(url: string, config: HttpTransportConfig = {}) {
  return clientOver(http(url, { retryDelay: 2, ...config }))
}

/** It is closed when the test ends, and its retries take no time. */
export function overHexline(url: string | readonly string[], config: HexlineTransportConfig = {}) {
  return clientOver(closing(hexline(url, { retryDelay: 2, ...config })))
}

/** Closes the transport's hexline client when the test ends. */
export function closing<T extends Transport>(transport: T): T {
  onTestFinished(async () => (transport({}).value as { client: HexlineClient }).client.close())
  return transport
}

/** A read that every test server can answer. `who` makes it different from others. */
export function readOver(client: { request: unknown }, who: unknown = account.address, options?: CallOptions): Promise<unknown> {
  return request(client, 'eth_getBalance', [who, 'latest'], options)
}

/** Any call, with the options of viem's `request`. */
export function request(client: { request: unknown }, method: string, params: readonly unknown[] = [], options?: CallOptions): Promise<unknown> {
  // viem types the methods that it knows; the tests also call others.
  return (client.request as (args: unknown, options?: CallOptions) => Promise<unknown>)({ method, params }, options)
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly retryCount?: number
  readonly dedupe?: boolean
}
