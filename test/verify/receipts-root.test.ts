import { beforeAll, describe, expect, test } from 'vitest'
import type { Block, Receipt } from '../../src/index.ts'
import { ReceiptsRoot } from '../../src/verify/receipts-root.ts'
import { madeBlock } from '../support/decoded-blocks.ts'

let block: Block
let receipts: Receipt[]
beforeAll(async () => {
  ;({ block, receipts } = (await madeBlock()) as { block: Block<true>; receipts: Receipt[] })
})

const roots = new ReceiptsRoot()
const other = `0x${'1'.repeat(64)}` as const

describe('ReceiptsRoot', () => {
  test('says whether receipts have the root of their header', () => {
    expect(roots.fits(block, receipts, 1)).toBe(true)
    expect(roots.fits({ ...block, receiptsRoot: other }, receipts, 1)).toBe(false)
    expect(roots.fits(block, receipts.slice(1), 1)).toBe(false)
  })

  test('says nothing without a root', () => {
    expect(roots.fits({ ...block, receiptsRoot: `0x${'0'.repeat(64)}` }, receipts, 1)).toBe(undefined)
    expect(roots.fits({} as Block, receipts, 1)).toBe(undefined)
  })

  test('takes receipts that it cannot encode for wrong ones, unless the chain may have such', () => {
    for (const fields of [{ logsBloom: '0x' }, { cumulativeGasUsed: undefined }] as object[]) {
      const odd = receipts.map((receipt) => ({ ...receipt, ...fields }))
      expect([1, 4242, undefined, 137].map((chainId) => roots.fits(block, odd, chainId))).toEqual([false, false, false, undefined])
    }
  })

  test.each([999, 137, 1285])('takes no mismatch for a fault on chain %d', (chainId) => {
    expect(roots.fits({ ...block, receiptsRoot: other }, receipts, chainId)).toBe(undefined)
  })

  test('takes types that it does not know for a sign only on chains with their own rules', () => {
    const odd = receipts.map((receipt) => ({ ...receipt, type: 0x55 }))
    expect(roots.fits(block, odd, 1)).toBe(false)
    expect(roots.fits(block, odd, 4242)).toBe(undefined)
    expect(
      roots.fits(
        { ...block, receiptsRoot: other },
        receipts.map((receipt) => ({ ...receipt, type: 2 })),
        4242,
      ),
    ).toBe(false)
  })

  test('says nothing of receipts from before Byzantium without their state roots', () => {
    const early = { ...block, number: 4_369_999n, difficulty: 10n ** 10n, receiptsRoot: other }
    const ofReth = receipts.map((receipt) => ({ ...receipt, type: 0 }))
    expect(roots.fits(early, ofReth, 1)).toBe(undefined)
    expect(roots.fits({ ...early, number: 4_370_000n }, ofReth, 1)).toBe(false)
    expect(roots.fits({ ...early, difficulty: 10n ** 10n - 1n }, ofReth, 1)).toBe(false)
    for (const chainId of [10, 4242, undefined]) expect(roots.fits(early, ofReth, chainId)).toBe(false)
    // Receipts of other types are of a later block.
    expect(roots.fits(early, receipts, 1)).toBe(false)
    const whole = ofReth.map((receipt) => ({ ...receipt, root: other }))
    expect(roots.fits(early, whole, 1)).toBe(false)
  })
})
