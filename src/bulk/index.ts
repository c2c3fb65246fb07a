/** hexline/bulk: ranges of blocks, fast and in order. */
export { type GetBlocksOptions, getBlocks, type Progress, type RangeBlock } from './get-blocks.ts'
export type { RangeEnd } from './range.ts'
