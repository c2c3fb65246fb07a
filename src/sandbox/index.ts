/** hexline/sandbox: the whole service on one machine, over a local node. */
export type { Price, PriceTable, SandboxOptions, TokenFacts, TokenTable } from './options.ts'
export type { BooleanLike, Nft, NftCollection, NftTransfer, Seed, Stream } from './records.ts'
export { type Sandbox, startSandbox } from './start-sandbox.ts'
