import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BlocksOfLines } from '../../src/cli/blocks-of-lines.ts'
import { runs } from '../support/runs.ts'

/** Lines of each block, in pages. */
const pages = fc.array(fc.array(fc.nat(4), { maxLength: 5 }), { minLength: 1, maxLength: 8 })

it('says where to resume after any line, also where it remembers only what is not written yet', () => {
  fc.assert(
    fc.property(pages, fc.infiniteStream(fc.nat(6)), fc.nat(), (all, lags, place) => {
      const blocks = new BlocksOfLines()
      const lines: number[] = []
      let block = 10
      let written = 0
      for (const page of all) {
        for (const count of page) {
          for (let i = 0; i < count; i++) {
            blocks.add(block)
            lines.push(block)
          }
          block++
        }
        written = Math.max(written, lines.length - (lags.next().value as number))
        blocks.pageEnds(block - 1, written)
        expect(blocks.size).toBeLessThanOrEqual(lines.length - written + 1)
      }
      const kept = written + (place % (lines.length - written + 1))
      const next = lines[kept] ?? block
      const before = kept === lines.length ? 0 : kept - lines.indexOf(next)
      expect(blocks.after(kept, 10)).toEqual({ next, before })
    }),
    runs(500),
  )
})
