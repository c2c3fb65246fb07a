import { describe, expect, test } from 'vitest'
import { Filters } from '../../../src/rpc/route/filters.ts'

describe('a filter', () => {
  test('keeps its id, and is found at the endpoint that made it, until it is dropped', () => {
    const filters = new Filters<string>()
    expect(filters.add('a', '0x1')).toBe('0x1')
    expect(filters.find('0x1')).toEqual({ endpoint: 'a', id: '0x1' })
    expect(filters.find('0x2')).toBeUndefined()
    filters.drop('0x1')
    expect(filters.find('0x1')).toBeUndefined()
  })

  test('gets another id if a second endpoint returns one that is taken', () => {
    const filters = new Filters<string>()
    const given = ['a', 'b', 'c'].map((endpoint) => filters.add(endpoint, '0x1'))
    expect(given[0]).toBe('0x1')
    expect(new Set(given).size).toBe(3)
    expect(given.map((id) => filters.find(id))).toEqual(['a', 'b', 'c'].map((endpoint) => ({ endpoint, id: '0x1' })))
    for (const id of given) expect(id).toMatch(/^0x[0-9a-f]+$/)
  })

  test('keeps its id if the same endpoint returns it again', () => {
    const filters = new Filters<string>()
    expect([filters.add('a', '0x1'), filters.add('a', '0x1')]).toEqual(['0x1', '0x1'])
  })

  test('without a usable id is not remembered', () => {
    const filters = new Filters<string>()
    for (const id of [null, 7, undefined]) {
      expect(filters.add('a', id)).toBe(id)
      expect(filters.find(id)).toBeUndefined()
    }
  })

  test('is forgotten once 10,000 others have been used since', () => {
    const filters = new Filters<string>()
    for (let i = 0; i < 10_000; i++) filters.add('a', `0x${i}`)
    filters.add('a', '0x0')
    filters.add('a', 'one more')
    expect(['0x0', '0x1', '0x2', 'one more'].map((id) => filters.find(id) !== undefined)).toEqual([true, false, true, true])
  })
})
