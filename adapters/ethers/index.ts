/** hexline/ethers: hexline as an ethers v6 provider. */
export { type GetBlocksOptions, HexlineProvider, type HexlineProviderOptions } from './provider.ts'
