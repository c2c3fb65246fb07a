import { createWalletClient, getContractAddress, type Hex, http, parseGwei, sidecarsToVersionedHashes, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { anvil as chain } from 'viem/chains'
import { type Block, type Client, createClient, type Receipt } from '../../src/index.ts'
import { startAnvil } from './anvil.ts'

/** A block of anvil, decoded, with its receipts. */
export interface AnvilBlock {
  readonly block: Block<true>
  readonly receipts: Receipt[]
}

/** Anvil's first account. */
const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
/** Init code of a contract that logs each call: its caller, with topic 7. */
const LOGGER: Hex = '0x600b600c600039600b6000f333600052600760206000a100'
const to: Hex = '0x00000000000000000000000000000000000000a1'
const price = { maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: 1n }

/** Mined once: files share this module. */
let mined: Promise<AnvilBlock> | undefined

/** The block of `mineMixed`, to change as you like. */
export async function mineAnvilBlock(): Promise<AnvilBlock> {
  mined ??= onAnvil(mineMixed)
  return structuredClone(await mined)
}

/** A block of a real node with a blob. It takes anvil 5 s to read the trusted setup. */
export const mineBlobBlock = (): Promise<AnvilBlock> => onAnvil(mineBlob)

/** The first block that is mined so. */
async function onAnvil(mine: (client: Client, url: string) => Promise<void>): Promise<AnvilBlock> {
  const anvil = await startAnvil()
  const client = createClient(anvil.url)
  try {
    await client.request({ method: 'evm_setAutomine', params: [false] })
    await mine(client, anvil.url)
    await client.request({ method: 'evm_mine' })
    return {
      block: (await client.call('eth_getBlockByNumber', 1n, true)) as Block<true>,
      receipts: (await client.call('eth_getBlockReceipts', 1n)) as Receipt[],
    }
  } finally {
    await client.close()
    await anvil.stop()
  }
}

/** Transactions of types 0, 1, 2 and 4, a new contract and its logs. */
async function mineMixed(_: Client, url: string): Promise<void> {
  const wallet = createWalletClient({ account, chain, transport: http(url) })
  const contract = getContractAddress({ from: account.address, nonce: 0n })
  const authorizationList = [await account.signAuthorization({ chainId: chain.id, address: to, nonce: 9 })]
  const gas = 200_000n
  await wallet.sendTransaction({ ...price, gas, nonce: 0, data: LOGGER })
  await wallet.sendTransaction({ gas, nonce: 1, to, value: 5n, type: 'legacy', gasPrice: parseGwei('10') })
  await wallet.sendTransaction({
    gas,
    nonce: 2,
    to,
    type: 'eip2930',
    gasPrice: parseGwei('10'),
    accessList: [{ address: to, storageKeys: [toHex(1, { size: 32 })] }],
  })
  await wallet.sendTransaction({ ...price, gas, nonce: 3, to: contract })
  await wallet.sendTransaction({ ...price, gas, nonce: 4, to: contract, authorizationList })
}

async function mineBlob(client: Client): Promise<void> {
  const infinity = `0xc0${'00'.repeat(47)}` as const
  const sidecars = [{ blob: toHex(new Uint8Array(131_072)), commitment: infinity, proof: infinity }]
  const raw = await account.signTransaction({
    ...{ ...price, type: 'eip4844', chainId: chain.id, nonce: 0, gas: 21_000n, to, maxFeePerBlobGas: parseGwei('1') },
    ...{ sidecars, blobVersionedHashes: sidecarsToVersionedHashes({ sidecars }) },
  })
  await client.request({ method: 'eth_sendRawTransaction', params: [raw] })
}
