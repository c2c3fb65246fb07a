import type { MethodName } from '../../src/eth/methods.ts'

/** Where a method is said to appear first. */
export interface Release {
  /** A client, or the specification, with its version. */
  readonly name: string
  readonly source: string
}

/**
 * Since when clients have a method, as far as their release notes or a provider's documentation
 * say. A client that is not named may have it, too.
 */
export const releases: Partial<Record<MethodName, readonly Release[]>> = {
  eth_capabilities: [{ name: 'execution API 1.0.0-beta.5', source: 'https://ethereum.github.io/execution-apis/releases/v1.0.0-beta.5' }],
  eth_config: [{ name: 'execution API 1.0.0-beta.5', source: 'https://ethereum.github.io/execution-apis/releases/v1.0.0-beta.5' }],
  eth_getStorageValues: [{ name: 'execution API 1.0.0-beta.5', source: 'https://ethereum.github.io/execution-apis/releases/v1.0.0-beta.5' }],
  eth_sendRawTransactionSync: [
    { name: 'geth 1.16.6', source: 'https://docs.chainstack.com/reference/ethereum-sendrawtransactionsync' },
    { name: 'Erigon 3.4.0', source: 'https://docs.chainstack.com/reference/ethereum-sendrawtransactionsync' },
  ],
  eth_simulateV1: [
    { name: 'geth 1.14.9', source: 'https://newreleases.io/project/github/ethereum/go-ethereum/release/v1.14.9' },
    { name: 'Erigon 3.3.0', source: 'https://newreleases.io/project/github/erigontech/erigon/release/v3.3.0-rc.2' },
  ],
  trace_get: [{ name: 'Nethermind 1.11.5', source: 'https://github.com/NethermindEth/nethermind/releases?page=7' }],
}
