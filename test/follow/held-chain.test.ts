import fc from 'fast-check'
import { expect, it } from 'vitest'
import { HELD, HeldChain } from '../../src/follow/held-chain.ts'
import type { Hash } from '../../src/index.ts'
import { runs } from '../support/runs.ts'

const hashOf = (number: number, fork = 0): Hash => `0x${fork.toString(16).padStart(8, '0')}${number.toString(16).padStart(56, '0')}`

/** A chain from block `from` on with this many blocks, of fork 0. */
function chainOf(from: number, length: number): HeldChain {
  const chain = new HeldChain({ from, number: from - 1, hashes: [] })
  for (let i = 0; i < length; i++) chain.add(hashOf(from + i))
  return chain
}

it('is the end of the chain that was applied, whatever is applied and rolled back', () => {
  const change = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 600 }) }),
    fc.record({ back: fc.integer({ min: 1, max: 40 }) }),
    fc.constant('save' as const),
  )
  fc.assert(
    fc.property(fc.nat(1000), fc.array(change, { maxLength: 20 }), (from, changes) => {
      let chain = new HeldChain({ from, number: from - 1, hashes: [] })
      const model: Hash[] = []
      let fork = 0
      for (const each of changes) {
        if (each === 'save') {
          const { position } = chain
          // After a rollback, fewer may be left than could be held.
          const last = [...model].reverse().slice(0, position.hashes.length)
          expect(position).toEqual({ from, number: from + model.length - 1, hashes: last })
          chain = new HeldChain(JSON.parse(JSON.stringify(position)))
        } else if ('add' in each) {
          fork++
          for (let i = 0; i < each.add; i++) {
            const hash = hashOf(from + model.length, fork)
            expect([chain.fits(model.at(-1) ?? hashOf(0)), chain.fits(hash)]).toEqual([true, model.length === 0])
            chain.add(hash)
            model.push(hash)
          }
        } else {
          const depth = Math.min(each.back, model.length)
          const to = from + model.length - depth - 1
          const removed = Array.from({ length: depth }, (_, i) => ({ number: from + model.length - 1 - i, hash: model.at(-1 - i) }))
          const got = chain.rollBackTo(to, model[to - from])
          model.length -= depth
          // Fewer may be held than are rolled back in all.
          expect(got).toEqual(removed.slice(0, got.length))
          if (got.length < depth) expect(chain.position.hashes).toHaveLength(model.length === 0 ? 0 : 1)
        }
        expect(chain.next).toBe(from + model.length)
        expect(chain.tip).toEqual(model.length === 0 ? undefined : { number: from + model.length - 1, hash: model.at(-1) })
        const { oldest } = chain
        if (model.length > 0 && oldest !== undefined) {
          expect(oldest.hash).toBe(model[oldest.number - from])
          for (let number = oldest.number - 1; number <= chain.next; number++)
            expect(chain.hashAt(number)).toBe(number < oldest.number ? undefined : model[number - from])
        }
        if (changes.every((one) => one === 'save' || 'add' in one)) expect(chain.position.hashes.length).toBe(Math.min(HELD, model.length))
      }
    }),
    runs(100),
  )
})

it('finds the newest block that both have, in whatever steps heights are asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.nat(400), fc.nat(300), fc.integer({ min: 1, max: 50 }), (length, depth, missing, step) => {
      const from = 7
      const chain = chainOf(from, length)
      const tip = from + length - 1
      // The node's chain: the last `depth` blocks are others, and the last `missing` are not there.
      const ofNode = (number: number) => (number > tip - missing ? null : number > tip - depth ? hashOf(number, 1) : hashOf(number))
      const asked = new Map<number, string | null>()
      let found = chain.compare(asked)
      for (let number = tip; number >= from && found.type === 'deeper'; number--) {
        asked.set(number, ofNode(number))
        if ((tip - number) % step === 0 || number === from) found = chain.compare(asked)
      }
      const isReplaced = depth > missing && missing < length
      const shared = Math.max(depth, missing)
      if (shared >= length) expect(found).toEqual({ type: 'deeper', isReplaced })
      else expect(found).toEqual(isReplaced ? { type: 'ancestor', number: tip - depth } : { type: 'same' })
    }),
    runs(300),
  )
})

it('rolls back to a block that is not held, of which only the hash is known', () => {
  const chain = chainOf(5, 10)
  expect(chain.rollBackTo(2, hashOf(2, 9))).toHaveLength(10)
  expect(chain.position).toEqual({ from: 5, number: 2, hashes: [hashOf(2, 9)] })
  expect([chain.fits(hashOf(2, 9)), chain.fits(hashOf(2))]).toEqual([true, false])
})
