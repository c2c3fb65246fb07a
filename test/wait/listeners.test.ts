import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { append, type Listed, Listeners, remove } from '../../src/wait/listeners.ts'

interface Named extends Listed {
  readonly name: string
}
const named = (name: string): Named => ({ name, index: -1 })

/** Listeners, and the reasons that they got. */
function listeners(onAbort: (each: Named) => void = () => {}) {
  const told: [string, unknown][] = []
  const all = new Listeners<Named>((each, reason) => {
    told.push([each.name, reason])
    onAbort(each)
  })
  return { all, told }
}

test('a list keeps the index of each of its items, whichever is removed', () => {
  const list: Named[] = []
  const [a, b, c] = ['a', 'b', 'c'].map(named) as [Named, Named, Named]
  for (const each of [a, b, c]) append(list, each)
  remove(list, a)
  expect(a.index).toBe(-1)
  for (const each of [b, c]) expect(list[each.index]).toBe(each)
  remove(list, b)
  remove(list, c)
  expect([list, b.index, c.index]).toEqual([[], -1, -1])
})

describe('listeners', () => {
  test('all get the reason of their own signal', () => {
    const { all, told } = listeners()
    const [one, other] = [new AbortController(), new AbortController()]
    for (const name of ['a', 'b']) all.add(one.signal, named(name))
    all.add(other.signal, named('c'))
    one.abort('enough')
    expect(told).toEqual([
      ['a', 'enough'],
      ['b', 'enough'],
    ])
  })

  test('share one event listener on their signal, which is removed with the last of them', () => {
    const { all, told } = listeners()
    const aborter = new AbortController()
    const both = ['a', 'b'].map(named)
    for (const each of both) all.add(aborter.signal, each)
    const counts = [getEventListeners(aborter.signal, 'abort').length]
    for (const each of both) {
      all.remove(aborter.signal, each)
      all.remove(aborter.signal, each)
      counts.push(getEventListeners(aborter.signal, 'abort').length)
    }
    expect(counts).toEqual([1, 1, 0])
    aborter.abort()
    expect([told, all.all()]).toEqual([[], []])
  })

  test('may remove each other while they are called', () => {
    const aborter = new AbortController()
    const [a, b, c] = ['a', 'b', 'c'].map(named) as [Named, Named, Named]
    const { all, told } = listeners((each) => {
      all.remove(aborter.signal, each)
      if (each === a) all.remove(aborter.signal, b)
    })
    for (const each of [a, b, c]) all.add(aborter.signal, each)
    aborter.abort('enough')
    expect(told.map(([name]) => name)).toEqual(['a', 'c'])
    expect(all.all()).toEqual([])
  })

  test('are listed for all signals', () => {
    const { all } = listeners()
    for (const name of ['a', 'b', 'c']) all.add(new AbortController().signal, named(name))
    expect(all.all().map(({ name }) => name)).toEqual(['a', 'b', 'c'])
  })
})
