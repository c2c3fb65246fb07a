import { describe, expect, it, test } from 'vitest'
import { listId, type Paging, pageOf, valuesOf, writeCursor } from '../../src/sandbox/pages.ts'
import { BadQuery } from '../../src/sandbox/query.ts'

const page = (items: readonly string[], paging: Omit<Paging, 'of'>, of: readonly unknown[] = [1]) =>
  pageOf(items, (item) => item.slice(0, 1), { ...paging, of })

/** The items of all pages; `between` may change the list before each next page. */
function all(start: readonly string[], limit: number, between: (page: number) => readonly string[] = () => start): string[][] {
  const found: string[][] = []
  let items = start
  for (let cursor: string | undefined; ; ) {
    const got = page(items, { limit, cursor })
    found.push([...got.items])
    if (got.cursor === undefined) return found
    if (found.length > start.length) throw new Error('the list does not end')
    cursor = got.cursor
    items = between(found.length)
  }
}

describe('the pages of a list', () => {
  it.each<[string[], number, string[][]]>([
    [['c', 'a', 'b'], 2, [['a', 'b'], ['c']]],
    [['b', 'a'], 2, [['a', 'b']]],
    [[], 2, [[]]],
    // Items with the same key keep their order, and none is lost between two pages.
    [['b1', 'a1', 'b2', 'b3', 'b4'], 2, [['a1', 'b1'], ['b2', 'b3'], ['b4']]],
  ])('%j by %i: %j', (items, limit, pages) => {
    expect(all(items, limit)).toEqual(pages)
  })

  it('have no duplicates and no gaps, whatever is added or removed in the meantime', () => {
    expect(all(['b', 'd', 'f', 'h'], 2, () => ['a', 'c', 'f', 'g', 'h'])).toEqual([['b', 'd'], ['f', 'g'], ['h']])
    expect(all(['b', 'd', 'f'], 2, () => ['a'])).toEqual([['b', 'd'], []])
  })

  it('may begin at an offset', () => {
    expect(page(['a', 'b', 'c'], { limit: 1, offset: 1 }).items).toEqual(['b'])
    expect(page(['a'], { limit: 1, offset: 5 })).toEqual({ items: [], cursor: undefined })
  })
})

describe('a cursor is refused', () => {
  const { cursor } = page(['a', 'b'], { limit: 1 })
  it.each<[string, Omit<Paging, 'of'>, unknown[], RegExp]>([
    ['of another list', { limit: 1, cursor }, [2], /^cursor must come from the same list with the same filters$/],
    ['that no page returned', { limit: 1, cursor: 'x' }, [1], /^cursor must come from an earlier page$/],
    ['with other contents', { limit: 1, cursor: writeCursor({ list: listId([1]) }) }, [1], /^cursor must come from an earlier page$/],
    ['with an offset', { limit: 1, cursor, offset: 0 }, [1], /^offset cannot be combined with cursor/],
  ])('%s', (_, paging, of, message) => {
    expect(() => page(['a', 'b'], paging, of)).toThrow(BadQuery)
    expect(() => page(['a', 'b'], paging, of)).toThrow(message)
  })
})

test('a cursor is letters, digits, - and _, and holds its values', () => {
  const cursor = writeCursor({ after: '>>>???ü', equal: 3 })
  expect(cursor).toMatch(/^[\w-]+$/)
  expect(valuesOf(cursor)).toEqual({ after: '>>>???ü', equal: 3 })
  for (const text of ['', '!!', Buffer.from('5').toString('base64url'), Buffer.from('null').toString('base64url')]) expect(valuesOf(text)).toBeUndefined()
})
