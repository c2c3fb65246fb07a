/** hexline/bulk: ranges of blocks, fast and in order. */
export type { BlockField, RangeBlock } from './fields.ts'
export { type GetBlocksOptions, getBlocks } from './get-blocks.ts'
export type { RangeEnd } from './range.ts'
export type { Progress } from './range-stream.ts'
