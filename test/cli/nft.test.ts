import { describe, expect, it } from 'vitest'
import { hexline } from '../support/command.ts'
import { COLLECTION, CREATOR } from '../support/rest-operations.ts'
import { always, KEY, serveRest } from '../support/rest-server.ts'

/**
 * Runs the command on a service with one page, and returns the request's query with the cells of
 * the first record.
 */
async function run(args: readonly string[], record: object = {}) {
  const server = await serveRest(always({ result: [record], cursor: null }))
  const env = { HEXLINE_NFT_URL: server.url, HEXLINE_STREAMS_URL: server.url, HEXLINE_API_KEY: KEY }
  const { code, stdout, stderr } = await hexline([...args, '--lenient'], { env })
  return { code, stderr, query: new URL(server.requests[0]?.url ?? '', server.url).searchParams, cells: stdout.split('\n')[1]?.split(/ {2,}/) }
}

describe('the filters of transfers', () => {
  it.each<[string[], string, string]>([
    [['--collection', COLLECTION], 'wallet_whitelist[0]', 'wallet_blacklist[0]'],
    [['--wallet', CREATOR], 'collection_whitelist[0]', 'collection_blacklist[0]'],
  ])('of %j', async (subject, only, without) => {
    const { query } = await run(['nft', 'transfers', ...subject, '--only', 'a', '--without', 'b'])
    expect([query.get(only), query.get(without)]).toEqual(['a', 'b'])
  })
})

describe('a page', () => {
  it.each([
    [['nft', 'transfers', '--wallet', CREATOR]],
    [['nft', 'transfers', '--collection', COLLECTION]],
    [['nft', 'tokens', COLLECTION]],
    [['nft', 'collections', CREATOR]],
    [['streams']],
  ])('of %j has 100 records unless --limit says otherwise', async (args) => {
    expect((await run(args)).query.get('limit')).toBe('100')
    const { query } = await run([...args, '--limit', '7', '--cursor', 'next'])
    expect([query.get('limit'), query.get('cursor')]).toEqual(['7', 'next'])
  })
})

describe('the columns of streams', () => {
  const stream = { id: 's', tag: 't', status: 'active', webhookUrl: 'https://hook' }

  it.each<[unknown, string[]]>([
    [['0x1', '0x89'], ['0x1 0x89']],
    [[], []],
    ['0x1', ['0x1']],
  ])('show the chains %j as %j', async (chainIds, shown) => {
    const { cells } = await run(['streams'], { ...stream, chainIds })
    expect(cells).toEqual(['t', 'active', ...shown, 'https://hook', 's'])
  })
})
