/** hexline/ethers: hexline as an ethers v6 provider. */
export type { GetBlocksOptions } from './get-blocks.ts'
export type { HexlineProviderOptions } from './options.ts'
export { HexlineProvider } from './provider.ts'
