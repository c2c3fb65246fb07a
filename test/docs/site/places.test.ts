import { describe, expect, it } from 'vitest'
import { fileOf, linkedFile, linkOnSite, pageOf } from '../../../docs/site/places.ts'

const pairs = [
  ['docs/logs.md', 'logs.md'],
  ['docs/index.md', 'index.md'],
  ['docs/api/openrpc.json', 'reference/files/docs/api/openrpc.json.page.md'],
  ['src/eth/methods.ts', 'reference/files/src/eth/methods.ts.page.md'],
  ['bench/README.md', 'reference/files/bench/README.md'],
  ['bench/clients', 'reference/files/bench/clients.page.md'],
  ['CHANGELOG.md', 'reference/files/CHANGELOG.md'],
]
describe.each(pairs)('%s is the page %s', (file = '', page = '') => {
  it('there', () => expect(pageOf(file)).toBe(page))
  it('and back', () => expect(fileOf(page)).toBe(file))
})

it('linkedFile resolves a link from its page', () => {
  expect(linkedFile('../src/a.ts', 'docs/logs.md')).toBe('src/a.ts')
  expect(linkedFile('clients/', 'bench/README.md')).toBe('bench/clients')
  expect(linkedFile('logs.md#viem', 'docs/viem.md')).toBe('docs/logs.md')
  expect(linkedFile('#viem', 'docs/logs.md')).toBeUndefined()
  expect(linkedFile('https://example.com/a.md', 'docs/logs.md')).toBeUndefined()
})

it.each([
  ['logs.md#viem', 'viem.md', 'logs.md#viem'],
  ['#here', 'viem.md', '#here'],
  ['https://example.com', 'viem.md', 'https://example.com'],
  ['../src/eth/methods.ts', 'methods.md', 'reference/files/src/eth/methods.ts.page.md'],
  ['../bench/results/README.md#import', 'performance.md', 'reference/files/bench/results/README.md#import'],
  ['results/README.md', 'reference/files/bench/README.md', 'results/README.md'],
  ['server.ts', 'reference/files/bench/README.md', 'server.ts.page.md'],
  ['../docs/limits.md', 'reference/files/bench/README.md', '../../../limits.md'],
  ['clients/viem.ts', 'reference/files/bench/clients.page.md', 'clients/viem.ts.page.md'],
  ['hexline.md#client', 'reference/bulk.md', 'hexline.md#client'],
])('the link %s of %s is %s on the site', (target, page, expected) => {
  expect(linkOnSite(target, page)).toBe(expected)
})
