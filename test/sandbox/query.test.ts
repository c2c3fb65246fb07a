import { describe, expect, it } from 'vitest'
import { BadQuery, flag, list, readQuery, required, text, whole } from '../../src/sandbox/query.ts'

const parameters = { limit: required(whole(1, 100)), offset: whole(0), all: flag, name: text('a name', /^[a-z]+$/), ids: list(text('an id', /^\d+$/)) }
const read = (query: string) => readQuery(new URLSearchParams(query), parameters)
const absent = { offset: undefined, all: undefined, name: undefined, ids: undefined }

describe('the values of a query', () => {
  it.each<[string, object]>([
    ['limit=5', { ...absent, limit: 5 }],
    ['limit=100&offset=0&all=true&name=abc', { ...absent, limit: 100, offset: 0, all: true, name: 'abc' }],
    ['limit=1&all=false', { ...absent, limit: 1, all: false }],
    ['limit=1&ids=1', { ...absent, limit: 1, ids: ['1'] }],
    ['limit=1&ids=1&ids=2', { ...absent, limit: 1, ids: ['1', '2'] }],
    ['limit=1&ids[]=1&ids[]=2', { ...absent, limit: 1, ids: ['1', '2'] }],
    ['limit=1&ids[1]=2&ids[0]=1', { ...absent, limit: 1, ids: ['1', '2'] }],
    [`limit=1&${Array.from({ length: 30 }, (_, i) => `ids[${i}]=${i}`).join('&')}`, { ...absent, limit: 1, ids: Array.from({ length: 30 }, (_, i) => `${i}`) }],
  ])('%s', (query, values) => {
    expect(read(query)).toEqual(values)
  })
})

describe('an invalid query is refused with each of its problems', () => {
  const takes = 'is not a parameter of this operation; it takes limit, offset, all, name, ids'
  it.each<[string, string[]]>([
    ['', ['limit is required: a whole number from 1 to 100']],
    ['limit=0', ['limit must be a whole number from 1 to 100']],
    ['limit=101', ['limit must be a whole number from 1 to 100']],
    ['limit=1e1', ['limit must be a whole number from 1 to 100']],
    ['limit=', ['limit must be a whole number from 1 to 100']],
    ['limit=1&limit=2', ['limit must be a whole number from 1 to 100']],
    ['limit=1&offset=-1', ['offset must be a whole number of at least 0']],
    ['limit=1&offset=9007199254740992', ['offset must be a whole number of at least 0']],
    ['limit=1&all=yes&name=A', ['all must be true or false', 'name must be a name']],
    ['limit=1&ids=1&ids=x', ['ids must be a list, each entry an id']],
    ['limit=1&Limit=1', [`"Limit" ${takes}`]],
    ['limit=1&toString=1', [`"toString" ${takes}`]],
    [`limit=1&${'x'.repeat(100)}=1`, [`"${'x'.repeat(40)}" ${takes}`]],
  ])('%s', (query, problems) => {
    expect(() => read(query)).toThrow(BadQuery)
    expect(() => read(query)).toThrow(expect.objectContaining({ problems, message: problems.join('; ') }))
  })
})
