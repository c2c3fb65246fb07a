import { describe, expect, it } from 'vitest'
import { BadQuery } from '../../src/sandbox/query.ts'
import { defaultSeed } from '../../src/sandbox/seed.ts'
import { listStreams } from '../../src/sandbox/streams.ts'

/** The body of a page. */
function page(query: string, likeProduction = false) {
  const { status, body } = listStreams({ seed: defaultSeed(false), likeProduction }, new URLSearchParams(query))
  expect(status).toBe(200)
  return JSON.parse(body.toString())
}

describe('the list of streams', () => {
  it('is paged by id, each once, and always says how many there are', () => {
    const ids: string[] = []
    for (let cursor: string | undefined; cursor !== ''; ) {
      const body = page(`limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`)
      expect(body).toMatchObject({ total: 4, result: [{}] })
      ids.push(body.result[0].id)
      cursor = body.cursor
    }
    expect(ids).toEqual(
      defaultSeed(false)
        .streams.map(({ id }) => id)
        .sort(),
    )
  })

  it('ends with an empty cursor, as documented, or without one, as real services do', () => {
    expect(page('limit=100').cursor).toBe('')
    expect('cursor' in page('limit=100', true)).toBe(false)
    expect(page('limit=1', true).cursor).toMatch(/./)
  })

  it.each(['', 'limit=0', 'limit=101', 'limit=1&cursor=abc', 'limit=1&offset=1'])('refuses "%s"', (query) => {
    expect(() => page(query)).toThrow(BadQuery)
  })

  it('refuses the cursor of another list', () => {
    const { cursor } = page('limit=1')
    expect(() => page(`limit=1&cursor=${cursor.slice(0, -8)}`)).toThrow(BadQuery)
  })
})
