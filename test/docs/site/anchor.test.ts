import { expect, it } from 'vitest'
import { anchorOf } from '../../../docs/site/anchor.ts'

it.each([
  ['The way of a call', 'the-way-of-a-call'],
  ['`hexline:call`', 'hexlinecall'],
  ['What differs from `http()`', 'what-differs-from-http'],
  ['Operation 8: methods', 'operation-8-methods'],
  ['eth_getLogs', 'eth_getlogs'],
  ['Full blocks, https, gzip', 'full-blocks-https-gzip'],
  ['a  b', 'a--b'],
])('%s is %s', (heading, anchor) => {
  expect(anchorOf(heading)).toBe(anchor)
})
