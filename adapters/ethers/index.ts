/** hexline/ethers: an ethers v6 provider on hexline. */
export type { GetBlocksOptions } from './bulk/get-blocks.ts'
export type { HexlineProviderOptions } from './options.ts'
export { HexlineProvider } from './provider.ts'
