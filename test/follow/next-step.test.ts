import { expect, it } from 'vitest'
import { HeldChain } from '../../src/follow/held-chain.ts'
import { NEAR, nextStep } from '../../src/follow/next-step.ts'
import type { Hash } from '../../src/index.ts'

const hash = (text: string): Hash => `0x${text.padStart(64, '0')}`
/** Blocks 10 to 12. */
const chain = new HeldChain({ from: 10, number: 12, hashes: [hash('c'), hash('b'), hash('a')] })
const empty = new HeldChain({ from: 10, number: 9, hashes: [] })

it.each([
  { why: 'the chain is too young', target: undefined, step: { type: 'wait' } },
  { why: 'new blocks', target: { number: 14, hash: hash('e') }, step: { type: 'fetch', from: 13, to: 14 } },
  { why: 'many new blocks', target: { number: 12 + 2 * NEAR, hash: undefined }, step: { type: 'fetch', from: 13, to: 12 + 2 * NEAR } },
  { why: 'far behind', target: { number: 13 + 2 * NEAR, hash: undefined }, step: { type: 'catch-up', from: 13, to: 13 + NEAR } },
  { why: 'nothing new', target: { number: 12, hash: hash('c') }, step: { type: 'wait' } },
  { why: 'nothing new, by number', target: { number: 12, hash: undefined }, step: { type: 'wait' } },
  { why: 'another block at the same height', target: { number: 12, hash: hash('d') }, step: { type: 'compare' } },
  { why: 'a node that lags', target: { number: 11, hash: hash('b') }, step: { type: 'wait' } },
  { why: 'another block further down', target: { number: 11, hash: hash('d') }, step: { type: 'compare' } },
  { why: 'shorter, by number', target: { number: 11, hash: undefined }, step: { type: 'compare' } },
  { why: 'below all that is held', target: { number: 5, hash: hash('5') }, step: { type: 'wait' } },
])('$why: $step.type', ({ target, step }) => {
  expect(nextStep(chain, target)).toEqual(step)
})

it('before the first block, there is nothing to compare', () => {
  expect(nextStep(empty, { number: 9, hash: hash('9') })).toEqual({ type: 'wait' })
  expect(nextStep(empty, { number: 3, hash: undefined })).toEqual({ type: 'wait' })
  expect(nextStep(empty, { number: 10, hash: hash('a') })).toEqual({ type: 'fetch', from: 10, to: 10 })
})
